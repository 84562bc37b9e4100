"""Command line of the fault injection."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from faults.jobs import JOBS


def main() -> int:
    """Run the chosen faults; return 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("what", choices=("kills", "writes", "disk", "all"))
    parser.add_argument("--cases", type=int, default=150, help="number of kills")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments and signals of the kills")
    parser.add_argument("--real", action="store_true", help="kills: new processes instead of forked ones")
    parser.add_argument("--stride", type=int, default=1, help="writes: fail every STRIDE-th operation only")
    parser.add_argument("--job", choices=[job.name for job in JOBS], help="writes: disturb this command only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the counts as JSON")
    given = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MPLBACKEND="Agg")
    from faults.environment import disk
    from faults.kills import kills
    from faults.oracle import Findings
    from faults.runs import warm_up
    from faults.writes import writes

    warm_up()
    findings, began = Findings(), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="faults-")).resolve()
    try:
        if given.what in ("kills", "all"):
            kills(findings, folder / "kills", given.cases, given.seed, given.real)
        if given.what in ("writes", "all"):
            jobs = tuple(job for job in JOBS if given.job in (None, job.name))
            writes(findings, folder / "writes", jobs, given.stride)
        if given.what in ("disk", "all"):
            disk(findings, folder / "disk")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for fault, count in sorted(findings.counts.items()):
        print(f"{count:6} {fault}")
    print(
        f"{sum(findings.counts.values())} cases, {len(findings.violations)} violations, seed {given.seed}, "
        f"{time.monotonic() - began:.0f} s"
    )
    if given.json is not None:
        record = {"seed": given.seed, "counts": findings.counts, "violations": findings.violations}
        given.json.write_text(json.dumps(record, indent=1))
    return int(bool(findings.violations))


if __name__ == "__main__":
    sys.exit(main())
