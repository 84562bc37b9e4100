"""Options of the command line: mistakes are found before the work, and names of any kind can be given."""

import json

import pytest
from command import manifill

from manifill import TableImputer
from manifill._cli import options
from manifill.errors import InvalidOption

TABLE = '"a, b",c=d,e:f,"say ""x""",start\n' + "".join(
    f"{i},{'' if i % 5 == 0 else i % 4},{2 * i},{'uvw'[i % 3]},{8 + i % 9:02}:30\n" for i in range(40)
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.csv").write_text(TABLE.replace(",12:30", ","))
    return tmp_path


@pytest.fixture
def no_fit(monkeypatch):
    """A fit fails the test."""

    def refuse(*_):
        raise AssertionError("the fit was started")

    monkeypatch.setattr(TableImputer, "iter_fit", refuse)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("zip=category,hour=cyclic:24", {"zip": "category", "hour": "cyclic:24"}),
        ('"a, b"=text, c = number', {"a, b": "text", "c": "number"}),
        ('"c=d"=category', {"c=d": "category"}),
        ('"say ""x"""=text', {'say "x"': "text"}),
        ('when="date:%b %d, %Y"', {"when": "date:%b %d, %Y"}),
        ("size=ordered:S<M<L,", {"size": "ordered:S<M<L"}),
        ("", {}),
    ],
)
def test_lists_of_names_and_values(text, found):
    assert options.types(text) == found


@pytest.mark.parametrize("text", ["zip", "zip=", "=text", '"zip=text', 'a"b=text'])
def test_lists_that_cannot_be_read_are_refused(text):
    with pytest.raises(InvalidOption, match="--types"):
        options.types(text)


def test_bounds_of_numbers_dates_and_times():
    assert options.bounds("age=0:120,price=0:") == {"age": (0.0, 120.0), "price": (0.0, None)}
    assert options.bounds("start=08:00..17:30") == {"start": ("08:00", "17:30")}
    assert options.bounds("born=2020-01-01 08:00..") == {"born": ("2020-01-01 08:00", None)}
    with pytest.raises(InvalidOption, match=r"08:00\.\.17:30"):
        options.bounds("start=08:00:17:30")


def test_columns_with_commas_and_equal_signs_can_be_named(folder):
    chosen = ["--columns", '"c=d",start', "--types", '"c=d"=category', "--bounds", "start=09:00..10:00"]
    result = manifill("impute", "in.csv", "-o", "out.csv", *chosen, "--json", folder=folder)
    assert result.returncode == 0, result.stderr
    columns = {one["name"]: one for one in json.loads(result.stdout)["columns"]}
    assert columns["c=d"]["type"] == "category"
    assert columns["c=d"]["filled"] == 8
    before, after = ((folder / name).read_text().splitlines()[1:] for name in ("in.csv", "out.csv"))
    filled = [a.split(",")[-1] for b, a in zip(before, after, strict=True) if b.endswith(",")]
    assert filled
    assert all("09:00" <= cell <= "10:00" for cell in filled)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--types", "nobody=text"], "--types names unknown columns: 'nobody'"),
        (["--types", "start=colour"], "must be one of"),
        (["--bounds", "nobody=0:1"], "--bounds names unknown columns"),
        (["--bounds", "start=1"], "--bounds of 'start'"),
        (["--columns", "nobody"], "--columns names ['nobody']"),
        (["--time", "nobody"], "--time must name a column"),
        (["--time-limit", "0"], "--time-limit must be"),
        (["--intervals", "90"], "--intervals must lie between 0 and 1"),
        (["--delimiter", "ab"], "--delimiter must be one character"),
        (["--encoding", "undefined"], "--encoding must be a known encoding"),
        (["--report", "page.pdf"], "must end in .html"),
        (["--save", "nowhere/model"], "There is no folder nowhere"),
        (["--report", "out.csv"], "must end in .html"),
    ],
)
def test_mistakes_are_found_before_the_fit(folder, no_fit, arguments, message):
    result = manifill("impute", "in.csv", "-o", "out.csv", *arguments, folder=folder)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr
    assert [path.name for path in folder.iterdir()] == ["in.csv"]


@pytest.mark.parametrize("output", ["out.docx", "nowhere/out.csv", "in.csv"])
def test_unsuitable_outputs_are_found_before_the_fit(folder, no_fit, output):
    assert manifill("impute", "in.csv", "-o", output, folder=folder).returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("ampute", "in.csv", "-o", "out.csv", "--rate", "2"),
        ("ampute", "in.csv", "-o", "out.csv", "--mechanism", "x"),
        ("compare", "in.csv", "--share", "0.9"),
        ("compare", "in.csv", "--types", "nobody=text"),
        ("inspect", "in.csv", "--types", "nobody=text"),
    ],
)
def test_mistakes_of_other_commands(folder, arguments):
    assert manifill(*arguments, folder=folder).returncode == 2


class TestDryRun:
    def test_it_shows_types_sizes_and_outputs_and_stops(self, folder, no_fit):
        (folder / "page.html").write_text("old")
        more = ["--draws", "2", "--report", "page.html", "--force", "--dry-run"]
        result = manifill("impute", "in.csv", "-o", "out.csv", *more, folder=folder)
        assert result.returncode == 0, result.stderr
        for text in ("40 rows, 5 columns", "c=d", "Would replace page.html", "Would write out-draw2.csv"):
            assert text in result.stderr
        assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "page.html"]

    def test_as_json(self, folder, no_fit):
        chosen = ["--columns", "start", "--dry-run", "--json"]
        plan = json.loads(manifill("impute", "in.csv", "-o", "out.csv", *chosen, folder=folder).stdout)
        assert plan["rows"] == 40
        assert plan["outputs"] == [{"path": "out.csv", "replaces": False}]
        to_fill = {one["name"]: one["to_fill"] for one in plan["columns"]}
        assert to_fill["c=d"] == 0
        assert to_fill["start"] > 0


def test_control_characters_of_names_do_not_reach_the_terminal(folder):
    (folder / "in.csv").write_text("a\x1b[31m,b\n" + "".join(f"{i},{i % 3 or ''}\n" for i in range(30)))
    for command in (("impute", "in.csv", "-o", "out.csv"), ("inspect", "in.csv")):
        result = manifill(*command, folder=folder)
        assert "\x1b" not in result.stdout + result.stderr
    assert manifill("inspect", "in.csv", folder=folder).stdout.count(r"a\x1b[31m") == 1
