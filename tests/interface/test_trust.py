"""Data are not changed, lost or replaced silently, and statements are true."""

import os
import stat
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command import manifill

from manifill import TableImputer
from manifill._files import atomic_write
from manifill._media.png import encoded
from manifill.errors import InvalidInput

TABLE = "a,b,c\n" + "".join(f"{i},{'' if i % 7 == 0 else 2 * i},{i % 3}\n" for i in range(40))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in.csv").write_text(TABLE)
    return tmp_path


class TestFiles:
    def test_cells_with_a_carriage_return_stay_quoted(self, folder):
        text = 't,b\n"a\rb",1\nc,2\n"a\rb",\nc,4\n' * 1
        (folder / "cr.csv").write_text(text, newline="")
        assert manifill("impute", "cr.csv", "-o", "out.csv", folder=folder).returncode == 0
        before, after = (pd.read_csv(folder / name, engine="c") for name in ("cr.csv", "out.csv"))
        assert after.shape == before.shape
        assert after["t"].tolist() == before["t"].tolist()

    def test_replaced_files_keep_their_permissions(self, folder):
        (folder / "out.csv").write_text("private")
        (folder / "out.csv").chmod(0o600)
        assert manifill("impute", "in.csv", "-o", "out.csv", "--force", folder=folder).returncode == 0
        assert stat.S_IMODE((folder / "out.csv").stat().st_mode) == 0o600
        assert (folder / "out.csv").read_text().startswith("a,b,c")

    def test_new_files_have_the_permissions_of_the_umask(self, folder):
        before = os.umask(0o027)
        try:
            manifill("impute", "in.csv", "-o", "out.csv", folder=folder)
        finally:
            os.umask(before)
        assert stat.S_IMODE((folder / "out.csv").stat().st_mode) == 0o640

    def test_named_pipes_are_written_to_and_stay(self, folder):
        os.mkfifo(folder / "pipe.csv")
        received = []
        thread = threading.Thread(target=lambda: received.append((folder / "pipe.csv").read_text()))
        thread.start()
        result = manifill("impute", "in.csv", "-o", "pipe.csv", folder=folder)
        thread.join(30)
        assert result.returncode == 0, result.stderr
        assert (folder / "pipe.csv").is_fifo()
        assert received[0].startswith("a,b,c")

    def test_a_link_to_itself_is_refused(self, folder):
        (folder / "loop.csv").symlink_to("loop.csv")
        result = manifill("impute", "in.csv", "-o", "loop.csv", folder=folder)
        assert result.returncode == 2
        assert "Traceback" not in result.stderr
        assert "loop.csv" in result.stderr

    def test_a_file_that_changes_during_the_run_is_noticed(self, folder, monkeypatch):
        original = TableImputer.iter_fit

        def changed(imputer, table):
            yield from original(imputer, table)
            with (folder / "in.csv").open("a") as file:
                file.write("99,,1\n")

        monkeypatch.setattr(TableImputer, "iter_fit", changed)
        result = manifill("impute", "in.csv", "-o", "out.csv", folder=folder)
        assert result.returncode == 1
        assert "in.csv was changed while it was being filled" in result.stderr
        assert sorted(path.name for path in folder.iterdir()) == ["in.csv"]

    def test_tab_separated_csv_files_stay_so(self, folder):
        (folder / "tab.csv").write_text(TABLE.replace(",", "\t"))
        assert manifill("impute", "tab.csv", "-o", "out.csv", folder=folder).returncode == 0
        assert (folder / "out.csv").read_text().startswith("a\tb\tc\n")

    @pytest.mark.parametrize("dtype", [">f8", ">f4", "<f8"])
    def test_arrays_of_any_byte_order_are_read(self, folder, dtype):
        X = np.sin(np.arange(60.0)).reshape(20, 3)
        X[::6, 1] = np.nan
        np.save(folder / "in.npy", X.astype(dtype))
        result = manifill("impute", "in.npy", "-o", "out.npy", folder=folder)
        assert result.returncode == 0, result.stderr
        assert np.isfinite(np.load(folder / "out.npy")).all()

    def test_archives_with_the_ending_of_an_array_are_refused(self, folder):
        with (folder / "in.npy").open("wb") as file:
            np.savez(file, a=np.zeros((3, 2)))
        result = manifill("impute", "in.npy", "-o", "out.npy", folder=folder)
        assert result.returncode == 1
        assert "one array" in result.stderr

    def test_an_error_of_the_system_names_the_file(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with (
            pytest.raises(OSError, match=r"No space left on device: '.*out\.txt'"),
            atomic_write(tmp_path / "out.txt", "w") as file,
        ):
            file.write("x")
        assert list(tmp_path.iterdir()) == []


class TestFormatsThatCannotHoldTheTable:
    """They are refused before the fit."""

    def test_times_finer_than_milliseconds_are_refused(self, folder):
        cells = [f"2020-01-{1 + i:02} 00:00:00.{123000 + (i == 7)}" for i in range(30)]
        rows = [f"{one},{'' if i % 5 == 0 else i}" for i, one in enumerate(cells)]
        (folder / "times.csv").write_text("\n".join(["a,b", *rows]) + "\n")
        assert (
            "exact to milliseconds" in manifill("impute", "times.csv", "-o", "o.xlsx", folder=folder).stderr
        )
        rows[7] = rows[7].replace("123001", "123000")
        (folder / "times.csv").write_text("\n".join(["a,b", *rows]) + "\n")
        assert manifill("impute", "times.csv", "-o", "o.xlsx", folder=folder).returncode == 0

    @pytest.mark.parametrize(
        ("cell", "output", "message"),
        [
            (str(2**53 + 1), "out.xlsx", "2^53"),
            (str(2**53 + 1), "out.npy", "2^53"),
            ("x" * 40_000, "out.xlsx", "40,000 characters"),
            ("a\x01b", "out.xlsx", "a control character"),
            ("word", "out.npy", "numbers only"),
        ],
    )
    def test_they_are_refused(self, folder, monkeypatch, cell, output, message):
        cells = [cell if i == 3 else f"{cell[0]}{i % 4}" for i in range(30)]
        rows = "".join(f"{one},{'' if i % 5 == 0 else i}\n" for i, one in enumerate(cells))
        (folder / "wide.csv").write_text("a,b\n" + rows)
        monkeypatch.setattr(TableImputer, "iter_fit", lambda *_: pytest.fail("the fit was started"))
        result = manifill("impute", "wide.csv", "-o", output, folder=folder)
        assert result.returncode == 2
        assert message in result.stderr
        assert not (folder / output).exists()

    @pytest.mark.parametrize(("number", "output"), [(2**70, "out.parquet"), (2**53 + 1, "out.feather")])
    def test_long_whole_numbers_are_kept_exactly(self, folder, number, output):
        cells = [str(number if i == 3 else i % 4) for i in range(30)]
        rows = "".join(f"{one},{'' if i % 5 == 0 else i}\n" for i, one in enumerate(cells))
        (folder / "wide.csv").write_text("a,b\n" + rows)
        result = manifill("impute", "wide.csv", "-o", output, folder=folder)
        assert result.returncode == 0, result.stderr
        read = pd.read_parquet if output.endswith("parquet") else pd.read_feather
        assert read(folder / output)["a"].astype(str).tolist() == cells

    def test_control_characters_in_categories_do_not_fit_into_sheets(self, folder):
        categories = pd.Categorical(["a\x01b", "c", None, "c"] * 5)
        pd.DataFrame({"t": categories, "x": np.arange(20.0)}).to_parquet(folder / "c.parquet")
        result = manifill("impute", "c.parquet", "-o", "out.xlsx", folder=folder)
        assert result.returncode == 2
        assert "column 't' has a control character" in result.stderr

    def test_control_characters_around_numbers_do_not_fit_into_sheets(self, folder):
        """Such numbers are written as text."""
        (folder / "c.csv").write_text(
            "a,b,c\n,$43.7\x1d,1180591620939579517417\n1,$88.84,1180591620969881619862\n"
        )
        result = manifill("impute", "c.csv", "-o", "out.xlsx", folder=folder)
        assert result.returncode == 2
        assert "column 'b' has a control character" in result.stderr

    def test_carriage_returns_do_not_fit_into_sheets(self, folder):
        """Readers of .xlsx files take a carriage return for a line feed."""
        (folder / "cr.csv").write_text('t,b\n"a\rb",1\nc,2\n"a\rb",\nc,4\n', newline="")
        assert manifill("impute", "cr.csv", "-o", "out.xlsx", folder=folder).returncode == 2


class TestOptionsAreCheckedBeforeTheWork:
    def test_intervals_do_not_fit_into_an_array_file(self, folder):
        result = manifill("impute", "in.csv", "-o", "out.npy", "--intervals", "0.9", folder=folder)
        assert result.returncode == 2
        assert ".npy" in result.stderr

    def test_a_name_that_intervals_need_is_refused(self, folder, monkeypatch):
        (folder / "low.csv").write_text(TABLE.replace("a,b,c", "a,b,b_low"))
        monkeypatch.setattr(TableImputer, "iter_fit", lambda *_: pytest.fail("the fit was started"))
        result = manifill("impute", "low.csv", "-o", "out.csv", "--intervals", "0.9", folder=folder)
        assert "'b_low', which exists already" in result.stderr


class TestSummary:
    def test_it_does_not_deny_missing_values(self, folder):
        rows = "".join(f"{'' if i < 4 else f'word{i}'},{i % 5}\n" for i in range(30))
        (folder / "text.csv").write_text("t,b\n" + rows)
        result = manifill("impute", "text.csv", "-o", "out.csv", folder=folder)
        assert result.returncode == 0, result.stderr
        assert "othing was missing" not in result.stderr
        assert "Not filled: t" in result.stderr

    def test_columns_left_out_are_named_as_such(self, folder):
        (folder / "two.csv").write_text(TABLE.replace("\n3,6,", "\n,6,").replace("\n8,16,", "\n,16,"))
        result = manifill("impute", "two.csv", "-o", "out.csv", "--columns", "b", folder=folder)
        assert "not in --columns" in result.stderr


class TestNewRows:
    """New rows with a column of which nothing is known, as people write them."""

    @pytest.fixture(scope="class")
    @staticmethod
    def fitted():
        t = np.linspace(0, 6, 80)
        frame = pd.DataFrame(
            {
                "x": np.sin(t),
                "n": np.round(10 * t).astype(int),
                "k": np.where(t < 3, "a", "b"),
                "f": t > 2,
                "d": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.round(t * 10), unit="D"),
                "y": t,
            }
        )
        return TableImputer(random_state=0).fit(
            frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1)
        )

    @pytest.mark.parametrize("name", ["x", "n", "k", "f", "d"])
    @pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
    def test_pandas(self, fitted, name, missing):
        row = {"x": 0.5, "n": 5, "k": "a", "f": False, "d": pd.Timestamp("2026-01-06"), "y": 0.52}
        filled = fitted.transform(pd.DataFrame([{**row, name: missing}]))
        assert not filled.isna().any().any()
        if name == "k":
            assert filled["k"][0] == "a"

    @pytest.mark.parametrize("name", ["x", "n", "k", "f"])
    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    def test_polars_and_arrow(self, fitted, name, library):
        row = {"x": 0.5, "n": 5, "k": "a", "f": False, "d": pd.Timestamp("2026-01-06"), "y": 0.52}
        columns = {key: [None if key == name else value] for key, value in row.items()}
        table = pl.DataFrame(columns) if library == "polars" else pa.table(columns)
        filled = fitted.transform(table)
        value = filled[name][0] if library == "polars" else filled[name][0].as_py()
        assert value is not None

    def test_another_type_with_values_is_still_refused(self, fitted):
        row = {"x": "wrong", "n": 5, "k": "a", "f": False, "d": pd.Timestamp("2026-01-06"), "y": 0.52}
        with pytest.raises(InvalidInput, match="'x' was treated as number"):
            fitted.transform(pd.DataFrame([row]))


