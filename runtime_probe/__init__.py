"""The runtime probe: the only code that imports torch or runs foreign code."""

if not __name__.startswith("moelint."):
    raise ImportError(
        f"import this package as moelint.runtime_probe, not as {__name__}; keep the checkout off sys.path"
    )
