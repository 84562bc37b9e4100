"""Time of the first fill in a new process, against the second."""

import statistics
import subprocess
import sys
import time

from rich.table import Table

SHAPES = ((150, 4), (400, 64))
FILL = """
import time
import numpy as np
began = time.perf_counter()
import manifill
loaded = time.perf_counter()
rng = np.random.default_rng(0)
X = np.sin(rng.normal(size=({n}, 3)) @ rng.normal(size=(3, {d})))
X[rng.random(X.shape) < 0.2] = np.nan
times = [loaded - began]
for _ in range(2):
    began = time.perf_counter()
    manifill.impute(X, random_state=0)
    times.append(time.perf_counter() - began)
print(*times)
"""


def run(smoke: bool = False) -> Table:
    """Seconds, medians over new processes."""
    times = 1 if smoke else 5
    table = Table("task", "process with one fill", "import manifill", "first fill", "second fill")
    table.title = f"Cold starts: seconds, median of {times}"
    table.add_row("start Python, import numpy", f"{_medians('import numpy', times)[0]:.2f}", "", "", "")
    for n, d in SHAPES[:1] if smoke else SHAPES:
        total, *inside = _medians(FILL.format(n=n, d=d), times)
        seconds = (total - inside[-1], *inside)
        table.add_row(f"fill {n} × {d}", *(f"{each:.3f}" for each in seconds))
    return table


def _medians(code: str, times: int) -> list[float]:
    """Median seconds of a process that runs `code`, then the medians of the numbers it prints."""
    runs = []
    for _ in range(times):
        began = time.perf_counter()
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        runs.append([time.perf_counter() - began, *map(float, child.stdout.split())])
    return [statistics.median(each) for each in zip(*runs, strict=True)]
