"""`python -m moelint`."""

import sys

from moelint.linter.cli import main

if __name__ == "__main__":
    sys.exit(main())
