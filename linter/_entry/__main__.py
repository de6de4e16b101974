"""`python -m moelint`."""

from moelint.linter.cli import main

if __name__ == "__main__":
    main()
