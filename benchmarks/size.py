"""Size of the source, and a check that no module or function body is too long.

python -m benchmarks.size [FOLDER] [--check]
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "manifill"
# Maximum number of lines: of a function body, and of a module without docstrings. Set by hand.
MAX_BODY, MAX_MODULE = 50, 350
SHOWN = 5

_CONSTANT = re.compile(r"_*[A-Z][A-Z0-9_]*")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Body:
    """A function: location, lines of its body without signature and docstring, whether it is exempt."""

    name: str
    lines: int
    exempt: bool


@dataclass(frozen=True)
class Module:
    """Counts of a file; `code` is the number of lines without docstrings."""

    name: str
    lines: int
    code: int
    classes: int
    constants: int
    bodies: tuple[Body, ...]

    @classmethod
    def of(cls, path: Path, folder: Path) -> "Module":
        text, name = path.read_text(encoding="utf-8"), path.relative_to(folder).as_posix()
        tree, lines = ast.parse(text), len(text.splitlines())
        return cls(
            name,
            lines,
            lines - len(_docstring_lines(tree)),
            sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
            len(set(_constants(tree.body))),
            tuple(
                Body(f"{name}:{node.lineno} {node.name}", _body_lines(node), _is_command(node))
                for node in ast.walk(tree)
                if isinstance(node, _FUNCTIONS)
            ),
        )


def measured(folder: Path) -> list[Module]:
    """Every module below a folder."""
    return [Module.of(path, folder) for path in sorted(folder.rglob("*.py"))]


def too_long(modules: list[Module]) -> list[str]:
    """One message per module and function that exceeds its limit."""
    return [
        *(
            f"{one.name} has {one.code} lines without docstrings, at most {MAX_MODULE} are allowed"
            for one in modules
            if one.code > MAX_MODULE
        ),
        *(
            f"{body.name} has a body of {body.lines} lines, at most {MAX_BODY} are allowed"
            for body in (body for one in modules for body in one.bodies)
            if body.lines > MAX_BODY and not body.exempt
        ),
    ]


def table(modules: list[Module]) -> str:
    """Totals, then the longest modules and function bodies."""
    totals = {
        "files": len(modules),
        "lines": sum(one.lines for one in modules),
        "lines without docstrings": sum(one.code for one in modules),
        "classes": sum(one.classes for one in modules),
        "module-level constants": sum(one.constants for one in modules),
    }
    longest = sorted(modules, key=lambda one: -one.code)[:SHOWN]
    bodies = sorted((body for one in modules for body in one.bodies), key=lambda one: -one.lines)[:SHOWN]
    lines = [f"{what:<26}{number:>8,}" for what, number in totals.items()]
    lines += ["", "longest modules, lines without docstrings"]
    lines += [f"{one.code:>8,}  {one.name}" for one in longest]
    lines += ["", "longest function bodies, lines without signature and docstring"]
    lines += [f"{one.lines:>8,}  {one.name}{' (a command: exempt)' * one.exempt}" for one in bodies]
    return "\n".join(lines)


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Line numbers of the docstrings of modules, classes, functions and attributes."""
    return {
        number
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and _is_docstring(node)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _constants(body: list[ast.stmt]) -> Iterator[str]:
    """Names in capitals that are assigned in these statements or inside their `if`, `try` and `with`."""
    for node in body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        elif not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            inner = (getattr(node, field, []) for field in ("body", "orelse", "finalbody"))
            yield from _constants([one for part in inner for one in part])
        names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
        yield from (name.id for name in names if _CONSTANT.fullmatch(name.id))


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    statements = function.body[1:] if _is_docstring(function.body[0]) else function.body
    if not statements:
        return 0
    first = min([statements[0], *getattr(statements[0], "decorator_list", [])], key=lambda one: one.lineno)
    return (function.end_lineno or first.lineno) - first.lineno + 1


def _is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the function is a typer command, whose options are declared in its signature."""
    return any(ast.unparse(decorator).startswith("app.command(") for decorator in function.decorator_list)


def main() -> None:
    """Print the table; with `--check`, exit with status 1 if something is too long."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.size", description="Measure the size of the source."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCE, metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="fail if a module or function is too long")
    arguments = parser.parse_args()
    modules = measured(arguments.folder)
    if not modules:
        parser.error(f"no .py files in {arguments.folder}")
    print(table(modules))
    found = too_long(modules) if arguments.check else []
    if found:
        print("", *found, sep="\n", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
