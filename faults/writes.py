"""Runs in which the first, second, … operation on an output file fails, or meets a signal."""

import errno
import io
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults.jobs import JOBS, Job
from faults.oracle import Findings, Reference, problems
from faults.runs import Run

FAULTS: dict[str, tuple[Callable[[], None], tuple[int, ...]]] = {}
"""Name → (what happens instead of the operation, exit codes that may follow)."""


def _fails(number: int) -> Callable[[], None]:
    def fault() -> None:
        raise OSError(number, os.strerror(number))

    return fault


def _signalled(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


for _number in (errno.ENOSPC, errno.EIO):
    FAULTS[errno.errorcode[_number]] = _fails(_number), (0, 1)
for _signal in (signal.SIGINT, signal.SIGTERM):
    FAULTS[_signal.name] = _signalled(_signal), (128 + _signal,)
FAULTS["SIGKILL"] = _signalled(signal.SIGKILL), (-signal.SIGKILL,)


class Injector:
    """Replaces operations on files by ones that count, and do the fault at the k-th."""

    def __init__(self, k: int, fault: Callable[[], None], hit: Path) -> None:
        self._k, self._fault, self._hit, self._count = k, fault, hit, 0

    def step(self) -> None:
        """Count an operation."""
        self._count += 1
        if self._count == self._k:
            self._hit.touch()
            self._fault()

    def install(self) -> None:
        """Patch this process."""
        for name in ("open", "replace", "link", "fsync", "chmod"):
            setattr(os, name, self._counted(getattr(os, name), always=name == "fsync"))
        original, injector = io.open, self

        class Raw(io.FileIO):
            """A file of which every write is counted."""

            def write(self, data: Any) -> int:
                injector.step()
                return super().write(data)

        def opened(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
            if not _is_output(file) or "w" not in mode:
                return original(file, mode, buffering, *rest, **more)
            raw = Raw(file, mode.replace("b", ""))
            buffered: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            if "b" in mode:
                return buffered
            encoding, errors, newline = (*rest, *(None,) * 3)[:3]
            encoding, newline = more.get("encoding", encoding), more.get("newline", newline)
            return io.TextIOWrapper(buffered, encoding, errors, newline)

        io.open = opened

    def _counted(self, operation: Callable[..., Any], always: bool) -> Callable[..., Any]:
        def counted(*given: Any, **more: Any) -> Any:
            if always or any(_is_output(one) for one in given):
                self.step()
            return operation(*given, **more)

        return counted


def _is_output(name: Any) -> bool:
    return isinstance(name, str | Path) and ".manifill-" in str(name)


def writes(findings: Findings, folder: Path, jobs: tuple[Job, ...] = JOBS, stride: int = 1) -> None:
    """Let the k-th operation fail, for k = 1, 2, … until a run passes untouched; `stride` skips some."""
    reference = Reference(folder)
    for job in jobs:
        expected = reference.of(job)
        for fault, (action, codes) in FAULTS.items():
            k, hit = 1, True
            while hit:
                place = folder / "write"
                job.set_up(place / "work")
                mark = place / "hit"
                run = Run(place, job.arguments, before=Injector(k, action, mark).install)
                run.start()
                ended, hit = run.wait(), mark.exists()
                if hit:
                    wrong = problems(job, run, expected, codes=codes) if ended else ["did not end"]
                    findings.add(f"writes: {fault}", f"{job.name}, operation {k}", wrong)
                shutil.rmtree(place)
                k += stride
