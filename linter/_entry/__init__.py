"""moelint: static analyser and policy linter for mixture-of-experts model code."""

__version__ = "0.1.0"
