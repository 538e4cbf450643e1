"""``python -m aiscore`` is ``aiscore``."""

import sys

from aiscore.cli.main import main

sys.exit(main())
