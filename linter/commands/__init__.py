"""The subcommands other than `check`: one module each, with `main(argv) -> exit code`."""
