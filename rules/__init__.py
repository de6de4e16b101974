"""The rules, one file each, and the framework profiles."""

if not __name__.startswith("moelint."):
    raise ImportError(f"import this package as moelint.rules, not as {__name__}: the checkout is not on sys.path")
