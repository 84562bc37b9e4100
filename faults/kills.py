"""Runs that get SIGKILL, SIGINT or SIGTERM at a random moment."""

import random
import shutil
import signal
import time
from pathlib import Path

from faults.jobs import JOBS
from faults.oracle import Findings, Reference, problems
from faults.runs import Run

_SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
# Seconds that a new process needs before it handles signals, and seconds that its imports take.
_START, _IMPORTS = 0.25, 1.5


def kills(findings: Findings, folder: Path, cases: int, seed: int, real: bool) -> None:
    """Send a signal at a random moment: half of them to runs that have begun to write."""
    reference = Reference(folder)
    for case in range(cases):
        rng = random.Random(f"{seed}-{case}")
        job, number = rng.choice(JOBS), rng.choice(_SIGNALS)
        expected = reference.of(job)
        place = folder / f"kill-{case}"
        job.set_up(place / "work")
        run = Run(place, job.arguments, real=real)
        run.start()
        run.wait_for_the_command()
        if rng.random() < 0.5:
            least, most = (_START, reference.seconds[job.name] + _IMPORTS) if real else (0.02, 1.0)
            seconds = rng.uniform(least, most if real else reference.seconds[job.name] * 1.05)
            moment = f"after {seconds:.3f} s"
            time.sleep(seconds)
        else:
            seconds = rng.choice((0.0, 0.003, 0.01, 0.03, 0.1, 0.3)) * rng.random()
            moment = f"{seconds:.4f} s after the first temporary file"
            run.wait_until(lambda run=run: any(run.work.rglob(".manifill-*")))  # type: ignore[misc]
            time.sleep(seconds)
        run.send(number)
        label = f"--seed {seed} case {case}, {job.name}, {number.name} {moment}"
        if not run.wait():
            findings.add(f"kills: {number.name}", label, ["the process did not end"])
            continue
        code = -number if number == signal.SIGKILL else 128 + number
        late = ", after the run had ended" if run.code == 0 else ""
        findings.add(f"kills: {number.name}{late}", label, problems(job, run, expected, codes=(0, code)))
        shutil.rmtree(place)
