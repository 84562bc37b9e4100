"""The files of a run appear together or not at all, and the last message says what is on disk."""

import gc
import io
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections import namedtuple
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import manifill
from matplotlib.figure import Figure

from manifill import TableImputer
from manifill._cli import main
from manifill._files import atomic, atomic_write, excel, tables, transaction
from manifill._media.png import encoded
from manifill.errors import InvalidInput

TABLE = "é,b,c\n" + "".join(f"{i},{'' if i % 7 == 0 else 2 * i},{i % 3}\n" for i in range(40))
OUTPUTS = ["-o", "out.csv", "--draws", "2", "--report", "page.html", "--save", "m.model", "--max-sweeps", "1"]
WRITTEN = "out-draw1.csv, out-draw2.csv, m.model, page.html, out.csv"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def pictures(tmp_path):
    (tmp_path / "in").mkdir()
    y, x = np.mgrid[:16, :16]
    for i in range(3):
        pixels = (120 + 80 * np.sin((x + 2 * i) / 3) * np.cos(y / 4)).astype(np.uint8)
        pixels[5:9, 4:9] = 255
        (tmp_path / "in" / f"{i}.png").write_bytes(encoded(pixels))
    return tmp_path


def names(folder):
    return sorted(one.name for one in folder.iterdir())


def nth(function, n, action):
    """`function`, with an action before its n-th call."""
    calls = iter(range(1, 1000))

    def counted(*given, **more):
        if next(calls) == n:
            action()
        return function(*given, **more)

    return counted


def failing(number=5):
    raise OSError(number, os.strerror(number))


def write_together(folder, names, text="new"):
    """Write files in one transaction."""
    with transaction() as run:
        run.make_folder(folder)
        for name in names:
            with atomic_write(folder / name, "w") as file:
                file.write(text)


class TestTransaction:
    def test_a_failure_in_a_later_file_leaves_none(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "fsync", nth(os.fsync, 2, failing))
        with pytest.raises(OSError, match="Input/output error"):
            write_together(tmp_path / "new" / "deeper", "abc")
        assert names(tmp_path) == []

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_a_failing_rename_undoes_all(self, tmp_path, monkeypatch, n):
        (tmp_path / "a").write_text("old a")
        (tmp_path / "c").write_text("old c")
        inode = (tmp_path / "a").stat().st_ino
        monkeypatch.setattr(os, "replace", nth(os.replace, n, failing))
        with pytest.raises(OSError, match="Input/output error") as error:
            write_together(tmp_path, "abc")
        assert error.value.filename == str(tmp_path / "abc"[n - 1])
        assert names(tmp_path) == ["a", "c"]
        assert (tmp_path / "a").read_text() == "old a"
        assert (tmp_path / "c").read_text() == "old c"
        assert (tmp_path / "a").stat().st_ino == inode

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_signals_wait_for_the_renames(self, tmp_path, monkeypatch, n):
        (tmp_path / "a").write_text("old")
        interrupt = lambda: signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(os, "replace", nth(os.replace, n, interrupt))
        with pytest.raises(KeyboardInterrupt):
            write_together(tmp_path, "abc")
        assert [(tmp_path / name).read_text() for name in names(tmp_path)] == ["new"] * 3
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_files_without_hard_links_are_copied_to_be_put_back(self, tmp_path, monkeypatch):
        (tmp_path / "a").write_text("old")
        monkeypatch.setattr(os, "link", lambda *_: failing(1))
        monkeypatch.setattr(os, "replace", nth(os.replace, 2, failing))
        with pytest.raises(OSError, match="Input/output error"):
            write_together(tmp_path, "ab")
        assert names(tmp_path) == ["a"]
        assert (tmp_path / "a").read_text() == "old"

    def test_an_interrupt_right_after_the_temporary_file_was_created(self, tmp_path, monkeypatch):
        original = os.open

        def created(path, *rest):
            handle = original(path, *rest)
            if ".manifill-" in str(path):
                os.close(handle)
                raise KeyboardInterrupt
            return handle

        monkeypatch.setattr(os, "open", created)
        with pytest.raises(KeyboardInterrupt), atomic_write(tmp_path / "a", "w"):
            pass
        assert names(tmp_path) == []

    def test_a_file_whose_writing_failed_is_not_put_in_place(self, tmp_path):
        with transaction():
            with pytest.raises(ZeroDivisionError), atomic_write(tmp_path / "a", "w") as file:
                file.write(str(1 / 0))
            with atomic_write(tmp_path / "b", "w") as file:
                file.write("b")
        assert names(tmp_path) == ["b"]

    def test_pipes_get_their_content_after_the_renames(self, tmp_path, monkeypatch):
        order = []
        monkeypatch.setattr(os, "replace", nth(os.replace, 1, lambda: order.append("rename")))
        stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", stdout)
        monkeypatch.setattr(atomic, "_send", nth(atomic._send, 1, lambda: order.append("send")))
        with transaction():
            with atomic.standard_output("utf-8") as file:
                file.write("é\n")
            with atomic_write(tmp_path / "a", "w") as file:
                file.write("a")
        assert order == ["rename", "send"]
        assert stdout.buffer.getvalue() == "é\n".encode()


