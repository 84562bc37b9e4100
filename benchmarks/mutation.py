"""Mutation testing: how many small changes of the code do the tests notice?

    python -m benchmarks.mutation --cases 400 --seed 0

A mutant is the package with one change: an operator, a comparison, a constant, a condition or a statement.
Only tests that run the changed line and take less than `FAST` seconds are run. A mutant that no test notices
is printed, to be looked at: either a test is missing, or the change has no effect.
"""

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "manifill"
PACKAGES = ("solvers", "_fillers/sweep", "_validation", "_files")
TESTS = ("unit", "equivalence", "reference", "closed_forms", "laws", "interface")
FAST = 2.0
"""Longest test that is run, in seconds."""
MOST_SECONDS = 60
"""Time after which a mutant counts as noticed: it does not end."""
MOST_TESTS = 60
"""Tests that are run for a mutant, the fastest first."""

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change: the file, its line, what was changed, and the changed source."""

    path: Path
    line: int
    what: str
    source: str

    @property
    def module(self) -> str:
        parts = self.path.relative_to(SOURCE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def changes(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Descriptions of the changes of a node, and functions that make them in place."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        new = COMPARISONS[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} → {new.__name__}", lambda n: n.ops.__setitem__(0, new())
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        operator = OPERATORS[type(node.op)]
        yield f"{type(node.op).__name__} → {operator.__name__}", lambda n: setattr(n, "op", operator())
    elif isinstance(node, ast.BoolOp):
        boolean = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"→ {boolean.__name__}", lambda n: setattr(n, "op", boolean())
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        value = not node.value if isinstance(node.value, bool) else node.value + 1
        yield f"{node.value} → {value}", lambda n: setattr(n, "value", value)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition negated", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "minus removed", lambda n: setattr(n, "op", ast.UAdd())
    elif isinstance(node, ast.Expr | ast.AugAssign) and not isinstance(
        getattr(node, "value", None), ast.Constant | ast.Yield | ast.YieldFrom
    ):
        yield "statement removed", None


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a file; annotations, docstrings and defaults of options are left alone."""
    tree = ast.parse(path.read_text())
    skipped = set()
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            skipped |= {id(one) for one in ast.walk(part)} if part is not None else set()
    nodes = list(ast.walk(tree))
    for i, node in enumerate(nodes):
        if id(node) in skipped or not hasattr(node, "lineno"):
            continue
        for what, change in changes(node):
            other = copy.deepcopy(tree)
            twin = list(ast.walk(other))[i]
            if change is None:
                other = _Replace(twin).visit(other)
            else:
                change(twin)
            yield Mutant(path, node.lineno, what, ast.unparse(ast.fix_missing_locations(other)))


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST) -> None:
        self.target = target

    def visit(self, node: ast.AST) -> Any:
        return ast.copy_location(ast.Pass(), node) if node is self.target else self.generic_visit(node)


def covering_tests(folder: Path) -> dict[tuple[str, int], list[str]]:
    """(file, line) → names of the fast tests that run it, the fastest first."""
    log = folder / "durations.json"
    arguments = [str(ROOT / "tests" / name) for name in TESTS]
    environment = {**os.environ, "COVERAGE_FILE": str(folder / "coverage"), "DURATIONS": str(log)}
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.mutation", "-p", "no:cacheprovider"),
            *("--cov=manifill", "--cov-context=test", "--cov-report=", *arguments),
        ],
        cwd=ROOT,
        env=environment,
        check=False,
        stdout=subprocess.DEVNULL,
    )
    seconds: dict[str, float] = json.loads(log.read_text())
    fast = {test for test, duration in seconds.items() if duration < FAST}
    found: dict[tuple[str, int], set[str]] = {}
    with contextlib.closing(sqlite3.connect(folder / "coverage")) as base:
        arcs = base.execute(
            "select file.path, context.context, fromno, tono from arc join file on file.id = file_id "
            "join context on context.id = context_id"
        )
        for path, context, first, last in arcs:
            test = context.partition("|")[0]
            for line in {first, last} if test in fast else ():
                found.setdefault((path, line), set()).add(test)
    return {place: sorted(tests, key=lambda one: seconds[one]) for place, tests in found.items()}


_durations: dict[str, float] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Plugin of pytest: record how long each test takes, and whether it passes."""
    passed = _durations.get(report.nodeid, 0.0) + report.duration
    _durations[report.nodeid] = passed if report.passed else float("inf")


def pytest_sessionfinish() -> None:
    """Plugin of pytest: write the durations."""
    if "DURATIONS" in os.environ:
        Path(os.environ["DURATIONS"]).write_text(json.dumps(_durations))


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the changed source instead of the file."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002
        if name != self.mutant.module:
            return None
        package = self.mutant.path.name == "__init__.py"
        return importlib.util.spec_from_file_location(
            name,
            self.mutant.path,
            loader=self,
            submodule_search_locations=[str(self.mutant.path.parent)] if package else None,
        )

    def exec_module(self, module: Any) -> None:
        exec(compile(self.mutant.source, str(self.mutant.path), "exec"), module.__dict__)


def start(mutant: Mutant, tests: list[str]) -> int:
    """Run the tests with the changed module in a forked process, which exits with 0 if all pass."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.alarm(MOST_SECONDS)
        import pytest

        sys.meta_path.insert(0, _Changed(mutant))
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-n", "0", *tests]))
    finally:
        os._exit(code)


def run(cases: int, seed: int, jobs: int) -> dict[str, Any]:
    """Try a random sample of mutants; returns counts and the mutants that no test noticed."""
    files = sorted(path for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))
    every = [mutant for path in files for mutant in mutants(path)]
    random.Random(seed).shuffle(every)
    with tempfile.TemporaryDirectory() as folder:
        tests = covering_tests(Path(folder))
    for name in ("scipy", "sklearn", "pandas", "polars", "pyarrow", "pytest", "hypothesis", "numba"):
        importlib.import_module(name)  # once, before the processes are forked
    waiting, running, survivors = every[:cases][::-1], dict[int, Mutant](), list[str]()
    began = time.monotonic()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            covering = tests.get((str(mutant.path), mutant.line), [])[:MOST_TESTS]
            if covering:
                running[start(mutant, covering)] = mutant
            else:
                survivors.append(_described(mutant) + " (no fast test runs it)")
        if running:
            child, status = os.wait()
            mutant = running.pop(child)
            if status == 0:
                survivors.append(_described(mutant))
                print(survivors[-1], flush=True)
    return {
        "mutants": min(cases, len(every)),
        "noticed": min(cases, len(every)) - len(survivors),
        "possible": len(every),
        "seed": seed,
        "seconds": round(time.monotonic() - began),
        "survivors": survivors,
    }


def _described(mutant: Mutant) -> str:
    line = mutant.path.read_text().splitlines()[mutant.line - 1].strip()
    return f"{mutant.path.relative_to(ROOT)}:{mutant.line}: {mutant.what}: {line}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = run(options.cases, options.seed, options.jobs)
    share = found["noticed"] / found["mutants"]
    print(f"{found['noticed']} of {found['mutants']} mutants were noticed ({share:.1%}).")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
