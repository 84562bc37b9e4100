"""Mutation testing: how many small changes of the code do the tests notice?

    python -m benchmarks.mutation --cases 400 --seed 0

A mutant is the package with one change: an operator, a comparison, a constant, a condition or a statement.
Only tests that run the changed line and take less than `FAST` seconds are run. A mutant that no test notices
is printed, to be looked at: either a test is missing, or the change has no effect. Some modules run without a
change, as controls: if a test notices one of them, the measurement ends with an error. Which test runs which
line is measured first, in about ten minutes; `--record FOLDER` keeps it for the next time.
"""

import argparse
import ast
import contextlib
import importlib
import importlib.abc
import importlib.util
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "manifill"
PACKAGES = ("solvers", "_fillers/sweep", "_validation", "_files")
TESTS = ("unit", "equivalence", "reference", "closed_forms", "laws", "interface")
FAST = 2.0
"""Longest test that is run, in seconds."""
MOST_SECONDS = 25.0
"""Tests that are run for a mutant take this time together at most."""
CPU_LIMIT, LIMIT = 60, 600
"""Seconds, of the processor and of the clock, after which a mutant counts as noticed: it does not end."""
MEMORY = 6 << 30
"""Bytes that a mutant may use."""
LARGE = 20
"""Larger constants are doubled, others increased by one."""

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
    """One change: file, line, what is changed, and the lines of which a test must run one to notice it."""

    path: Path
    line: int
    what: str
    node: int
    """Place of the changed node in `ast.walk` of the file."""
    lines: frozenset[int]

    @property
    def module(self) -> str:
        parts = self.path.relative_to(SOURCE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def source(self) -> str:
        """The changed source; that of a control (`what` is empty) is not changed."""
        tree = ast.parse(self.path.read_text())
        node = list(ast.walk(tree))[self.node]
        change = dict(changes(node)).get(self.what, lambda _: None)
        if change is None:
            tree = _Replace(node).visit(tree)
        else:
            change(node)
        return ast.unparse(ast.fix_missing_locations(tree))

    def __str__(self) -> str:
        line = self.path.read_text().splitlines()[self.line - 1].strip()
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.what}: {line}"


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
        value = not node.value if isinstance(node.value, bool) else _next(node.value)
        yield f"{node.value} → {value}", lambda n: setattr(n, "value", value)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition negated", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "minus removed", lambda n: setattr(n, "op", ast.UAdd())
    elif isinstance(node, ast.Expr | ast.AugAssign) and not isinstance(
        getattr(node, "value", None), ast.Constant | ast.Yield | ast.YieldFrom
    ):
        yield "statement removed", None


def _next(value: float) -> float:
    """Another number: one more row of 4,000,000 cannot be noticed, twice as many can."""
    return 2 * value if abs(value) > LARGE else value + 1


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a file; annotations, decorators and docstrings are left alone."""
    tree = ast.parse(path.read_text())
    skipped = set()
    for node in ast.walk(tree):
        annotations = (getattr(node, "annotation", None), getattr(node, "returns", None))
        for part in (*annotations, *getattr(node, "decorator_list", ())):
            skipped |= {id(one) for one in ast.walk(part)} if part is not None else set()
    lines = _lines_to_run(tree)
    for i, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped and hasattr(node, "lineno"):
            for what, _ in changes(node):
                yield Mutant(path, node.lineno, what, i, lines[id(node)])


def _lines_to_run(tree: ast.Module) -> dict[int, frozenset[int]]:
    """For each node by its id: a test that runs one of these lines may notice a change of the node.

    Inside a function these are the lines of the node. A default of a function is noticed where the function
    is run, a constant of the module where its name is used, and anything else anywhere in the file.
    """
    whole = frozenset(range(1, max((one.end_lineno or 1 for one in tree.body), default=0) + 1))
    found = {id(node): whole for node in ast.walk(tree)}
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    bodies = [range(one.body[0].lineno, (one.end_lineno or 0) + 1) for one in functions]
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            uses = {one.lineno for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id in names}
            uses -= set(range(statement.lineno, (statement.end_lineno or 0) + 1))
            known = uses and uses <= set().union(*bodies)
            found |= {id(one): frozenset(uses) if known else whole for one in ast.walk(statement)}
    for function, body in zip(functions, bodies, strict=True):
        found |= {id(one): frozenset(body) for one in ast.walk(function.args)}
    for node in (one for function in functions for part in function.body for one in ast.walk(part)):
        if hasattr(node, "lineno"):
            last = node.test if isinstance(node, ast.If | ast.While) else node
            found[id(node)] = frozenset(range(node.lineno, last.end_lineno + 1))
    return found


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST) -> None:
        self.target = target

    def visit(self, node: ast.AST) -> Any:
        return ast.copy_location(ast.Pass(), node) if node is self.target else self.generic_visit(node)


@dataclass(frozen=True)
class Covering:
    """File → line → the fast tests that run it; and the seconds of each test."""

    tests: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    @cached_property
    def sizes(self) -> Counter[str]:
        """Number of lines that each test runs."""
        return Counter(test for lines in self.tests.values() for some in lines.values() for test in some)

    def of(self, mutant: Mutant) -> list[str]:
        """Tests that may notice a mutant, for at most `MOST_SECONDS`; first those that run few lines."""
        lines = self.tests.get(str(mutant.path), {})
        found = set[str]().union(*(lines.get(line, ()) for line in mutant.lines))
        tests = sorted(found, key=lambda test: (self.sizes[test], self.seconds[test]))
        total = itertools.accumulate(self.seconds[test] for test in tests)
        return [test for test, sum_ in zip(tests, total, strict=True) if sum_ < MOST_SECONDS]


def covering_tests(folder: Path, jobs: int) -> Covering:
    """Measure which fast tests run which lines.

    The folder keeps what was found. Later calls run only the test files that changed since, or all if the
    package changed.
    """
    log, lines = folder / "durations.json", folder / "coverage"
    files = [path for name in TESTS for path in sorted((ROOT / "tests" / name).glob("test_*.py"))]
    recorded = log.stat().st_mtime if log.exists() else 0.0
    if all(path.stat().st_mtime < recorded for path in SOURCE.rglob("*.py")):
        files = [path for path in files if path.stat().st_mtime > recorded]
    else:
        log.unlink(missing_ok=True)
        lines.unlink(missing_ok=True)
    former: dict[str, float] = json.loads(log.read_text()) if log.exists() else {}
    if files:
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "-p", "benchmarks.mutation"]
        command += ["-p", "no:cacheprovider", "--cov=manifill", "--cov-context=test", "--cov-report="]
        environment = {**os.environ, "COVERAGE_FILE": str(lines), "DURATIONS": str(log)}
        append = ["--cov-append"] if former else []
        began = time.time()
        output = subprocess.run(
            [*command, *append, *map(str, files)], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        print(output.stdout[-2000:], flush=True)
        again = {str(path.relative_to(ROOT)) for path in files}
        kept = {test: second for test, second in former.items() if test.partition("::")[0] not in again}
        log.write_text(json.dumps(kept | json.loads(log.read_text())))
        os.utime(log, (began, began))  # a test that is changed meanwhile is run again the next time
    seconds: dict[str, float] = json.loads(log.read_text())
    found: dict[str, dict[int, set[str]]] = {}
    with contextlib.closing(sqlite3.connect(lines)) as base:
        arcs = base.execute(
            "select file.path, context.context, fromno, tono from arc join file on file.id = file_id "
            "join context on context.id = context_id"
        )
        for path, context, first, last in arcs:
            test = context.partition("|")[0]
            if seconds.get(test, FAST) < FAST:
                for line in (first, last):
                    found.setdefault(path, {}).setdefault(line, set()).add(test)
    return Covering(found, seconds)


_durations: dict[str, float] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Plugin of pytest: record how long each test takes, and whether it passes."""
    passed = _durations.get(report.nodeid, 0.0) + report.duration
    _durations[report.nodeid] = passed if report.passed else float("inf")


