"""Run the command line with `python -m nvlearn`."""

import sys

from nvlearn.cli import main

sys.exit(main())
