"""Error and time of updating columns in blocks, against one column at a time."""

import time

import numpy as np
from rich.table import Table

from benchmarks.data import tables
from benchmarks.knobs import plain
from manifill.amputation import mcar
from manifill.metrics import nrmse

SETS = ("digits", "umist28x23")
SHARES = (0, 1 / 64, 1 / 32, 1 / 16, 1 / 8)


def run(smoke: bool = False) -> Table:
    """Error and seconds for blocks of a growing share of the columns."""
    table = Table(
        "data set",
        "columns per block",
        "RMSE, standardised",
        "against single columns",
        "seconds",
        "last change",
    )
    table.title = "Block schedule, 40 % missing, other settings fixed"
    for name, X in tables(SETS[:1] if smoke else SETS, most_rows=60 if smoke else 400):
        M = mcar(X.shape, 0.4, 0)
        baseline = None
        sizes = sorted({max(1, int(share * X.shape[1])) for share in (SHARES[::4] if smoke else SHARES)})
        for size in sizes:
            imputer = plain(schedule=size)
            began = time.perf_counter()
            error = nrmse(X, imputer.fit_transform(np.where(M, np.nan, X)), M)
            seconds = time.perf_counter() - began
            baseline = baseline or error
            table.add_row(
                name,
                str(imputer.schedule_.columns),
                f"{error:.4f}",
                f"{error / baseline - 1:+.2%}",
                f"{seconds:.1f}",
                f"{imputer.trace_[-1].change:.4f}",
            )
    return table
