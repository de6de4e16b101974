"""Discovery, facts, rules, findings and reports."""

if not __name__.startswith("moelint."):
    raise ImportError(f"import this package as moelint.linter, not as {__name__}; keep the checkout off sys.path")
