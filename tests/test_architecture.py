"""Imports follow the layers of ARCHITECTURE.md; heavy libraries are imported only in their packages."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "manifill"
DOCUMENT = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
OWNERS = {
    "sklearn": {"_estimators", "_cli", "_fillers"},
    "matplotlib": {"plots", "report", "_experiments", "_cli"},
    "plotly": {"plots"},
    "jinja2": {"report"},
    "pooch": {"datasets"},
    "PIL": {"_media"},
    "tifffile": {"_media"},
    "imagecodecs": {"_media"},
    "av": {"_media"},
    "typer": {"_cli"},
    "rich": {"_cli"},
    "pandas": set(),
    "polars": set(),
    "pyarrow": {"tables", "_files"},
    "openpyxl": {"_files"},
    "duckdb": {"_files"},
    "python_calamine": {"_files"},
    "narwhals": {"tables"},
    "torch": {"_devices"},
    "numba": {"_compiled"},
    "joblib": {"_threads"},
    "dask": set(),
}
OPTIONS = {"auto", "observed", "even"}
MODULES = sorted(SOURCE.rglob("*.py"))
JOBS = 12


def table_after(heading):
    """First cells of the first table below a heading of the document."""
    rows = DOCUMENT.split(f"## {heading}\n")[1].split("\n## ")[0].split("\n|---|---|\n")[1]
    return [line.split("|")[1].strip() for line in rows.split("\n\n")[0].splitlines()]


LAYERS = [cell.strip("`") for cell in table_after("The packages, from the ground up")]


def package(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path):
    """Full names of the modules that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: use absolute imports"
            yield node.module
            if node.module == "manifill":
                yield from (f"manifill.{alias.name}" for alias in node.names)


def layer_of(name):
    inside = name.removeprefix("manifill").lstrip(".").split(".")[0]
    return inside if inside in LAYERS else "__init__"


def test_the_document_lists_every_package_once():
    assert len(set(LAYERS)) == len(LAYERS)
    assert {package(path) for path in MODULES} == set(LAYERS)


def test_every_job_has_one_row():
    jobs = table_after("Where each job is done")
    assert len(jobs) == len(set(jobs)) == JOBS


def test_modules_named_in_the_document_exist():
    for name in re.findall(r"`(_?[a-z]+(?:/[a-z_]+)+)`", DOCUMENT):
        found = [SOURCE / name, SOURCE / f"{name}.py", SOURCE.parents[1] / name]
        assert any(path.exists() for path in found), f"ARCHITECTURE.md names {name}, which does not exist"


def upward_imports(own, names):
    """The names of modules in layers above `own`."""
    ours = [name for name in names if name.split(".")[0] == "manifill"]
    return [name for name in ours if LAYERS.index(layer_of(name)) > LAYERS.index(own)]


def test_upward_imports_are_found():
    names = ["numpy", "manifill._estimators.table", "manifill._arrays", "manifill"]
    assert upward_imports("_problem", names) == ["manifill._estimators.table", "manifill"]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_modules_import_only_from_lower_layers(path):
    assert upward_imports(package(path), imported(path)) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_heavy_libraries_are_imported_only_in_their_packages(path):
    for name in imported(path):
        owners = OWNERS.get(name.split(".")[0])
        assert owners is None or package(path) in owners, f"{package(path)} must not import {name}"


LIBRARY = [path for path in MODULES if LAYERS.index(package(path)) < LAYERS.index("_estimators")]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_below_the_estimators_prints(path):
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [call for call in calls if getattr(call.func, "id", None) == "print"]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_string_options_are_compared_by_is_option(path):
    """`value == "auto"` fails if the value is an array; `is_option` does not."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            compared = [node.left, *node.comparators]
            options = {one.value for one in compared if isinstance(one, ast.Constant)} & OPTIONS
            assert not options, (
                f"{path.name}:{node.lineno} compares with {options}; use manifill._checks.is_option"
            )
