"""The command line of the fuzzer: python -m fuzz --help."""

import argparse
import os
import sys
import time
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is imported; the processes share the cores

from fuzz.reducer import reduced, reproduction
from fuzz.runner import TARGETS, Outcome, fuzz, isolated, made, summary

# Shares of the targets in the cases of `all`.
_SHARES = {"tables": 1 / 2, "frames": 1 / 6, "files": 1 / 6, "models": 1 / 10, "pictures": 1 / 15}


def main() -> int:
    """Run the fuzzer; 1 if a case failed."""
    given = _arguments()
    if given.only is not None:
        return _one(given)
    until = time.time() + given.time if given.time else 1e18
    outcomes: list[Outcome] = []
    for target in TARGETS if given.target == "all" else (given.target,):
        count = round(given.cases * (_SHARES[target] if given.target == "all" else 1))
        outcomes += fuzz(
            target,
            range(count),
            given.seed,
            processes=given.jobs,
            as_process=given.real,
            until=until,
            state=given.state,
        )
    print(summary(outcomes))
    failed = {(one.target, one.outcome): one for one in reversed(outcomes) if one.failed}
    for one in list(failed.values())[: given.reduce]:
        print(
            f"\n{one.outcome}: python -m fuzz {one.target} --seed {one.seed} --only {one.case}\n{one.detail}"
        )
        print(_smallest(one, given.real), flush=True)
    return int(bool(failed))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description="Random input for manifill, with checks."
    )
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--cases", type=int, default=300, help="number of cases")
    parser.add_argument("--seed", type=int, default=0, help="each seed has its own cases")
    parser.add_argument("--only", type=int, metavar="CASE", help="run this case alone and print it")
    parser.add_argument("--real", action="store_true", help="start the command as a process for every case")
    parser.add_argument("--jobs", type=int, default=1, help="cases that run at the same time")
    parser.add_argument("--time", type=float, metavar="SECONDS", help="stop after this time")
    parser.add_argument("--state", type=Path, metavar="FILE", help="record outcomes; a second run continues")
    parser.add_argument("--reduce", type=int, metavar="N", default=5, help="kinds of failures to reduce")
    return parser.parse_args()


def _one(given: argparse.Namespace) -> int:
    """Run one case; if it fails, print the smallest case that fails in the same way."""
    if given.target == "all":
        sys.exit("--only needs one target, such as tables")
    case = made(given.target, given.seed, given.only)
    outcome, detail = isolated(case, given.real)
    one = Outcome(given.target, given.seed, given.only, outcome)
    print(f"{outcome}\n{detail}".strip())
    print(_smallest(one, given.real) if one.failed and given.reduce else reproduction(case))
    return int(one.failed)


def _smallest(one: Outcome, as_process: bool) -> str:
    case = made(one.target, one.seed, one.case)
    return reproduction(reduced(case, lambda smaller: isolated(smaller, as_process)[0] == one.outcome))


sys.exit(main())