def test_temporary_files_of_libraries_are_removed_after_an_interrupt():
    before, made = tempfile.tempdir, []

    def interrupted():
        with excel.temporary_files():
            made.append(Path(tempfile.mkstemp()[1]))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert tempfile.tempdir == before
    assert not made[0].parent.exists()


class TestErrorsNameTheFile:
    def test_folders_and_missing_folders(self, tmp_path):
        imputer = TableImputer(random_state=0).fit(pd.DataFrame({"x": [1.0, 2, None], "y": [1.0, 2, 3]}))
        with pytest.raises(InvalidInput, match="is a folder"):
            imputer.save(tmp_path)
        with pytest.raises(FileNotFoundError) as error:
            imputer.save(tmp_path / "none" / "x.model")
        assert error.value.filename == str(tmp_path / "none" / "x.model")

    def test_errors_without_a_number(self, tmp_path):
        problem = OSError("3 requested and 0 written")  # as numpy says it
        with pytest.raises(OSError, match=str(problem)) as error, atomic_write(tmp_path / "a", "w"):
            raise problem
        assert error.value.filename == str(tmp_path / "a")

    def test_the_command_line_prints_them_in_one_line(self, folder, monkeypatch):
        monkeypatch.setattr(os, "fsync", lambda _: failing(28))
        result = manifill("impute", "in.csv", "-o", "out.csv", folder=folder)
        assert result.returncode == 1
        assert result.stderr == "manifill: out.csv: No space left on device.\n"

    def test_too_little_space_is_found_before_the_work(self, folder, monkeypatch):
        monkeypatch.setattr(TableImputer, "iter_fit", lambda *_: pytest.fail("the fit was started"))
        usage = namedtuple("usage", "total used free")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 1000))
        result = manifill("impute", "in.csv", *OUTPUTS, folder=folder)
        assert result.returncode == 1
        assert "Writing 5 files as large as in.csv needs about 1.5 kB, and " in result.stderr
        assert "has 1.0 kB free" in result.stderr

    def test_a_failing_excel_file_has_no_second_message(self, folder, monkeypatch):
        """openpyxl leaves its archive open after an error; its destructor must not write again."""
        lost = []

        class Full(io.FileIO):
            def write(self, data):
                failing(28)

        @contextmanager
        def full(path, mode):
            with Full(path, mode) as file:
                yield file

        monkeypatch.setattr(sys, "unraisablehook", lost.append)
        monkeypatch.setattr(tables, "atomic_write", full)
        table = tables.read(folder / "in.csv")
        with pytest.raises(OSError, match="No space left"):
            tables.write(table, {}, folder / "x.xlsx")
        gc.collect()
        assert lost == []


