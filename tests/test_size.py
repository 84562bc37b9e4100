import subprocess
import sys

import pytest
from benchmarks.size import MAX_BODY, MAX_MODULE, SOURCE, measured, table, too_long

EXAMPLE = '''"""A module
of two lines of docstring."""

import sys

ONE, _TWO = 1, 2
THREE: int = 3
four = 4
if sys.platform:
    FIVE = 5


class Outer:
    """Has a class inside."""

    SIX = 6

    class Inner:
        pass

    def method(
        self,
    ):
        """Has two lines of body."""
        seven = 7
        return seven


@app.command()
def command():
    {many}


def short(): return 1
'''


@pytest.fixture
def example(tmp_path):
    (tmp_path / "inner").mkdir()
    many = "\n    ".join(f"x{i} = {i}" for i in range(MAX_BODY + 1))
    (tmp_path / "inner" / "a.py").write_text(EXAMPLE.format(many=many))
    return tmp_path


def test_no_module_and_no_function_is_too_long():
    assert too_long(measured(SOURCE)) == []


def test_counts_of_an_example_module(example):
    (module,) = measured(example)
    assert module.name == "inner/a.py"
    assert module.lines == len((example / "inner" / "a.py").read_text().splitlines())
    assert module.code == module.lines - 4  # docstrings of two, one and one lines
    assert module.classes == 2
    assert module.constants == 4  # ONE, _TWO, THREE, FIVE
    bodies = {body.name.split()[-1]: (body.lines, body.exempt) for body in module.bodies}
    assert bodies == {"method": (2, False), "command": (MAX_BODY + 1, True), "short": (1, False)}
    assert "classes" in table([module])


def test_long_modules_and_functions_are_reported(example):
    assert too_long(measured(example)) == []  # a command is exempt
    text = (example / "inner" / "a.py").read_text()
    (example / "long.py").write_text(text.replace("@app.command()\n", "") + "x = 1\n" * MAX_MODULE)
    first, second = too_long(measured(example))
    assert first.startswith("long.py has ")
    assert second.startswith("long.py:")
    assert f"body of {MAX_BODY + 1} lines" in second
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.size", str(example), "--check"],
        cwd=SOURCE.parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert first in done.stderr
    assert second in done.stderr
