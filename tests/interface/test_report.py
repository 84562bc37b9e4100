"""The HTML report and its display in a browser."""

import re
import shutil
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
from command import manifill

from manifill import TableImputer
from manifill.report import report, write_report
from manifill.tables import Frame

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="module")
def filled():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 3, 120)
    frame = pd.DataFrame(
        {
            "height <cm>": 150 + 10 * t,
            "town": np.array(["Rome", "Oslo", "Bern & Co"])[t.astype(int)],
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(np.round(100 * t), unit="D"),
            "smokes": pd.array(t > 1.5, dtype="boolean"),
            "income": np.exp(1 + 2 * t),
            "hour": (8 * t + 18) % 24,
            "empty": np.nan,
        }
    )
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    return frame, TableImputer({"hour": "cyclic:24"}, random_state=0).fit(frame)


def test_report_has_every_section_and_escapes_names(filled):
    frame, imputer = filled
    page = report(imputer, Frame(frame), title="<people>", seconds=1.0)
    for heading in (
        "What was missing",
        "How well",
        "Observed and filled",
        "least certain",
        "What was done",
        "The rows",
    ):
        assert heading in page
    assert "<people>" not in page
    assert "&lt;people&gt;" in page
    assert "Bern &amp; Co" in page or "height &lt;cm&gt;" in page
    assert page.count("<img ") == 6
    assert not re.search(r'(src|href)="(?!data:)', page)  # no external resources


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_browser_shows_the_report_without_console_messages(filled, tmp_path):
    frame, imputer = filled
    write_report(imputer, Frame(frame), tmp_path / "report.html", title="people")
    for width in (400, 1000):
        shot = tmp_path / f"{width}.png"
        done = subprocess.run(
            [
                *(
                    CHROMIUM,
                    *FLAGS,
                    f"--user-data-dir={tmp_path / str(width)}",
                    f"--window-size={width},3000",
                ),
                *("--enable-logging=stderr", f"--screenshot={shot}", (tmp_path / "report.html").as_uri()),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert shot.read_bytes().startswith(b"\x89PNG"), done.stderr
        assert "CONSOLE" not in done.stderr
    dump = subprocess.run(
        [
            CHROMIUM,
            *FLAGS,
            f"--user-data-dir={tmp_path / 'dump'}",
            "--dump-dom",
            (tmp_path / "report.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert dump.stdout.count("<tr>") > 20


def test_complete_table_has_a_report(tmp_path):
    frame = pd.DataFrame({"a": np.arange(30.0), "b": list("xyz") * 10})
    imputer = TableImputer(random_state=0).fit(frame)
    assert "Nothing is missing" in report(imputer, Frame(frame))


def test_letters_without_a_font_give_no_warning(tmp_path):
    cells = "".join(f"{i},{i % 3 or ''},{i % 5}\n" for i in range(40))
    (tmp_path / "in.csv").write_text("温度,湿度,x\n" + cells)
    result = manifill("impute", "in.csv", "-o", "out.csv", "--report", "page.html", folder=tmp_path)
    assert result.returncode == 0
    assert "Glyph" not in result.stderr
    assert "湿度" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("name", ["a" * 3000, "$x", "$a_$"])
def test_any_name_gives_a_report_without_warning(name):
    table = pd.DataFrame({name: [1.0, 2, 3, 4], "b": [1.0, 2, np.nan, 4]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report(TableImputer(random_state=0, max_sweeps=1).fit(table), Frame(table))
