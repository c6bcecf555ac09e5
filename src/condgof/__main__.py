"""``python -m condgof`` is the command line."""

import sys

from condgof.cli import main

sys.exit(main())
