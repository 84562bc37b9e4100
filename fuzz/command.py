"""Run the command line, and check what must hold for every run."""

import contextlib
import io
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from fuzz.case import Failure, Refused

# Warnings and log messages of libraries, which users cannot act on.
_NOISE = re.compile(
    r"\w+Warning\b|encountered in|divide by zero|[Mm]ean of empty slice|[Dd]egrees of freedom|"
    r"Exception ignored|<tifffile|invalid value|is deprecated"
)


@dataclass(frozen=True)
class Ran:
    """The result of a command."""

    code: int
    out: bytes
    err: str


def in_process(arguments: Collection[str], folder: Path, given: bytes = b"") -> Ran:
    """Run the command in this process, which saves the second that starting it takes."""
    from manifill._cli import main

    streams = [io.TextIOWrapper(io.BytesIO(one), "utf-8", newline="") for one in (given, b"", b"")]
    code: object = 0
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, COLUMNS="300"),
        mock.patch.object(sys, "argv", ["manifill", *arguments]),
        mock.patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2]),
    ):
        try:
            main()
        except SystemExit as ending:
            code = ending.code or 0
        except BaseException:
            traceback.print_exc()
            code = 1
    for stream in streams[1:]:
        stream.flush()
    out, err = (stream.buffer.getvalue() for stream in streams[1:])  # type: ignore[attr-defined]
    return Ran(code if isinstance(code, int) else 1, out, err.decode("utf-8", "replace"))


def real(arguments: Collection[str], folder: Path, given: bytes = b"") -> Ran:
    """Run the command as a process of its own."""
    temporary = folder.parent / f"{folder.name}-temporary"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "manifill", *arguments],
        cwd=folder,
        input=given,
        capture_output=True,
        env={**os.environ, "COLUMNS": "300", "TMPDIR": str(temporary), "PYTHONUTF8": "1"},
    )
    left = sorted(path.name for path in temporary.iterdir() if path.name.startswith("manifill"))
    if left:
        raise Failure("temporary file left", left)
    return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def content_of(folder: Path) -> dict[str, bytes]:
    """Relative path → bytes of every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def check_run(ran: Ran, folder: Path, before: dict[str, bytes], outputs: Collection[str]) -> None:
    """Check messages, exit code and the files in the folder; raise Refused if the input was refused.

    Parameters
    ----------
    ran : the result of the command.
    folder : where it ran.
    before : the content of the folder before.
    outputs : the files, or folders ending in "/", that a command that succeeds writes.
    """
    if "Traceback" in ran.err:
        raise Failure(f"traceback: {place_of(ran.err)}", ran.err[-1500:])
    if _NOISE.search(ran.err):
        raise Failure("warning of a library", ran.err)
    after = content_of(folder)
    changed = [name for name in before if after.get(name) != before[name]]
    if changed:
        raise Failure("input changed", changed)
    new = sorted(set(after) - set(before))
    if ran.code == 0:
        expected = {name for name in outputs if not name.endswith("/")}
        folders = tuple(name for name in outputs if name.endswith("/"))
        wrong = [name for name in new if name not in expected and not (folders and name.startswith(folders))]
        if wrong or expected - set(new):
            raise Failure("outputs", f"written: {new}; expected: {sorted(outputs)}")
        return
    if new:
        raise Failure("file left", new)
    messages = re.findall(r"^manifill: .*", ran.err, flags=re.M)
    usage = re.findall(r"^.*Usage: .*", ran.err, flags=re.M)
    one_message = len(messages) == 1 and not usage and ran.err.startswith("manifill: ")
    if ran.code not in (1, 2) or not (one_message or (ran.code == 2 and len(usage) == 1 and not messages)):
        raise Failure("message", f"exit code {ran.code}, standard error: {ran.err!r}")
    raise Refused(messages[0] if messages else ran.err)


def place_of(text: str) -> str:
    """Exception and innermost function of manifill in the text of a traceback, to group failures."""
    frames = re.findall(r'File ".*?/manifill/([\w/]+\.py)", line \d+, in (\S+)', text)
    last = [line for line in text.strip().splitlines() if re.match(r"[\w.]+(:|$)", line)]
    name = last[-1].split(":")[0] if last else "exception"
    return f"{name} in {'/'.join(frames[-1]) if frames else 'a library'}"
