"""The command line."""

from manifill.cli.app import main

__all__ = ["main"]
