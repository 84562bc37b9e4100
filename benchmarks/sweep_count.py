"""Error and change after every sweep, with fixed settings."""

import numpy as np
from rich.table import Table

from benchmarks.data import tables
from benchmarks.knobs import plain
from manifill.amputation import mcar
from manifill.metrics import nrmse

SETS = ("airfoil", "concrete", "parkinsons", "wine_quality_red", "ionosphere", "diabetes", "umist28x23")
SHOWN = (1, 2, 3, 4, 5, 6, 8, 12, 20)


def run(smoke: bool = False) -> Table:
    """RMSE (change) after each sweep, at 40 % missing."""
    shown = SHOWN[:3] if smoke else SHOWN
    table = Table(
        "data set",
        *(f"sweep {s}" for s in shown),
        title="RMSE, standardised (change), 40 % MCAR, fixed settings",
    )
    for name, X in tables(("diabetes",) if smoke else SETS, most_rows=60 if smoke else 400):
        M = mcar(X.shape, 0.4, 5)
        imputer = plain(max_sweeps=shown[-1], tol=0)
        errors = {state.sweep: nrmse(X, state.X, M) for state in imputer.iter_fit(np.where(M, np.nan, X))}
        changes = {record.sweep: record.change for record in imputer.trace_}
        cells = [f"{errors[s]:.3f} ({changes[s]:.3f})" if s in errors else "stopped" for s in shown]
        table.add_row(name, *cells)
    return table
