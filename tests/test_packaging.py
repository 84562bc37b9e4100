import re
import tomllib
from importlib import resources
from pathlib import Path

import manifill
from manifill import errors

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_all_is_every_extra_but_gpu():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.fullmatch(r"manifill\[(.*)\]", everything).group(1).split(","))
    assert named == set(extras) - {"all", "dev", "gpu"}


def test_types_are_shipped():
    assert resources.files(manifill).joinpath("py.typed").is_file()


def test_public_names():
    rooms = {"amputation", "datasets", "geometry", "images", "kernels", "metrics", "solvers", "sweep"}
    rooms |= {"tables", "tuning", "video"}
    names = {"DiffusionMap", "GeometricHarmonics", "IGHImputer", "TableImputer", "__version__"}
    names |= {"compare", "impute", "pool"}
    assert set(manifill.__all__) == names | rooms
    for room in rooms:
        assert all(
            hasattr(getattr(manifill, room), name) for name in getattr(getattr(manifill, room), "__all__", ())
        )


def test_version_is_in_the_changelog_and_citation():
    assert f"## {manifill.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {manifill.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_error_tree_is_drawn_as_it_is():
    drawn = set(re.findall(r"[├└]── (\w+)|^    (\w+)", errors.__doc__, flags=re.M))
    names = {a or b for a, b in drawn}
    defined = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert names == defined
