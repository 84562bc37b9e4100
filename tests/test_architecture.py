"""Imports point downward only; heavy libraries stay in their rooms."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "manifill"

# From the ground up; a room may import from rooms before it, and from itself.
FLOORS = [
    "errors",
    "checks",
    "arrays",
    "progress",
    "threads",
    "compiled",
    "devices",
    "neighbors",
    "kernels",
    "solvers",
    "harmonics",
    "diffusion",
    "metrics",
    "amputation",
    "timeline",
    "sweep",
    "tuning",
    "geometry",
    "images",
    "video",
    "uncertainty",
    "multiple",
    "pooling",
    "tables",
    "files",
    "media",
    "datasets",
    "estimators",
    "__init__",
    "plots",
    "report",
    "experiments",
    "cli",
    "__main__",
]
OWNERS = {
    "sklearn": {"estimators", "cli"},
    "matplotlib": {"plots", "report", "experiments", "cli"},
    "plotly": {"plots"},
    "pooch": {"datasets"},
    "imageio": {"datasets", "experiments"},
    "PIL": {"media"},
    "tifffile": {"media"},
    "av": {"media", "experiments"},
    "typer": {"cli"},
    "rich": {"cli"},
    "pandas": set(),
    "polars": set(),
    "pyarrow": {"tables", "files"},
    "openpyxl": {"files"},
    "narwhals": {"tables"},
    "torch": {"devices"},
    "numba": {"compiled"},
    "joblib": {"threads"},
    "dask": set(),
}
MODULES = sorted(SOURCE.rglob("*.py"))


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path):
    """Full names of the modules that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where things come from"
            yield node.module
            if node.module == "manifill":
                yield from (f"manifill.{alias.name}" for alias in node.names)


def floor_of(name):
    inside = name.removeprefix("manifill").lstrip(".").split(".")[0]
    return inside if inside in FLOORS else "__init__"


def test_every_room_is_on_the_plan():
    assert {room(path) for path in MODULES} == set(FLOORS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_downward(path):
    own = FLOORS.index(room(path))
    for name in imported(path):
        if name.split(".")[0] == "manifill":
            assert FLOORS.index(floor_of(name)) <= own, f"{room(path)} must not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_heavy_libraries_stay_in_their_rooms(path):
    for name in imported(path):
        owners = OWNERS.get(name.split(".")[0])
        assert owners is None or room(path) in owners, f"{room(path)} must not import {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_below_the_estimators_prints(path):
    if FLOORS.index(room(path)) >= FLOORS.index("estimators"):
        return
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [call for call in calls if getattr(call.func, "id", None) == "print"]


def test_architecture_document_names_every_room():
    text = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    for name in set(FLOORS) - {"__init__", "__main__"}:
        assert f"`{name}" in text, f"ARCHITECTURE.md does not speak of {name}"
