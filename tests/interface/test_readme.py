"""The code and commands of README and docs run, and print what the page shows."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from command import manifill

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def fenced(language, text):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """A folder with the files of `manifill example`."""
    folder = tmp_path_factory.mktemp("readme")
    assert manifill("example", folder=folder).returncode == 0
    return folder


def run(code):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), {})
    return printed.getvalue()


def assert_prints(printed, shown):
    """Words are equal, and numbers within 2 %: linear algebra libraries round differently."""
    cells, expected = printed.split(), shown.split()
    assert len(cells) == len(expected), printed
    for cell, other in zip(cells, expected, strict=True):
        try:
            assert float(cell.replace(",", "")) == pytest.approx(float(other.replace(",", "")), rel=0.02)
        except ValueError:
            assert cell == other


def test_readme_example_prints_what_the_page_shows(examples, monkeypatch):
    monkeypatch.chdir(examples)
    (code,) = fenced("python", README)
    (shown,) = fenced("text", README)
    assert_prints(run(code), shown)


def test_a_wrong_number_on_the_page_would_be_noticed():
    assert_prints("area 63.81", "area 63.9")
    with pytest.raises(AssertionError):
        assert_prints("area 63.81", "area 69.0")
    with pytest.raises(AssertionError):
        assert_prints("area 63.81", "radius 63.81")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, id=f"{page.stem}{i}")
        for page in GUIDE
        for i, code in enumerate(fenced("python", page.read_text(encoding="utf-8")))
    ],
)
def test_python_examples_of_the_guide_run(code, examples, monkeypatch):
    monkeypatch.chdir(examples)
    run(code)


@pytest.mark.parametrize("page", [ROOT / "README.md", *GUIDE], ids=lambda page: page.stem)
def test_commands_run(page, examples, tmp_path):
    text = page.read_text(encoding="utf-8")
    commands = [
        line for block in fenced("sh", text) for line in block.splitlines() if line.startswith("manifill ")
    ]
    (tmp_path / "example").symlink_to(examples / "example")
    for command in commands:
        words = shlex.split(command, comments=True)[1:]
        if words[0] in ("example", "reproduce", "demo"):
            continue  # these have tests of their own
        done = manifill(*words, folder=tmp_path)
        assert done.returncode == 0, (command, done.stderr)


def test_readme_names_targets_that_exist():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    named = re.findall(r"^make ([\w-]+)", "\n".join(fenced("sh", README)), flags=re.M)
    assert named
    assert set(named) <= set(targets)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        linked = page if not path else (page.parent / path)
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


def anchors(page):
    """Anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("folder", ["src", "benchmarks"])
def test_pages_that_the_code_names_exist(folder):
    for path in (ROOT / folder).rglob("*.py"):
        for name in re.findall(r"docs/[\w/]+\.md", path.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{path} names {name}"


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_lines_of_prose_are_short_enough_to_review(page):
    blocks = re.split(r"^```.*?^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith(("|", "!"))]
    assert not [line for line in lines if len(line) > 110]
