"""Growth of time and memory with columns and with rows; a slope is the exponent of a power law."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.table import Table
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from benchmarks.data import curved
from benchmarks.fills import Outcome, fill_in_subprocess
from benchmarks.knobs import plain
from benchmarks.plots import Series, growth, slope
from benchmarks.results import Figures
from manifill import IGHImputer

WIDTHS = (500, 1000, 2000, 4000, 8000, 16_000)
LENGTHS = (10_000, 100_000, 1_000_000)
ROWS, COLUMNS = 400, 20
WIDE = f"{ROWS} rows, 50 % missing, 2 sweeps"
LONG = f"{COLUMNS} columns, 20 % missing, 2 sweeps"
# Seconds allowed for one fill. Larger for manifill, whose growth is the question. Set by hand, not tuned.
OUR_LIMIT, PEER_LIMIT = 1800, 120


@dataclass(frozen=True)
class Line:
    """A method, and the numbers of columns or rows at which it is measured."""

    varied: str
    method: str
    imputer: Any
    sizes: tuple[int, ...]
    limit: float = PEER_LIMIT

    def measured(self) -> "Measured":
        outcomes: dict[int, Outcome] = {}
        for size in self.sizes:
            source = (
                partial(curved, ROWS, size, 0.5)
                if self.varied == "columns"
                else partial(curved, size, COLUMNS, 0.2)
            )
            outcomes[size] = fill_in_subprocess(self.imputer, source, self.limit)
            if outcomes[size].failure:  # larger sizes would fail too
                break
        return Measured(self.varied, self.method, outcomes)


@dataclass(frozen=True)
class Measured:
    """Outcome of a method at each size."""

    varied: str
    method: str
    outcomes: dict[int, Outcome]

    def series(self, quantity: str) -> Series:
        """(size, quantity) of the fills that finished with a quantity above 0."""
        pairs = ((size, getattr(outcome, quantity)) for size, outcome in self.outcomes.items())
        return [(size, value) for size, value in pairs if value > 0]

    def rows(self) -> Iterator[list[str]]:
        """Table rows: one per size, then one with the slopes."""
        for size, outcome in self.outcomes.items():
            numbers = (
                f"{outcome.seconds:,.2f}",
                f"{outcome.peak:,.0f}",
                f"{outcome.working:,.0f}",
                f"{outcome.nrmse:.3f}",
            )
            shown = ["" if number == "nan" else number for number in numbers]
            yield [self.varied, self.method, f"{size:,}", *shown, outcome.failure]
        if len(self.series("seconds")) > 1:
            slopes = [f"{slope(self.series(quantity)):.2f}" for quantity in ("seconds", "working")]
            yield [self.varied, self.method, "slope", slopes[0], "", slopes[1], "", ""]


def run(smoke: bool = False) -> tuple[Table, Figures]:
    """Table with one row per size, each measured in a new process, and two figures."""
    measured = [line.measured() for line in (_smoke() if smoke else _full())]
    table = Table("varied", "method", "size", "seconds", "peak MB", "peak MB of the fill")
    for header in ("RMSE, standardised", "remark"):
        table.add_column(header)
    table.title = "Growth of time and memory on a curved surface of four dimensions"
    table.caption = f"Columns varied: {WIDE}. Rows varied: {LONG}."
    for one in measured:
        for row in one.rows():
            table.add_row(*row)

    def lines(varied: str, quantity: str) -> dict[str, Series]:
        return {one.method: one.series(quantity) for one in measured if one.varied == varied}

    panels = {
        "seconds": lines("rows", "seconds"),
        "peak MB of the fill": lines("rows", "working"),
    }
    return table, {
        "growth_columns": growth(WIDE, "columns", {"seconds": lines("columns", "seconds")}),
        "growth_rows": growth(LONG, "rows", panels),
    }


def _full() -> Iterator[Line]:
    yield Line("columns", "manifill", _ours(), WIDTHS, OUR_LIMIT)
    yield Line("columns", "KNN", KNNImputer(), WIDTHS)
    yield Line("rows", "landmarks", _ours(solver="landmarks"), LENGTHS, OUR_LIMIT)
    yield Line("rows", "local", _ours(solver="local"), LENGTHS, OUR_LIMIT)
    yield Line("rows", "ridge (exact)", _ours(solver="ridge"), (500, 1000, 2000, 4000), OUR_LIMIT)
    # KNN compares all pairs of rows: beyond 30,000 rows that takes hours.
    yield Line("rows", "KNN", KNNImputer(), (1000, 3000, 10_000, 30_000))
    yield Line("rows", "iterative", IterativeImputer(random_state=0), LENGTHS)


def _smoke() -> Iterator[Line]:
    yield Line("columns", "manifill", _ours(), (20, 40))
    yield Line("rows", "local", _ours(solver="local"), (300,))


def _ours(**options: Any) -> IGHImputer:
    return plain(max_sweeps=2, tol=0, **options)
