"""Runs of the command line in a forked process, which needs no second for imports, or in a new one."""

import atexit
import gc
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_IMPORTS = (
    "manifill._cli.app",
    "manifill._cli.impute",
    "manifill._cli.images",
    "manifill._cli.video",
    "manifill.report",
    "manifill.report.restoration",
    "pyarrow.parquet",
    "openpyxl",
    "av",
    "imagecodecs",
)
_TIME_LIMIT = 120.0


def warm_up() -> None:
    """Import what the commands need, once for all forked processes."""
    for name in _IMPORTS:
        importlib.import_module(name)


@dataclass
class Run:
    """A run of manifill in `folder`/work; `before` is called in its process first."""

    folder: Path
    arguments: tuple[str, ...]
    before: Callable[[], None] | None = None
    real: bool = False
    streams: Mapping[int, int] = field(default_factory=dict)
    """Number of a standard stream → the file descriptor that it is to be, -1 for a closed one."""

    def start(self) -> None:
        """Start the process."""
        self.temporary = self.folder / "tmp"
        if not hasattr(self, "work"):
            self.work = self.folder / "work"
        self.temporary.mkdir(exist_ok=True)
        self.began = time.monotonic()
        if self.real:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "manifill", *self.arguments],
                cwd=self.work,
                env={**os.environ, "TMPDIR": str(self.temporary)},
                stdin=subprocess.DEVNULL,
                stdout=(self.folder / "stdout").open("wb"),
                stderr=(self.folder / "stderr").open("wb"),
            )
            self.pid = self.process.pid
        else:
            sys.stdout.flush()
            sys.stderr.flush()
            gc.collect()  # a codec collected in the new process would wait for threads it does not have
            self.pid = os.fork()
            if self.pid == 0:
                self._child()

    def _child(self) -> None:
        code = 99  # of an exception that the command does not handle
        try:
            for number, name in enumerate(("/dev/null", "stdout", "stderr")):
                opened = os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o666)
                os.dup2(
                    self.streams.get(number, opened) if self.streams.get(number) != -1 else opened, number
                )
                os.close(opened)
            for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
                closed = self.streams.get(number) == -1
                stream = None if closed else open(number, "r" if number == 0 else "w", closefd=False)  # noqa: SIM115
                setattr(sys, name, stream)
                if closed:
                    os.close(number)
            code = self._main()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def _main(self) -> int:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        tempfile.tempdir = os.environ["TMPDIR"] = str(self.temporary)
        os.chdir(self.work)
        from manifill._cli import main

        sys.argv = ["manifill", *self.arguments]
        if self.before is not None:
            self.before()
        code: Any = 0
        with suppress(PermissionError):  # another user, who is not waited for
            self._begun.touch()
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError):
                stream.flush()
        return int(code)

    @property
    def _begun(self) -> Path:
        """A file that tells that the command has begun in the forked process."""
        return self.folder / "begun"

    def wait_for_the_command(self) -> None:
        """Wait until the command has begun; only in a forked process, where it has begun at once if idle."""
        if not self.real:
            self.wait_until(self._begun.exists)

    def send(self, number: int) -> None:
        """Send a signal; none if the process has ended."""
        if not hasattr(self, "code") and not self._poll():
            os.kill(self.pid, number)

    def _poll(self) -> bool:
        """Whether the process has ended."""
        if hasattr(self, "code"):
            return True
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.code = os.waitstatus_to_exitcode(status)
            self.seconds = time.monotonic() - self.began
            if self.real:
                self.process.returncode = self.code
        return bool(pid)

    def wait(self, seconds: float = _TIME_LIMIT) -> bool:
        """Wait for the end; kill the process after `seconds` and return False."""
        end = time.monotonic() + seconds
        while not self._poll():
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                end += 60
                if seconds < 0:
                    return False
                seconds = -1
            time.sleep(0.002)
        return seconds >= 0

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds or the process has ended."""
        while not self._poll() and not condition():
            time.sleep(0.0005)

    @property
    def err(self) -> str:
        return (self.folder / "stderr").read_text(errors="replace")

    @property
    def out(self) -> bytes:
        return (self.folder / "stdout").read_bytes()
