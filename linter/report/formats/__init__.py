"""One module for each output format, found by its name."""
