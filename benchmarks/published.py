"""manifill in tables that other authors published: their data, masks and scores, their numbers beside ours.

The published numbers and the texts are in published.toml. The benchmark writes docs/published-tables.md.
Nothing may be chosen on the masks of this benchmark.
"""

import math
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from rich.table import Table
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks import ours, results
from benchmarks.cache import Cache
from benchmarks.data import DEVELOPMENT, Source
from benchmarks.fills import limited

NUMBERS = Path(__file__).with_name("published.toml")
PAGE = results.ROOT / "docs" / "published-tables.md"
CACHE = results.FOLDER / "published.jsonl"
COMMAND = "python -m benchmarks published"
SMOKE_SETS, SMOKE_ROWS = ("BCD",), 60

INTRODUCTION = """# manifill in other people's tables

Results that other authors published, and manifill's on the same data, with masks of the same kind,
and with the same score. Every number of another method is the authors' own; we ran manifill only,
with its defaults, which are the same for all tables.

\\* Development set (`DEVELOPMENT` in [`benchmarks/data.py`](../benchmarks/data.py)): used, or free to
be used, in the development of manifill, with other masks. Nothing was chosen on the masks of this
page.

± is the standard deviation over the masks. The lowest error of each column is bold, whoever has it;
where manifill failed with one of the masks, it is never the lowest.
A conditional mean, which manifill fills in, is the best fill under squared errors (RMSE); under
absolute errors (MAE) the conditional median is."""

NOT_COMPARABLE = """## What is not comparable

- Published numbers come from other machines, library versions and sometimes other draws of the
  masks; the sections say what is known. Differences of less than a few percent may be due to that.
  Only the masks of GRAPE are known to be the same.
- manifill sees the known entries of all rows of a table, without a split into training and test
  rows. GRAPE does so too; whether all other methods do is not stated.
- Times are left out: they were not measured on the same machine. [This page](benchmarks/tradeoff.md)
  has errors and times of several methods in one run.
- Benchmarks of time series are not on this page yet."""


@dataclass(frozen=True)
class Protocol:
    """How a benchmark scales a complete table, and how it draws a mask (True: missing)."""

    scaler: Callable[[], Any]
    mask: Callable[[tuple[int, int], float, int], np.ndarray]


def grape_mask(shape: tuple[int, int], rate: float, seed: int) -> np.ndarray:
    """The mask of GRAPE's repository, bit for bit: uniform numbers of torch's generator, as float32."""
    words = np.random.RandomState(seed).randint(0, 2**32, size=math.prod(shape), dtype=np.uint32)
    uniform = (words & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2**-24)
    return (uniform >= np.float32(round(1 - rate, 6))).reshape(shape)


def numpy_mask(shape: tuple[int, int], rate: float, seed: int) -> np.ndarray:
    """`np.random.rand(n, d) < rate`."""
    return np.random.RandomState(seed).rand(*shape) < rate


PROTOCOLS = {"GRAPE": Protocol(MinMaxScaler, grape_mask), "NewImp": Protocol(StandardScaler, numpy_mask)}


@dataclass(frozen=True)
class PublishedTable:
    """Published errors of several methods on several sets; `errors`: method → one per set, as printed."""

    metric: str
    rate: float
    sets: tuple[str, ...]
    errors: Mapping[str, list[Decimal]]

    def best(self, label: str) -> tuple[str, Decimal]:
        """The method with the lowest published error on a set, and this error."""
        column = {method: errors[self.sets.index(label)] for method, errors in self.errors.items()}
        known = {method: error for method, error in column.items() if not error.is_nan()}
        method = min(known, key=known.__getitem__)
        return method, known[method]


