"""``python -m aiscore`` is ``aiscore``."""

import sys

from aiscore.cli.main import entry

sys.exit(entry())
