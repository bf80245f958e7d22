"""The offline snapshot: tables that ``build.py`` writes, and provenance.json, which says where each figure comes from."""