@dataclass(frozen=True)
class Benchmark:
    """A published benchmark. `data`: label of a set in the tables → its file and number of columns."""

    name: str
    title: str
    text: str
    protocol: str
    masks: int
    caveats: list[str]
    data: Mapping[str, Mapping[str, Any]]
    table: list[dict[str, Any]]

    @property
    def tables(self) -> list[PublishedTable]:
        return [
            PublishedTable(**{**one, "rate": float(one["rate"]), "sets": tuple(one["sets"])})
            for one in self.table
        ]

    def scaled(self, label: str, rows: int | None = None) -> np.ndarray | None:
        """The complete table as the benchmark scales it; None if its file is not there."""
        X = Source(label, self.data[label]["file"], last=rows).load()
        if X is None:
            return None
        return PROTOCOLS[self.protocol].scaler().fit_transform(X[:, : self.data[label]["columns"]])

    def heading(self, label: str) -> str:
        return f"{label}*" if self.data[label]["file"] in DEVELOPMENT else label


def benchmarks() -> list[Benchmark]:
    """The benchmarks in published.toml. Numbers are decimals, which keep their digits."""
    text = NUMBERS.read_text(encoding="utf-8")
    return [Benchmark(**one) for one in tomllib.loads(text, parse_float=Decimal)["benchmark"]]


@dataclass(frozen=True)
class Case:
    """One set of a benchmark at one rate, and one imputer of ours."""

    benchmark: str
    label: str
    rate: float
    method: str


Scores = dict[Case, list[dict[str, Any]]]
"""For every case and mask: the errors by metric, NaN after a `failure`, which says what happened."""


def run(smoke: bool = False, sets: Collection[str] = (), masks: int | None = None) -> Table:
    """Published numbers beside ours; unless `smoke`, the page in docs is written.

    Parameters
    ----------
    sets : labels of the sets to fill; all if empty.
    masks : number of masks; by default the number in published.toml.
    """
    chosen = SMOKE_SETS if smoke else sets
    facts, cache = results.environment(), Cache(None if smoke else CACHE)
    scores: Scores = {}
    cases = [
        (one, case) for one in benchmarks() for case in _cases(one) if not chosen or case.label in chosen
    ]
    ours.warm_up()
    for benchmark, case in track(cases, "filling", transient=True):
        X = benchmark.scaled(case.label, SMOKE_ROWS if smoke else None)
        if X is not None:
            seeds = range(1 if smoke else masks or benchmark.masks)
            scores[case] = [_score(benchmark, case, X, seed, cache) for seed in seeds]
    text = page(scores, facts)
    if not smoke:
        PAGE.write_text(text, encoding="utf-8")
    return summary(scores)


def _cases(benchmark: Benchmark) -> Iterator[Case]:
    """Cases without repetition: tables that differ in their metric only share their fills."""
    found = {}
    for table in benchmark.tables:
        for label in table.sets:
            for method in ours.imputers(table.metric == "MAE"):
                found[Case(benchmark.name, label, table.rate, method)] = None
    yield from found


def _score(benchmark: Benchmark, case: Case, X: np.ndarray, seed: int, cache: Cache) -> dict[str, Any]:
    key = (case.benchmark, case.label, case.rate, case.method, seed, ours.version())
    if key not in cache:
        M = PROTOCOLS[benchmark.protocol].mask(X.shape, case.rate, seed)
        outcome = limited(ours.imputers(medians=True)[case.method], X, M)
        errors = {"MAE": outcome.mae, "RMSE": outcome.rmse}
        cache[key] = errors | {"seconds": outcome.seconds, "failure": outcome.failure}
    return cache[key]


def summary(scores: Scores) -> Table:
    """One row per set and score: the lowest published error, and ours divided by it."""
    methods = list(ours.imputers(medians=True))
    table = Table("benchmark", "score", "missing", "data", "best published", "by", *methods)
    table.title = "manifill in published tables"
    for benchmark in benchmarks():
        for published in benchmark.tables:
            for label in published.sets:
                by, best = published.best(label)
                found = [_errors(scores, benchmark, published, label, method) for method in methods]
                ratios = [float(np.mean(errors)) / float(best) if errors else math.nan for errors in found]
                if not any(found):
                    continue
                cells = [
                    "–" if math.isnan(ratio) else _bold(f"{ratio:.3f}", round(ratio, 3) < 1)
                    for ratio in ratios
                ]
                row = (benchmark.name, published.metric, f"{published.rate:.0%}")
                table.add_row(*row, benchmark.heading(label), _theirs(best), by, *cells)
    return table


