"""What manifill promises, with the figure measured for each promise: writes docs/promises.md.

    python -m benchmarks.promises [PART …] [--seed S] [--scale X]

Without parts all are measured, which takes hours on two cores; `--scale 0.1` makes a tenth of the cases. Less
than that is a quick look, and not written. Figures of parts that are not measured are kept, with their date.
The command fails if a figure is worse than the one it replaces.
"""

import argparse
import datetime
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import claims, data
from manifill import IGHImputer

ROOT = Path(__file__).parents[1]
RECORD, PAGE = ROOT / "docs" / "promises.json", ROOT / "docs" / "promises.md"


@dataclass(frozen=True)
class Line:
    """A promise and what was measured.

    Attributes
    ----------
    part : part of the measurements it comes from.
    promise, figure, command : texts of the page.
    loss : how far the figure is from the ideal; a promise is worse if this has grown by more than `slack`.
    date : day of the measurement.
    """

    part: str
    promise: str
    figure: str
    command: str
    loss: float
    slack: float = 0.0
    date: str = ""


def _run(*arguments: str) -> None:
    """Run a command of the repository; it may end with 1, which means that something was found."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, env=environment, check=False)


def fuzzing(seed: int, scale: float) -> list[Line]:
    """Random tables, frames, files and pictures in forked processes, and tables through the real command."""
    found = []
    plan = [
        ("random tables, frames, files and pictures", "all", 20_000, ()),
        ("random tables through the real command", "tables", 2_000, ("--real",)),
        ("damaged and malicious model files", "models", 5_000, ()),
    ]
    for what, target, cases, more in plan:
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder, "state.jsonl")
            count = max(round(cases * scale), 5)
            arguments = [target, "--cases", str(count), "--seed", str(seed), *more]
            _run("fuzz", *arguments, "--jobs", "2", "--reduce", "0", "--state", str(state))
            outcomes = Counter(json.loads(line)["outcome"] for line in state.read_text().splitlines())
        good = outcomes["filled"] + outcomes["refused"]
        failures = sum(outcomes.values()) - good
        figure = f"{sum(outcomes.values()):,} cases ({outcomes['filled']:,} filled, {outcomes['refused']:,} "
        figure += f"refused with one message), {failures} failures"
        promise = f"Known cells never change, nothing crashes, nothing is left behind: {what}."
        found.append(Line("fuzzing", promise, figure, f"python -m fuzz {' '.join(arguments)}", failures))
    return found


def faults(seed: int, scale: float) -> list[Line]:
    """Kills, failing writes, full disks."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "faults.json")
        arguments = ["faults", "all", "--cases", str(max(round(500 * scale), 5)), "--seed", str(seed)]
        _run(*arguments, "--json", str(record))
        result = json.loads(record.read_text())
    total, bad = sum(result["counts"].values()), len(result["violations"])
    kills = sum(count for name, count in result["counts"].items() if name.startswith("kills"))
    figure = f"{total:,} faults ({kills:,} kills), {bad} violations"
    promise = "All files of a run are new, or all are old, and every file is whole, whatever ends the run."
    return [Line("faults", promise, figure, f"python -m {' '.join(arguments)}", bad)]


def honesty(_: int, scale: float) -> list[Line]:
    """Claimed over true errors, and coverage of intervals."""
    count = max(round(20 * scale), 1)
    pooled = claims.figures(range(count))
    found, command = [], "python -m benchmarks claims"
    for mechanism, tables in pooled.items():
        ratios = {name: one["claimed_over_true"] for name, one in tables.items() if name != "discrete"}
        covers = {name: one["coverage"] for name, one in tables.items()}
        discrete = covers.pop("discrete")
        figure = f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} over {len(ratios)} tables"
        loss = max(abs(math.log(one)) for one in ratios.values())
        promise = f"Claimed errors are true ({mechanism}, 30 %): claimed / true error, {count} masks."
        found.append(Line("honesty", promise, figure, command, loss, 0.03))
        figure = f"{min(covers.values()):.1%} to {max(covers.values()):.1%} over {len(covers)} tables, "
        figure += f"{discrete:.1%} of columns with few distinct values"
        loss = max(0.88 - discrete, *(max(0.88 - one, one - 0.93) for one in covers.values()), 0.0)
        promise = f"90 % intervals hold 90 % of the missing values ({mechanism}, 30 %)."
        found.append(Line("honesty", promise, figure, command, loss, 0.01))
    return found


