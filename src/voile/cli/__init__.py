"""The command line: parse, call, show."""

from voile.cli.main import main

__all__ = ["main"]
