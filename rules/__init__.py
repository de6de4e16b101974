"""The rules, one file each, and the framework profiles."""

if not __name__.startswith("moelint."):
    raise ImportError(f"import this package as moelint.rules, not as {__name__}; keep the checkout off sys.path")
