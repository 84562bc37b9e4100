"""What must hold after a run, however it ended."""

import shutil
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from faults.jobs import OLD, Job, content
from faults.runs import Run

_SIGNALLED = {130: "interrupted", 143: "terminated"}


@dataclass
class Findings:
    """Counts per fault, and the violations."""

    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def add(self, fault: str, label: str, problems: list[str]) -> None:
        """Count a case, and print its problems."""
        self.counts[fault] += 1
        for problem in problems:
            self.violations.append(f"{fault}, {label}: {problem}")
            print(f"VIOLATION {self.violations[-1]}", flush=True)

    def skip(self, fault: str, reason: str) -> None:
        """Count a case that could not be run."""
        self.counts[f"{fault}: skipped, {reason}"] += 1


class Reference:
    """The complete outputs of each job, made by an undisturbed run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, str]] = {}
        self.seconds: dict[str, float] = {}

    def of(self, job: Job) -> dict[str, str]:
        """Output → content."""
        if job.name not in self._known:
            folder = self._folder / "reference" / job.name.replace(" ", "-")
            job.set_up(folder / "work")
            run = Run(folder, job.arguments)
            run.start()
            run.wait()
            if run.code != 0:
                raise RuntimeError(f"{job.name} does not run undisturbed: {run.err}")
            self._known[job.name] = {name: content(folder / "work" / name) for name in job.outputs}
            self.seconds[job.name] = run.seconds
            shutil.rmtree(folder)
        return self._known[job.name]


def states(job: Job, work: Path, reference: dict[str, str]) -> dict[str, str]:
    """Output → "old", "new", or what is wrong with it."""
    found = {}
    for name in job.outputs:
        path = work / name
        if not path.exists():
            found[name] = "lost" if name in job.existing else "old"
        elif path.read_bytes() == OLD:
            found[name] = "old"
        else:
            try:
                found[name] = "new" if content(path) == reference[name] else "different"
            except Exception as error:
                found[name] = f"damaged ({error})"
    return found


def problems(job: Job, run: Run, reference: dict[str, str], *, codes: tuple[int, ...]) -> list[str]:
    """What is wrong after a run that may end with one of these exit codes."""
    found = states(job, run.work, reference)
    wrong = [f"{name} is {state}" for name, state in found.items() if state not in ("old", "new")]
    killed = run.code == -signal.SIGKILL
    if run.code not in codes:
        wrong.append(f"exit code {run.code}, not {' or '.join(map(str, codes))}: {run.err[-300:]!r}")
    kinds = set(found.values())
    if not killed and len(kinds) > 1:
        wrong.append(f"some files are old and some new: {found}")
    if run.code == 0 and kinds != {"new"}:
        wrong.append(f"exit code 0, but {found}")
    if run.code == 1 and kinds == {"new"}:
        wrong.append(f"exit code 1, but all files are new: {run.err[-300:]!r}")
    wrong += _messages(run, kinds)
    if not killed:
        left = [
            str(path.relative_to(run.folder))
            for path in (*run.work.rglob(".manifill-*"), *run.temporary.iterdir())
        ]
        wrong += [f"left behind: {left}"] if left else []
        if kinds == {"old"} and not job.existing and (run.work / "out").exists():
            wrong.append("an empty folder is left")
    return wrong


def _messages(run: Run, kinds: set[str]) -> list[str]:
    """What is wrong with the text on standard error."""
    text = run.err
    wrong = [f"{mark} in {text[-1500:]!r}" for mark in ("Traceback", "Exception ignored") if mark in text]
    lines = text.strip().splitlines()
    if run.code in _SIGNALLED:
        state = "all files had been written already" if kinds == {"new"} else "nothing was written"
        if not lines or not lines[-1].startswith(f"manifill: {_SIGNALLED[run.code]}; {state}"):
            wrong.append(f"untrue or missing message, files are {kinds}: {text[-300:]!r}")
    elif run.code == 1:
        if not lines or not lines[-1].startswith("manifill: "):
            wrong.append(f"no message: {text[-300:]!r}")
        elif ".manifill-" in text:
            wrong.append(f"the message names a temporary file: {lines[-1]!r}")
    return wrong
