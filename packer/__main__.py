"""``python -m packer``: the same program as the console scripts."""

import sys

from packer.cli import main

sys.exit(main())