class TestRuns:
    def test_a_failing_contact_sheet_leaves_no_pictures(self, pictures, monkeypatch):
        monkeypatch.setattr("manifill.report.restoration.draw_sheet", lambda *_: failing(28))
        options = ["--value", "255", "--sheet", "sheet.png"]
        result = manifill("images", "in", "-o", "out", *options, folder=pictures)
        assert result.returncode == 1
        assert names(pictures) == ["in"]

    def test_pictures_are_written_into_an_existing_folder(self, pictures):
        (pictures / "out").mkdir(mode=0o700)
        inode = (pictures / "out").stat().st_ino
        result = manifill("images", "in", "-o", "out", "--value", "255", folder=pictures)
        assert result.returncode == 0, result.stderr
        assert names(pictures / "out") == ["0.png", "1.png", "2.png"]
        found = (pictures / "out").stat()
        assert (found.st_ino, stat.S_IMODE(found.st_mode)) == (inode, 0o700)

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_while_files_are_written(self, folder, monkeypatch, number, code):
        monkeypatch.setattr(TableImputer, "save", lambda *_: signal.raise_signal(number))
        result = manifill("impute", "in.csv", *OUTPUTS, folder=folder)
        assert result.returncode == code
        what = "interrupted" if code == 130 else "terminated"
        assert result.stderr == f"manifill: {what}; nothing was written.\n"
        assert names(folder) == ["in.csv"]

    def test_a_signal_after_the_files_were_written(self, folder, monkeypatch):
        monkeypatch.setattr("manifill._cli.impute.summary_of", lambda *_: signal.raise_signal(signal.SIGINT))
        result = manifill("impute", "in.csv", *OUTPUTS, folder=folder)
        assert result.returncode == 130
        assert result.stderr == f"manifill: interrupted; all files had been written already: {WRITTEN}.\n"
        assert names(folder) == sorted(["in.csv", *WRITTEN.split(", ")])

    def test_a_signal_whose_exception_is_lost_still_ends_the_run(self, folder, monkeypatch):
        class Deleted:
            def __del__(self):
                signal.raise_signal(signal.SIGTERM)

        monkeypatch.setattr(TableImputer, "save", lambda *_: Deleted() and None)
        result = manifill("impute", "in.csv", *OUTPUTS, folder=folder)
        assert result.returncode == 143
        assert names(folder) == ["in.csv"]
        assert "Exception ignored" not in result.stderr

    def test_a_second_signal_does_not_disturb_the_cleaning_up(self, folder, monkeypatch):
        monkeypatch.setattr(TableImputer, "save", lambda *_: signal.raise_signal(signal.SIGINT))
        abandon = atomic.Transaction.abandon
        monkeypatch.setattr(
            atomic.Transaction,
            "abandon",
            lambda run: (signal.raise_signal(signal.SIGTERM), abandon(run)),
        )
        result = manifill("impute", "in.csv", *OUTPUTS, folder=folder)
        assert result.returncode == 130
        assert names(folder) == ["in.csv"]

    @pytest.mark.parametrize(
        ("arguments", "place"),
        [
            (["ampute", "in.csv", "-o", "out.csv"], "manifill._files.text.Layout.write"),
            (["example", "files"], "manifill._cli.example._clip"),
            (["demo", "--picture", "demo.png"], "manifill._cli.demo.fit_watched"),
        ],
    )
    def test_other_commands_say_it_too(self, folder, monkeypatch, arguments, place):
        monkeypatch.setattr(place, lambda *_, **__: signal.raise_signal(signal.SIGINT))
        result = manifill(*arguments, folder=folder)
        assert result.returncode == 130
        assert result.stderr.endswith("manifill: interrupted; nothing was written.\n")
        assert names(folder) == ["in.csv"]

    def test_the_picture_of_the_demo_is_replaced_when_it_is_complete(self, folder, monkeypatch):
        (folder / "demo.png").write_text("old")

        def savefig(_, file, **options):
            file.write(b"half")
            failing(28)

        monkeypatch.setattr(Figure, "savefig", savefig)
        monkeypatch.setattr("manifill._cli.demo.fit_watched", lambda _, X: np.nan_to_num(X))
        result = manifill("demo", "--picture", "demo.png", folder=folder)
        assert result.returncode == 1
        assert (folder / "demo.png").read_text() == "old"

    def test_too_little_memory_is_one_message(self, folder, monkeypatch):
        def hungry(*_):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(TableImputer, "iter_fit", hungry)
        result = manifill("impute", "in.csv", "-o", "out.csv", folder=folder)
        assert result.returncode == 1
        assert result.stderr == "manifill: there is not enough memory for this.\n"


