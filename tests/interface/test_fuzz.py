"""The fuzzer notices planted errors, so that its silence means something."""

import os

import pytest
from fuzz import frames, tables
from fuzz.case import Case, Failure, Refused
from fuzz.command import Ran, check_run, in_process
from fuzz.reducer import reduced, reproduction
from fuzz.runner import TARGETS, fuzz, isolated, made, outcome_of

ROWS = (("a", "b"), *((str(i), "" if i % 4 == 1 else str(2 * i)) for i in range(9)))
CASE = Case("tables", ROWS, {}, (("--json",),))


def altered(change):
    """The command, with a change of its output file after it ran."""

    def run(arguments, folder, given=b""):
        ran = in_process(arguments, folder, given)
        return change(folder, ran) or ran

    return run


def kind_of(tmp_path, change, again=False):
    (tmp_path / "run").mkdir()
    with pytest.raises(Failure) as caught:
        tables.check(CASE, tmp_path / "run", altered(change), again)
    return caught.value.kind


def rewrite(old, new):
    def change(folder, ran):
        path = folder / "out.csv"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    return change


def test_a_correct_run_passes_and_a_refused_one_is_told_apart():
    assert outcome_of(CASE, again=True) == ("filled", "")
    outcome, message = outcome_of(Case("tables", ROWS, {}, (("--columns", "absent"),)))
    assert outcome == "refused"
    assert message.startswith("manifill: --columns names")


def test_a_changed_known_cell_is_noticed(tmp_path):
    assert kind_of(tmp_path, rewrite("\n8,16", "\n8,16.0")) == "known cell changed"


def test_a_missing_fill_is_noticed(tmp_path):
    assert kind_of(tmp_path, rewrite("\n1,2", "\n1,")) == "missing cell left"


def test_a_lost_row_is_noticed(tmp_path):
    assert kind_of(tmp_path, rewrite("\n8,16", "")) == "rows"


def test_a_file_left_behind_is_noticed(tmp_path):
    assert kind_of(tmp_path, lambda folder, _: (folder / ".out.csv.tmp").write_text("") and None) == "outputs"


def test_a_changed_input_is_noticed(tmp_path):
    assert kind_of(tmp_path, lambda folder, _: (folder / "in.csv").unlink()) == "input changed"


def test_results_that_differ_from_run_to_run_are_noticed(tmp_path):
    values = iter("23")
    change = lambda folder, ran: rewrite("\n1,2", f"\n1,{next(values)}")(folder, ran)
    assert kind_of(tmp_path, change, again=True) == "not repeatable"


@pytest.mark.parametrize(
    ("code", "err", "kind"),
    [
        (
            1,
            'Traceback (most recent call last):\n  File "x/manifill/a.py", line 1, in f\nKeyError: 1',
            "traceback",
        ),
        (0, "manifill: invalid value encountered in cast\n", "warning of a library"),
        (1, "manifill: one thing.\nmanifill: another.\n", "message"),
        (1, "", "message"),
        (139, "manifill: x.\n", "message"),
    ],
)
def test_bad_endings_are_noticed(tmp_path, code, err, kind):
    with pytest.raises(Failure, match=kind):
        check_run(Ran(code, b"", err), tmp_path, {}, [])


def test_a_file_left_by_a_refused_run_is_noticed(tmp_path):
    with pytest.raises(Refused):
        check_run(Ran(1, b"", "manifill: no.\n"), tmp_path, {}, ["out.csv"])
    (tmp_path / "out.csv").write_text("a")
    with pytest.raises(Failure, match="file left"):
        check_run(Ran(1, b"", "manifill: no.\n"), tmp_path, {}, ["out.csv"])


def test_changed_values_of_a_frame_are_noticed(tmp_path, monkeypatch):
    case = Case("frames", ((("a", "float64"),), *((float(i),) for i in range(6)), (None,)))
    frames.check(case, tmp_path, None, False)
    original = frames.cells_of
    values = iter((0.0, 1.0))
    monkeypatch.setattr(frames, "cells_of", lambda given: [[next(values), *original(given)[0][1:]]])
    with pytest.raises(Failure, match="known cell changed"):
        frames.check(case, tmp_path, None, False)


def test_a_process_that_dies_is_a_failure(monkeypatch):
    monkeypatch.setattr(tables, "check", lambda *_: os._exit(3))
    assert isolated(CASE)[0] == "crash: exit code 3"


def test_the_reducer_finds_the_cell_that_matters():
    rows = (("a", "b"), *(("1", "2"),) * 20, ("1", "bad"), *(("1", "2"),) * 20)
    case = Case("tables", rows, {"end": "\r\n"}, (("--json",), ("--seed", "3")))
    small = reduced(case, lambda one: any("bad" in row for row in one.rows))
    assert small == Case("tables", (("b",), ("bad",)))
    assert reproduction(small).startswith("printf 'b\\nbad\\n' > in.csv\nmanifill impute in.csv -o out.csv\n")


@pytest.mark.parametrize("target", TARGETS)
def test_cases_can_be_made_again_and_a_run_continues(target, tmp_path):
    assert made(target, 5, 3) == made(target, 5, 3) != made(target, 6, 3)
    state = tmp_path / "state.jsonl"
    options = {"processes": 1, "as_process": False, "until": 1e18, "state": state}
    first = fuzz(target, range(2), 5, **options)
    assert fuzz(target, range(3), 5, **options)[:2] == first
    assert len(state.read_text().splitlines()) == 3
