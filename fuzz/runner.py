"""Run cases in forked processes, record the outcomes and count them."""

import contextlib
import importlib
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz.case import Case, Failure, Refused, rng_of
from fuzz.command import in_process, place_of, real

TARGETS = ("tables", "frames", "files", "models", "pictures")
BATCH = 50
"""Cases per process."""
LIMIT = 60.0
"""Seconds that one case may take."""
MEMORY = 6 << 30
"""Bytes of address space of a process. It protects the machine from cases that ask for everything."""
_GROWTH = 1 << 20
"""Kilobytes by which one case may raise the memory of its process: 1 GB."""
_PASSED = ("filled", "refused")


@dataclass(frozen=True)
class Outcome:
    """What came of a case: "filled", "refused", or the kind of its failure."""

    target: str
    seed: int
    case: int
    outcome: str
    seconds: float = 0.0
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.outcome not in _PASSED


def made(target: str, seed: int, number: int) -> Case:
    """The case of this number."""
    found: Case = importlib.import_module(f"fuzz.{target}").make(rng_of(target, seed, number))
    return found


def outcome_of(case: Case, again: bool = False, as_process: bool = False) -> tuple[str, str]:
    """Run a case in this process: outcome and details."""
    module = importlib.import_module(f"fuzz.{case.target}")
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        (folder / "run").mkdir()
        module.check(case, folder / "run", real if as_process else in_process, again)
        growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        return ("filled", "") if growth < _GROWTH else ("memory", f"grew by {growth:,} kB")
    except Refused as refusal:
        return "refused", str(refusal)[:200]
    except Failure as failure:
        return failure.kind, failure.detail
    except (
        Exception
    ):  # an exception of manifill's that the check did not expect, or a mistake of the fuzzer's
        text = traceback.format_exc()
        return f"traceback: {place_of(text)}", text[-2000:]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _work(pipe: Connection, jobs: Sequence[tuple[int, Callable[[], Case]]], as_process: bool) -> None:
    """Run cases in a forked process and send their outcomes."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # messages of C libraries
    for number, make in jobs:
        pipe.send((number, None))
        began = time.monotonic()
        outcome, detail = outcome_of(make(), number % 10 == 0, as_process)
        pipe.send((number, (outcome, detail, round(time.monotonic() - began, 3))))
    pipe.close()
    os._exit(0)


class _Worker:
    """A forked process with a batch of cases."""

    def __init__(self, jobs: Sequence[tuple[int, Callable[[], Case]]], as_process: bool) -> None:
        self.left, self.since = list(jobs), time.monotonic()
        self.pipe, theirs = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=_work, args=(theirs, jobs, as_process), daemon=not as_process)
        self.process.start()
        theirs.close()

    def results(self) -> Iterator[tuple[int, tuple[str, str, float]]]:
        """Results that have come; the case of a process that crashed or takes too long has failed."""
        try:
            while self.pipe.poll():
                number, result = self.pipe.recv()
                self.since = time.monotonic()
                if result is not None:
                    self.left = [job for job in self.left if job[0] != number]
                    yield number, result
        except (EOFError, OSError):
            self.process.join()
            if self.left:
                yield self.left.pop(0)[0], (f"crash: exit code {self.process.exitcode}", "", 0.0)
            self.since = -1.0
        if self.since > 0 and time.monotonic() - self.since > LIMIT:
            self.process.kill()
            self.process.join()
            yield self.left.pop(0)[0], ("too slow", f"more than {LIMIT:g} s", LIMIT)
            self.since = -1.0

    @property
    def ended(self) -> bool:
        return self.since < 0


def run_all(
    jobs: Sequence[tuple[int, Callable[[], Case]]],
    processes: int = 1,
    as_process: bool = False,
    until: float = 1e18,
) -> Iterator[tuple[int, tuple[str, str, float]]]:
    """Number and (outcome, detail, seconds) of every case, run in several processes at once."""
    waiting = [list(jobs[i : i + BATCH]) for i in range(0, len(jobs), BATCH)][::-1]
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < processes and time.time() < until:
                workers.append(_Worker(waiting.pop(), as_process))
            if not workers:
                return
            wait([worker.pipe for worker in workers], timeout=1)
            for worker in list(workers):
                yield from worker.results()
                if worker.ended or time.time() > until:
                    workers.remove(worker)
                    worker.process.kill()
                    worker.pipe.close()
                    if worker.left and worker.ended:
                        waiting.append(worker.left)
    finally:
        for worker in workers:
            worker.process.kill()


def isolated(case: Case, as_process: bool = False, again: bool = True) -> tuple[str, str]:
    """Run one case in a process of its own."""
    number = 0 if again else 1
    ((_, (outcome, detail, _)),) = run_all([(number, lambda: case)], as_process=as_process)
    return outcome, detail


def load_state(path: Path | None) -> list[Outcome]:
    """Outcomes of earlier runs. A line that was cut off is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []:
        with contextlib.suppress(ValueError, TypeError):
            found.append(Outcome(**json.loads(line)))
    return found


def fuzz(
    target: str,
    numbers: Sequence[int],
    seed: int,
    *,
    processes: int,
    as_process: bool,
    until: float,
    state: Path | None,
) -> list[Outcome]:
    """Run the cases of a target that the state does not have yet; all outcomes of this target and seed."""
    importlib.import_module(f"fuzz.{target}")
    importlib.import_module("manifill._cli.app")
    outcomes = [
        one for one in load_state(state) if (one.target, one.seed) == (target, seed) and one.case in numbers
    ]
    done = {one.case for one in outcomes}

    def job(number: int) -> tuple[int, Callable[[], Case]]:
        return number, lambda: made(target, seed, number)

    jobs = [job(number) for number in numbers if number not in done]
    with contextlib.ExitStack() as stack:
        file: Any = stack.enter_context(state.open("a", encoding="utf-8")) if state else None
        for number, (outcome, detail, seconds) in run_all(jobs, processes, as_process, until):
            one = Outcome(target, seed, number, outcome, seconds, detail)
            outcomes.append(one)
            if file is not None:
                file.write(json.dumps(asdict(one)) + "\n")
                file.flush()
            if one.failed:
                print(f"{target} {number}: {outcome}", file=sys.stderr, flush=True)
    return outcomes


def summary(outcomes: Sequence[Outcome]) -> str:
    """Counts by target, and failures by kind with the cases in which they occurred."""
    lines = []
    for target in dict.fromkeys(one.target for one in outcomes):
        own = [one for one in outcomes if one.target == target]
        counts = Counter(one.outcome for one in own)
        lines.append(
            f"{target}: {len(own):,} cases, {counts['filled']:,} filled, {counts['refused']:,} refused, "
            f"{sum(one.failed for one in own):,} failed, {sum(one.seconds for one in own):.0f} s"
        )
        for kind, count in counts.most_common():
            if kind not in _PASSED:
                cases = [str(one.case) for one in own if one.outcome == kind]
                lines.append(
                    f"  {count:,} × {kind} (cases {', '.join(cases[:8])}{', …' if count > 8 else ''})"
                )
    return "\n".join(lines)