def pytest_sessionfinish() -> None:
    """Plugin of pytest: write the durations."""
    if "DURATIONS" in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
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


def start(mutant: Mutant, tests: list[str], folder: Path) -> int:
    """Run the tests with the changed module in a forked process, which exits with 0 if all pass."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.alarm(LIMIT)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        import pytest

        sys.meta_path.insert(0, _Changed(mutant))
        output = os.open(folder / f"{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        own = [f"--basetemp={folder / str(os.getpid())}", "-p", "no:cacheprovider", "-n", "0"]
        code = int(pytest.main(["-x", "-q", *own, *tests]))
    finally:
        os._exit(code)


def run(cases: int, seed: int, jobs: int, record: Path | None) -> dict[str, Any]:
    """Try a random sample of mutants; returns counts and the mutants that no test noticed."""
    files = sorted(path for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))
    every = [mutant for path in files for mutant in mutants(path)]
    random.Random(seed).shuffle(every)
    sample = every[:cases]
    controls = [replace(mutant, what="") for mutant in sample[: len(sample) // 100 + 1]]
    survivors, endless, began = list[str](), list[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        covering = covering_tests(record or folder, jobs)
        for module in ("scipy", "sklearn", "pandas", "polars", "pyarrow", "pytest", "hypothesis", "numba"):
            importlib.import_module(module)  # once, before the processes are forked
        for mutant, tests, status, output in _tried(controls + sample, covering, jobs, folder):
            if not mutant.what and status:
                raise SystemExit(f"Tests of {mutant.path.name} fail without a change:\n{output[-3000:]}")
            if mutant.what and not status:
                survivors.append(f"{mutant}" + ("" if tests else " (no fast test runs it)"))
                print(survivors[-1], flush=True)
            elif status in (signal.SIGALRM, signal.SIGXCPU, signal.SIGKILL):
                endless.append(f"{mutant}")
    return {
        "mutants": len(sample),
        "noticed": len(sample) - len(survivors),
        "possible": len(every),
        "seed": seed,
        "seconds": round(time.monotonic() - began),
        "survivors": sorted(survivors),
        "did not end": sorted(endless),
    }


def _tried(
    sample: list[Mutant], covering: Covering, jobs: int, folder: Path
) -> Iterator[tuple[Mutant, list[str], int, str]]:
    """Each mutant with its tests, the status of their process (0: all passed) and what it wrote."""
    waiting, running = sample[::-1], dict[int, tuple[Mutant, list[str]]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            tests = covering.of(mutant)
            if tests:
                running[start(mutant, tests, folder)] = mutant, tests
            else:
                yield mutant, tests, 0, ""
        if running:
            child, status = os.wait()
            output = folder / f"{child}.txt"
            yield *running.pop(child), status, output.read_text() if output.exists() else ""
            shutil.rmtree(folder / str(child), ignore_errors=True)
            output.unlink(missing_ok=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="file for the result")
    parser.add_argument("--record", type=Path, help="folder that keeps which test runs which line")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of some shells
    if options.record:
        options.record.mkdir(parents=True, exist_ok=True)
    found = run(options.cases, options.seed, options.jobs, options.record)
    share = found["noticed"] / found["mutants"]
    print(f"{found['noticed']} of {found['mutants']} mutants were noticed ({share:.1%}).")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