def page(scores: Scores, facts: Mapping[str, str]) -> str:
    """The page in Markdown. `facts`: date, machine, versions and commit."""
    lines = [INTRODUCTION, "", f"- command: `{COMMAND}`"]
    lines += [f"- {fact}: {facts[fact]}" for fact in ("date", "commit", "libraries")]
    lines += [
        "",
        "## Summary",
        "",
        "Errors of manifill divided by the best published one; below 1 (bold), manifill is better.",
        "",
    ]
    lines += [*results.markdown(summary(scores))[2:], ""]
    for benchmark in benchmarks():
        lines += [f"## {benchmark.title}", "", benchmark.text.strip(), "", "Caveats:", ""]
        lines += [f"- {caveat}" for caveat in benchmark.caveats]
        for published in benchmark.tables:
            lines += ["", *results.markdown(beside(benchmark, published, scores))]
        filled = {case.label for case in scores if case.benchmark == benchmark.name}
        if skipped := [label for label in benchmark.data if label not in filled]:
            lines += ["", f"Not filled in this run, so without an error of manifill: {', '.join(skipped)}."]
        lines += ["", *_failures(benchmark, scores)]
    return "\n".join([*lines, NOT_COMPARABLE, ""])


def beside(benchmark: Benchmark, published: PublishedTable, scores: Scores) -> Table:
    """A published table with rows of manifill added; the lowest error of each set is bold."""
    found = {
        method: [_errors(scores, benchmark, published, label, method) for label in published.sets]
        for method in ours.imputers(published.metric == "MAE")
    }
    means = {
        method: [round(float(np.mean(e)), 4) if e else math.nan for e in errors]
        for method, errors in found.items()
    }
    theirs = {method: [float(error) for error in errors] for method, errors in published.errors.items()}
    lowest = np.nanmin([*theirs.values(), *means.values()], axis=0)
    texts = {method: map(_theirs, errors) for method, errors in published.errors.items()}
    texts |= {method: map(_ours, errors) for method, errors in found.items()}
    table = Table(published.metric, *map(benchmark.heading, published.sets))
    masks = max((len(errors) for row in found.values() for errors in row), default=0)
    table.title = f"{benchmark.name}, {published.metric}, {published.rate:.0%} missing"
    table.title += f"; manifill: mean of {masks} masks" if masks else ""
    for method, errors in (theirs | means).items():
        bold = np.array(errors) == lowest
        table.add_row(method, *map(_bold, texts[method], bold))
    return table


def _failures(benchmark: Benchmark, scores: Scores) -> list[str]:
    lines = [
        f"- Failed: {case.method} on {case.label}, {case.rate:.0%} missing, seed {seed}. {one['failure']}"
        for case, found in scores.items()
        for seed, one in enumerate(found)
        if case.benchmark == benchmark.name and one.get("failure")
    ]
    return [*lines, ""] if lines else []


def _errors(
    scores: Scores, benchmark: Benchmark, published: PublishedTable, label: str, method: str
) -> list[float]:
    """Our errors, one per mask; empty if there was no run, or none for this metric."""
    if method not in ours.imputers(published.metric == "MAE"):
        return []
    found = scores.get(Case(benchmark.name, label, published.rate, method), [])
    return [one[published.metric] for one in found]


def _theirs(error: Decimal) -> str:
    return "–" if error.is_nan() else str(error)


def _ours(errors: list[float]) -> str:
    finished = [error for error in errors if not math.isnan(error)]
    failed = f" ({len(errors) - len(finished)} of {len(errors)} failed)" if finished != errors else ""
    if not finished:
        return "failed" if errors else "–"
    spread = f" ± {np.std(finished, ddof=1):.4f}" if len(finished) > 1 else ""
    return f"{np.mean(finished):.4f}{spread}{failed}"


def _bold(text: str, bold: bool) -> str:
    return f"[bold]{text}[/]" if bold else text
