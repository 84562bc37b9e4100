"""Faults of the environment: full disk, read-only folder, little memory, closed pipes, files that change."""

import os
import random
import resource
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from faults.jobs import JOBS, Job, content
from faults.oracle import Findings, Reference, problems
from faults.runs import Run

_TABLE = JOBS[0]
_NOBODY = 65534
# Sizes of full disks in kB, of the largest file in bytes, and of memory beyond what is in use in MB. (With
# less memory OpenBLAS ends the process, or waits for ever.)
_DISKS = (24, 32, 44, 60, 80, 110, 150, 200, 300)
_FILES = (100, 1_000, 3_000, 8_000, 20_000, 60_000)
_MEMORY = (50, 100, 200, 400)


class Cases:
    """Runs of jobs under a fault, each in a new folder."""

    def __init__(self, findings: Findings, folder: Path) -> None:
        self.findings, self._folder, self._count = findings, folder, 0
        self.reference = Reference(folder)

    def place(self) -> Path:
        """A new folder that every user may enter."""
        self._count += 1
        place = self._folder / f"case-{self._count}"
        (place / "tmp").mkdir(parents=True)
        (place / "tmp").chmod(0o777)
        return place

    def check(
        self,
        fault: str,
        label: str,
        job: Job,
        codes: tuple[int, ...],
        before: Callable[[], None] | None = None,
    ) -> None:
        """Run a job with `before` in its process."""
        place = self.place()
        job.set_up(place / "work")
        self.finish(fault, label, job, Run(place, job.arguments, before), codes)

    def finish(self, fault: str, label: str, job: Job, run: Run, codes: tuple[int, ...]) -> None:
        """Run, and apply the oracle."""
        expected = self.reference.of(job)
        run.start()
        wrong = problems(job, run, expected, codes=codes) if run.wait() else ["the process did not end"]
        self.findings.add(f"disk: {fault}", f"{job.name}, {label}", wrong)


def disk(findings: Findings, folder: Path, *, jobs: tuple[Job, ...] = JOBS) -> None:
    """Run all faults of the environment."""
    folder.mkdir(parents=True)
    for path in (folder, *folder.parents[:-2]):
        path.chmod(path.stat().st_mode | 0o011)
    cases = Cases(findings, folder)
    for job in jobs:
        for size in _DISKS:
            _full_disk(cases, job, size)
        for limit in _FILES:
            before = _limit(resource.RLIMIT_FSIZE, limit)
            cases.check("files too large", f"{limit} bytes", job, (0, 1), before)
        _read_only(cases, job)
        _not_permitted(cases, job)
    for megabytes in _MEMORY:
        cases.check("little memory", f"{megabytes} MB", _TABLE, (0, 1), _memory_limit(megabytes))
    for job in jobs[:3]:
        codes = (1,) if job is _TABLE else (0, 1)  # only text files are read again when they are written
        cases.check("input changed", "a row appended", job, codes, _after_fit(_append))
        cases.check("input changed", "deleted", job, codes, _after_fit(Path("in.csv").unlink))
    _streams(cases)
    _special_files(cases)
    _two_runs(cases)


def _limit(kind: int, value: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(kind, (value, resource.RLIM_INFINITY))


def _memory_limit(megabytes: int) -> Callable[[], None]:
    def limit() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (megabytes << 20), resource.RLIM_INFINITY))

    return limit


def _mounted(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True).returncode == 0


def _full_disk(cases: Cases, job: Job, size: int) -> None:
    place = cases.place()
    disk = place / "work"
    disk.mkdir()
    if not _mounted("-t", "tmpfs", "-o", f"size={size}k", "none", str(disk)):
        cases.findings.skip("disk: full disk", "mounting needs root")
        return
    try:
        work = disk / "work"
        try:
            job.set_up(work)
        except OSError:
            return  # too small for the input
        run = Run(place, job.arguments, lambda: os.chdir(work))
        run.work = work
        cases.finish("full disk", f"{size} kB", job, run, (0, 1))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _read_only(cases: Cases, job: Job) -> None:
    place = cases.place()
    work = str(place / "work")
    job.set_up(place / "work")
    if not (_mounted("--bind", work, work) and _mounted("-o", "remount,ro,bind", work)):
        cases.findings.skip("disk: read-only", "mounting needs root")
        return
    try:
        cases.finish("read-only", "bind mount", job, Run(place, job.arguments), (1, 2))
    finally:
        subprocess.run(["umount", "-l", work], check=True)


def _not_permitted(cases: Cases, job: Job) -> None:
    if os.getuid() != 0:
        cases.findings.skip("disk: not permitted", "changing the user needs root")
        return

    def become_nobody() -> None:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)

    cases.check("not permitted", "folder of another user", job, (1, 2), become_nobody)


