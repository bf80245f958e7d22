"""YAML as Kubernetes' own tools read it: timestamps and clock times stay text, so that only real numbers are numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from packer.errors import InputError

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # PyYAML without libyaml: slower, the same result
    from yaml import SafeLoader as _Base  # type: ignore[assignment]

_TAG = "tag:yaml.org,2002:"


class _Loader(_Base):
    """SafeLoader without timestamps and base-60 numbers, which goyaml does not have either."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_TAG + "timestamp", _TAG + "int", _TAG + "float")]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    _TAG + "int",
    re.compile(r"^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    _TAG + "float",
    re.compile(
        r"^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
        r"|[-+]?\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+0123456789."),
)


def yaml_documents(data: bytes | str, name: str) -> Iterator[Any]:
    """Each document, mappings and lists only; empty ones are None. Raises InputError with the line for text that is not YAML."""
    try:
        text = data.decode() if isinstance(data, bytes) else data
        for document in yaml.load_all(text, Loader=_Loader):
            if document is not None and not isinstance(document, (dict, list)):
                raise InputError(f"expected an object, got {str(document)[:80]!r}", where=name, mend="give YAML or JSON objects")
            yield document
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}, line {mark.line + 1}, column {mark.column + 1}" if mark else name
        problem = getattr(error, "problem", None) or str(error)
        raise InputError(f"not YAML: {problem}", where=where, mend="give YAML or JSON objects") from error
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 ({error.reason} at byte {error.start})", where=name, mend="give text in UTF-8") from error
    except (RecursionError, ValueError) as error:
        raise InputError(f"not usable YAML ({error})", where=name, mend="give plain Kubernetes objects") from error
