import importlib
import pkgutil
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

import manifill
from manifill import errors

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_extra_all_includes_every_extra_except_dev_and_gpu():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.fullmatch(r"manifill\[(.*)\]", everything).group(1).split(","))
    assert named == set(extras) - {"all", "dev", "gpu"}


def test_py_typed_is_shipped():
    assert resources.files(manifill).joinpath("py.typed").is_file()


def test_public_names():
    """Users rely on these names: change them only on purpose."""
    assert manifill.__all__ == [
        "DiffusionMap",
        "GeometricHarmonics",
        "IGHImputer",
        "Sweep",
        "TableImputer",
        "__version__",
        "amputation",
        "compare",
        "datasets",
        "images",
        "impute",
        "kernels",
        "layouts",
        "metrics",
        "pool",
        "solvers",
        "tables",
        "video",
    ]
    assert all(hasattr(manifill, name) for name in manifill.__all__)


def test_public_modules():
    names = sorted(module.name for module in pkgutil.iter_modules(manifill.__path__))
    assert [name for name in names if not name.startswith("_")] == [
        "amputation",
        "datasets",
        "errors",
        "images",
        "kernels",
        "layouts",
        "metrics",
        "plots",
        "report",
        "solvers",
        "tables",
        "video",
    ]


@pytest.mark.parametrize("name", ["datasets", "kernels", "plots", "report", "solvers", "tables"])
def test_all_of_public_packages_is_sorted_and_exists(name):
    package = importlib.import_module(f"manifill.{name}")
    assert package.__all__ == sorted(set(package.__all__), key=_sort_key)
    assert all(hasattr(package, one) for one in package.__all__)


def _sort_key(name):
    """Order of `__all__`: constants, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_version_is_in_the_changelog_and_citation():
    assert f"## {manifill.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {manifill.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_error_tree_in_the_docstring_shows_every_class():
    drawn = set(re.findall(r"[├└]── (\w+)|^    (\w+)", errors.__doc__, flags=re.M))
    names = {a or b for a, b in drawn}
    defined = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert names == defined


def test_lowest_versions_are_those_of_the_project_file():
    extras = PROJECT["optional-dependencies"]
    declared = [*PROJECT["dependencies"], *(one for name in extras if name != "gpu" for one in extras[name])]
    lowest = {one.replace(">=", "==") for one in declared if not one.startswith("manifill[")}
    listed = (ROOT / "tests" / "lowest.txt").read_text().splitlines()
    assert set(listed[1:]) == lowest
