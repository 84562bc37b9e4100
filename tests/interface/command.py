"""Run the command line in the process of the tests."""

import contextlib
import io
import os
import signal
import sys
from types import SimpleNamespace
from unittest import mock

from manifill._cli import main


def manifill(*arguments, folder, input=""):
    """Run a command in this folder, without the second that starting a subprocess takes."""
    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, COLUMNS="300"),
        mock.patch.object(sys, "argv", ["manifill", *map(str, arguments)]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode()))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as ending:
            code = ending.code or 0
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())
