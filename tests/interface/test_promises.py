"""The page of promises, and mutation testing."""

import ast

from benchmarks import mutation, promises
from benchmarks.promises import Line, merged, page, worse


def line(part="floor", figure="1.00", loss=1.0, **more):
    return Line(part, "Never worse.", figure, "python -m x", loss, 0.01, **more)


def test_lines_that_were_not_measured_again_are_kept():
    former = [line(figure="old"), line("tests", figure="kept", date="2026-01-01")]
    lines = merged(former, [line(figure="new")])
    assert [(one.part, one.figure) for one in lines] == [("floor", "new"), ("tests", "kept")]
    assert "| Never worse. | kept | `python -m x` | 2026-01-01 |" in page(lines)


def test_worse_figures_are_found():
    assert worse([line()], [line(loss=1.005)]) == []
    assert worse([line()], [line(figure="1.02", loss=1.02)]) == ["Never worse. Was: 1.00. Is: 1.02."]


def test_the_page_is_that_of_the_record():
    if promises.RECORD.exists():
        lines = [Line(**one) for one in promises.json.loads(promises.RECORD.read_text())]
        assert promises.PAGE.read_text() == page(lines)


def test_repeatability_is_measured():
    (found,) = promises.repeatability(3, 0.1)
    assert found.loss < 1e-8


def test_mutants_differ_from_the_source_and_can_be_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(mutation, "SOURCE", tmp_path)
    path = tmp_path / "code.py"
    body = '    """Text."""\n    if x > 2 and x != 4:\n        print(x)\n    return -x * 1.5\n'
    path.write_text("def f(x: int) -> float:\n" + body)
    original = ast.unparse(ast.parse(path.read_text()))
    found = list(mutation.mutants(path))
    assert {one.what for one in found} >= {"Gt → GtE", "→ Or", "condition negated", "statement removed"}
    assert all(one.source != original and ast.parse(one.source) for one in found)
    assert all(one.line in (3, 4, 5) for one in found)


def test_tests_of_a_mutant_run_its_lines_or_those_that_use_it(tmp_path, monkeypatch):
    monkeypatch.setattr(mutation, "SOURCE", tmp_path)
    path = tmp_path / "code.py"
    path.write_text("A = 5\nB = A + 1\n\n\ndef f(x=7):\n    y = x + A\n    return (\n        y * 3\n    )\n")
    found = {(one.line, one.what): one for one in mutation.mutants(path)}
    lines = {key: sorted(one.lines) for key, one in found.items()}
    assert lines[1, "5 → 6"] == list(range(1, 10))  # used in a function and elsewhere
    assert lines[5, "7 → 8"] == [6, 7, 8, 9]
    assert lines[6, "Add → Sub"] == [6]
    assert lines[8, "3 → 4"] == [8]
    tests = {str(path): {6: {"broad", "narrow", "slow"}, 8: {"broad", "slow"}}}
    covering = mutation.Covering(tests, {"broad": 1.0, "narrow": 2.0, "slow": 23.0})
    assert covering.of(found[6, "Add → Sub"]) == ["narrow", "broad"]
    control = mutation.replace(found[6, "Add → Sub"], what="")
    assert control.source == ast.unparse(ast.parse(path.read_text()))