class TestStandardStreams:
    def run(self, monkeypatch, folder, stdout, *arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["manifill", *arguments])
        monkeypatch.setattr(sys, "stdout", stdout)
        with pytest.raises(SystemExit) as ending:
            main()
        return ending.value.code

    def test_data_are_always_utf_8(self, folder, monkeypatch):
        stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        assert self.run(monkeypatch, folder, stdout, "impute", "in.csv", "-o", "-") == 0
        assert stdout.buffer.getvalue().decode("utf-8").startswith("é,b,c\n0,")

    def test_tables_for_people_are_spelled_in_the_letters_of_the_terminal(self, folder, monkeypatch):
        stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        assert self.run(monkeypatch, folder, stdout, "inspect", "in.csv") == 0
        text = stdout.buffer.getvalue().decode("ascii")
        assert "###" in text
        assert " e " in text

    def test_closed_output_is_refused_before_the_work(self, folder, monkeypatch, capsys):
        monkeypatch.setattr(TableImputer, "iter_fit", lambda *_: pytest.fail("the fit was started"))
        assert self.run(monkeypatch, folder, None, "impute", "in.csv", "-o", "-") == 2
        assert "Standard output is closed" in capsys.readouterr().err

    @pytest.mark.parametrize("command", [["impute", "-o", "-"], ["inspect"]])
    def test_a_reader_that_has_gone_is_no_traceback(self, folder, command):
        reader, writer = os.pipe()
        os.close(reader)
        arguments = [sys.executable, "-m", "manifill", command[0], "in.csv", *command[1:]]
        done = subprocess.run(arguments, cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        assert done.returncode == 1
        assert done.stderr == ""


def test_signals_are_handled_before_the_imports():
    """Importing the command line imports nothing that takes long."""
    code = "import sys, manifill._cli; print(sorted({'numpy', 'scipy', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_exit_code_does_not_depend_on_the_moment_of_the_interrupt(tmp_path):
    """A KeyboardInterrupt in `exec` makes `python -m` end by a signal, unless it is told otherwise."""
    code = (
        "import manifill._cli.app as app; from manifill._cli import main\n"
        "app.run = lambda: exec('raise KeyboardInterrupt')\n"
        "main()"
    )
    (tmp_path / "started.py").write_text(code)
    command = [sys.executable, "-m", "started"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "manifill: interrupted; nothing was written.\n"


def test_exit_codes_are_in_the_help_text(folder):
    text = manifill("--help", folder=folder).stdout
    assert "Exit codes: 0 done; 1 failed" in text


def test_input_replaced_in_place_is_read_to_the_end(folder):
    files_before = names(folder)
    result = manifill("impute", "in.csv", "-o", "in.csv", "--force", folder=folder)
    assert result.returncode == 0, result.stderr
    assert names(folder) == files_before
    table = tables.read(folder / "in.csv")
    assert len(table) == 40
    assert not any(table.column(name).missing.any() for name in table.names)