def test_columns_may_have_the_names_of_methods():
    frame = pd.DataFrame({"completed": [1.0, 2.0, None, 4.0], "like": [2.0, 4.0, 6.0, 8.0]})
    assert not TableImputer(random_state=0).fit_transform(frame).isna().any().any()


@pytest.mark.parametrize(
    ("name", "problem"),
    [("none", "which does not exist"), ("word", "which holds"), ("gaps", "1 values are missing")],
)
def test_unsuitable_time_columns_are_explained(name, problem):
    frame = pd.DataFrame({"x": [1.0, None, 3.0], "word": ["a", "b", "a"], "gaps": [1.0, 2.0, None]})
    with pytest.raises(InvalidInput, match=problem):
        TableImputer(time=name).fit(frame)


class TestMasksAndVideo:
    def test_masks_go_with_pictures_by_name(self, tmp_path):
        write = lambda name, pixels: (tmp_path / name).write_bytes(encoded(pixels))
        y, x = np.mgrid[:24, :24]
        for folder in ("pictures", "masks"):
            (tmp_path / folder).mkdir()
        for i, name in enumerate("abc"):
            write(
                f"pictures/{name}.png", (100 + 60 * np.sin((x + 3 * i) / 4) * np.cos(y / 5)).astype(np.uint8)
            )
        for name in "acd":
            write(f"masks/{name}.png", np.where((x < 5) & (y < 5), 255, 0).astype(np.uint8))
        result = manifill("images", "pictures", "-o", "out", "--mask", "masks", folder=tmp_path)
        assert result.returncode == 1
        assert "pictures without a mask: b; masks without a picture: d" in result.stderr
        (tmp_path / "masks" / "d.png").rename(tmp_path / "masks" / "b.png")
        result = manifill("images", "pictures", "-o", "out", "--mask", "masks", folder=tmp_path)
        assert result.returncode == 0, result.stderr

    @pytest.mark.parametrize("options", [["--frames", "1-6"], ["--box", "0,0,24,16"]])
    def test_video_without_known_pixels_is_refused(self, tmp_path, options):
        np.save(tmp_path / "in.npy", np.random.default_rng(0).integers(0, 255, (6, 16, 24)).astype(np.uint8))
        result = manifill("video", "in.npy", "-o", "out.npy", *options, folder=tmp_path)
        assert result.returncode == 1
        assert "Every pixel of every frame is damaged" in result.stderr