def floor(seed: int, scale: float) -> list[Line]:
    """Error of the fill over that of the column mean, on the tables with least to learn."""
    rng = np.random.default_rng(seed)
    tables = {"independent noise": rng.standard_normal((500, 8))}
    tables |= dict(data.tables(("kin8nm", "climate"), 500))
    ratios = {}
    for name, X in tables.items():
        for mask in range(max(round(3 * scale), 1)):
            M = data.removed_entries(X.shape, 0.3, seed + mask)
            filled = IGHImputer(random_state=0).fit_transform(np.where(M, np.nan, X))
            mean = np.nanmean(np.where(M, np.nan, X), axis=0)
            std = X.std(axis=0)
            error, simple = (np.sqrt((((one - X) / std)[M] ** 2).mean()) for one in (filled, mean))
            ratios[name] = max(ratios.get(name, 0.0), error / simple)
    worst = max(ratios, key=lambda name: ratios[name])
    promise = "Never much worse than the column mean, where nothing can be learned."
    figure = f"largest ratio {ratios[worst]:.3f} ({worst}; {', '.join(ratios)})"
    command = "python -m benchmarks.promises floor"
    return [Line("floor", promise, figure, command, ratios[worst], 0.003)]


def repeatability(seed: int, scale: float) -> list[Line]:
    """The same table with one thread and two, and with rows and columns in another order."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-2, 2, (max(round(600 * scale), 60), 3))
    X = np.sin(z @ rng.normal(size=(3, 8))) + 0.1 * rng.normal(size=(len(z), 8))
    X[rng.random(X.shape) < 0.2] = np.nan
    rows, columns = rng.permutation(len(X)), rng.permutation(8)
    one = IGHImputer(random_state=0, n_jobs=1).fit_transform(X)
    two = IGHImputer(random_state=0, n_jobs=2).fit_transform(X)
    other = np.empty_like(one)
    other[np.ix_(rows, columns)] = IGHImputer(random_state=0).fit_transform(X[rows][:, columns])
    spread = np.nanstd(X, axis=0)
    figures = [float(np.abs((one - another) / spread).max()) for another in (two, other)]
    promise = "The same result with one thread or two, and in any order of rows and columns."
    figure = f"largest difference {max(figures):.0e} standard deviations"
    command = "python -m benchmarks.promises repeatability"
    return [Line("repeatability", promise, figure, command, max(figures), 1e-8)]


def tests(seed: int, scale: float) -> list[Line]:
    """Mutation testing."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "mutants.json")
        arguments = ["benchmarks.mutation", "--cases", str(max(round(400 * scale), 5)), "--seed", str(seed)]
        _run(*arguments, "--json", str(record))
        result = json.loads(record.read_text())
    share = result["noticed"] / result["mutants"]
    figure = f"{result['noticed']} of {result['mutants']} mutants ({share:.0%})"
    promise = "The fast tests notice small changes in solvers, sweep, validation and files."
    return [Line("tests", promise, figure, f"python -m {' '.join(arguments)}", 1 - share, 0.02)]


PARTS: dict[str, Callable[[int, float], list[Line]]] = {
    "fuzzing": fuzzing,
    "faults": faults,
    "honesty": honesty,
    "floor": floor,
    "repeatability": repeatability,
    "tests": tests,
}


def merged(former: list[Line], measured: list[Line]) -> list[Line]:
    """The lines of all parts, in the order of `PARTS`; those measured now replace the former ones."""
    parts = {line.part for line in measured}
    lines = [line for line in former if line.part not in parts] + measured
    return sorted(lines, key=lambda line: list(PARTS).index(line.part))


def worse(former: list[Line], measured: list[Line]) -> list[str]:
    """Promises whose figure is worse than before."""
    before = {line.promise: line for line in former}
    return [
        f"{line.promise} Was: {before[line.promise].figure}. Is: {line.figure}."
        for line in measured
        if line.promise in before and line.loss > before[line.promise].loss + line.slack
    ]


def page(lines: list[Line]) -> str:
    """The page in Markdown."""
    text = "# What manifill promises\n\nEvery promise comes with the figure that was measured last, "
    text += (
        "the command and the day.\n`python -m benchmarks.promises` measures them again and fails if a figure "
    )
    text += "got worse.\n\n"
    text += "| promise | measured | command | date |\n|---|---|---|---|\n"
    for line in lines:
        text += f"| {line.promise} | {line.figure} | `{line.command}` | {line.date} |\n"
    return text + "\n" + NOT_PROMISED


NOT_PROMISED = """Not promised:

- Errors and intervals are measured on known values. If values are missing because of their own size, errors
  are larger and intervals too short.
- After SIGKILL or a power failure, temporary files named `.manifill-…` may be left beside the outputs.
- Pipes, devices and standard output are written to directly, after all files are in place.
"""


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; default: all")
    parser.add_argument("--seed", type=int, default=1000, help="seed; that of the tests is another")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases")
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; choose from {', '.join(PARTS)}")
    stored: list[dict[str, Any]] = json.loads(RECORD.read_text()) if RECORD.exists() else []
    former = [Line(**one) for one in stored]
    today = datetime.date.today().isoformat()
    measured = []
    for part in given.parts or PARTS:
        for line in PARTS[part](given.seed, given.scale):
            measured.append(Line(**{**asdict(line), "date": today}))
            print(f"{line.promise} {line.figure}", flush=True)
    if given.scale >= 0.1:
        lines = merged(former, measured)
        RECORD.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")
        PAGE.write_text(page(lines))
    problems = worse(former, measured)
    for problem in problems:
        print(f"Worse: {problem}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