def _append() -> None:
    with Path("in.csv").open("a") as file:
        file.write("1,,2,3\n")


def _after_fit(action: Callable[[], object]) -> Callable[[], None]:
    """Do something when the fit is done and nothing is written yet."""

    def patch() -> None:
        from manifill import TableImputer

        original = TableImputer.iter_fit

        def disturbed(imputer, table):  # type: ignore[no-untyped-def]
            yield from original(imputer, table)
            action()

        setattr(TableImputer, "iter_fit", disturbed)  # noqa: B010

    return patch


def _streams(cases: Cases) -> None:
    """Standard output that is closed, or whose reader has gone, or that is full."""
    for label, words in (("impute", "impute in.csv -o - --max-sweeps 2"), ("inspect", "inspect in.csv")):
        for kind in ("closed", "reader gone", "full"):
            reader, writer = os.pipe()
            os.close(reader)
            full = os.open("/dev/full", os.O_WRONLY)
            place = cases.place()
            _TABLE.set_up(place / "work")
            number = {"closed": -1, "reader gone": writer, "full": full}[kind]
            run = Run(place, tuple(words.split()), streams={1: number})
            run.start()
            run.wait()
            os.close(writer)
            os.close(full)
            codes = {"closed": (0, 1) if label == "inspect" else (2,)}.get(kind, (1,))
            wrong = [] if run.code in codes else [f"exit code {run.code}: {run.err!r}"]
            wrong += [f"{run.err!r}"] if "Traceback" in run.err or "Exception" in run.err else []
            wrong += ["no message"] if kind == "full" and "No space left" not in run.err else []
            cases.findings.add("disk: standard output", f"{label}, {kind}", wrong)


def _special_files(cases: Cases) -> None:
    """Links and devices as outputs."""
    place = cases.place()
    work = place / "work"
    _TABLE.set_up(work)
    (work / "loop.csv").symlink_to("loop.csv")
    (work / "real.csv").write_text("old")
    (work / "link.csv").symlink_to("real.csv")
    try:
        os.mknod(work / "null.html", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.mknod(work / "full.html", 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        devices = True
    except OSError:
        devices = False
    for arguments, code, text in (
        ("-o loop.csv", 2, "loop.csv"),
        ("-o link.csv", 0, ""),
        ("-o new.csv --report null.html", 0, ""),
        ("-o other.csv --report full.html", 1, "full.html: No space left on device"),
    ):
        if "html" in arguments and not devices:
            cases.findings.skip("disk: special files", "mknod needs root")
            continue
        run = Run(place, tuple(f"impute in.csv {arguments} --force --max-sweeps 2".split()))
        run.start()
        run.wait()
        wrong = [] if run.code == code and text in run.err else [f"exit code {run.code}: {run.err!r}"]
        wrong += ["traceback"] if "Traceback" in run.err else []
        cases.findings.add("disk: special files", arguments, wrong)
    kept = (work / "link.csv").is_symlink() and (work / "real.csv").read_text() != "old"
    kept = kept and (not devices or (work / "null.html").is_char_device())
    left = [one.name for one in work.glob(".manifill-*")] + [one.name for one in (place / "tmp").iterdir()]
    cases.findings.add("disk: special files", "afterwards", [] if kept and not left else [f"{kept}, {left}"])


def _two_runs(cases: Cases, rounds: int = 8) -> None:
    """Two runs with different seeds write the same files: all of them are from one or all from the other."""
    names = ("out.csv", "out-draw1.csv", "out-draw2.csv")
    alone = []
    for seed in ("0", "1"):
        place = cases.place()
        _TABLE.set_up(place / "work")
        run = Run(place, (*_TABLE.arguments, "--seed", seed))
        run.start()
        run.wait()
        alone.append([content(place / "work" / name) for name in names])
    for i in range(rounds):
        place = cases.place()
        _TABLE.set_up(place / "work")
        runs = []
        for seed in ("0", "1"):
            own = cases.place()
            os.symlink(place / "work", own / "work")
            runs.append(Run(own, (*_TABLE.arguments, "--seed", seed)))
        random.Random(i).shuffle(runs)
        for run in runs:
            run.start()
        for run in runs:
            run.wait()
        found = [content(place / "work" / name) for name in names]
        wrong = [] if found in alone else [f"the files are of both runs, or of none: {found}, {alone}"]
        wrong += [f"exit code {run.code}: {run.err}" for run in runs if run.code]
        wrong += [f"left: {one.name}" for one in (place / "work").glob(".manifill-*")]
        cases.findings.add("disk: two runs at once", f"round {i}", wrong)
        shutil.rmtree(place)
