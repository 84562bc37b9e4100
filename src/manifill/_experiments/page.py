"""One HTML page with everything in it: claims, pictures, numbers."""

import base64
import csv
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1b; margin: 0 auto; max-width: 1080px;
  padding: 2rem 1.2rem; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; }
h2 { margin-top: 3.2rem; border-top: 1px solid #ddd; padding-top: 1.4rem; }
p.about, p.data { color: #555; margin: .2rem 0 1rem; }
nav a { margin-right: 1rem; white-space: nowrap; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .94rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem .7rem; border-bottom: 1px solid #e4e4e4; }
th { background: #f6f6f4; font-weight: 600; }
table.numbers td, table.numbers th { padding: .2rem .6rem; font-variant-numeric: tabular-nums; }
td.verdict { white-space: nowrap; font-weight: 600; }
td.yes { color: #006b4f; } td.no { color: #a63c00; }
img, video { max-width: 100%; height: auto; display: block; margin: 1.2rem auto; }
.synthetic { background: #fff3e0; border-left: 4px solid #e07b39; padding: .5rem .8rem; }
details { margin: .8rem 0; } summary { cursor: pointer; color: #0058a3; }
"""
# Lines of numbers shown; the rest is in the CSV.
_LINES = 200


def page(records: Sequence[Mapping[str, Any]], folder: Path) -> str:
    """The page of these records, whose pictures and numbers lie in the folder."""
    done = [record for record in records if "claims" in record]
    real = [record for record in done if not is_synthetic(record)]
    claims = [claim for record in real for claim in record["claims"]]
    held = sum(claim["holds"] for claim in claims)
    uncounted = ", those on synthetic data not counted" if len(real) < len(done) else ""
    scale = done[0]["scale"] if done else ""
    seconds = sum(record["seconds"] for record in done)
    links = "".join(
        f'<a href="#{record["experiment"]}">{escape(record["experiment"])}</a>' for record in records
    )
    smoke = (
        '<p class="synthetic">Smoke scale: this shows that everything runs; its numbers are not the '
        "paper's.</p>"
        if scale == "smoke"
        else ""
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Iterated geometric harmonics, reproduced</title><style>{_STYLE}</style></head><body>
<h1>Iterated geometric harmonics, reproduced</h1>
<p class="about">Every experiment of Eckman, Lindgren, Pearse, Sacco and Zhang, <em>Iterated geometric
harmonics for data imputation and reconstruction of missing data</em>, with the paper's own algorithm
(eigenvectors, one column at a time, fixed knobs) and with manifill's defaults, on the same holes. {held} of
{len(claims)} claims came out{uncounted}. {seconds / 60:.1f} minutes in all.</p>{smoke}
<nav>{links}</nav>
{"".join(_section(record, folder) for record in records)}
</body></html>
"""


def is_synthetic(record: Mapping[str, Any]) -> bool:
    """Was this done with made-up data, for the real ones were not there?"""
    return str(record["data"]).startswith("SYNTHETIC")


def _section(record: Mapping[str, Any], folder: Path) -> str:
    name = record["experiment"]
    head = f'<h2 id="{name}">{escape(record["title"])}</h2>'
    if "claims" not in record:
        return f'{head}<p class="synthetic">Not run: {escape(record["why"])}</p>'
    kind = "data synthetic" if is_synthetic(record) else "data"
    versions = ", ".join(f"{library} {number}" for library, number in record["versions"].items())
    return f"""{head}
<p class="{kind}">{escape(record["where"])}. Run on {escape(record["data"])}. {record["seconds"]:.0f} s, seed
{record["seed"]}.</p>
<table><tr><th>The paper</th><th>What came out</th><th></th></tr>
{"".join(_claim(claim) for claim in record["claims"])}</table>
{"".join(_picture(folder / f"{figure}.png") for figure in record["figures"])}
{"".join(_more(folder / extra) for extra in record["extra"])}
<details><summary>Numbers</summary>{_numbers(folder / f"{name}.csv")}</details>
<details><summary>How it was run</summary><p>{escape(str(record["configuration"]))};
{escape(record["machine"])}; {escape(versions)}; {escape(record["date"])}.</p></details>
"""


def _claim(claim: Mapping[str, Any]) -> str:
    verdict = (
        '<td class="verdict yes">✓ holds</td>' if claim["holds"] else '<td class="verdict no">✗ differs</td>'
    )
    reason = f"<br><em>{escape(claim['reason'])}</em>" if claim["reason"] else ""
    return f"<tr><td>{escape(claim['claim'])}</td><td>{escape(claim['found'])}{reason}</td>{verdict}</tr>"


def _picture(path: Path) -> str:
    return f'<img alt="{escape(path.stem)}" src="data:image/png;base64,{_encoded(path)}">'


def _more(path: Path) -> str:
    """A film is shown; a page of its own, which is large, is linked to."""
    caption = '<p class="about">Damaged, restored with defaults, original.</p>'
    if path.suffix == ".mp4":
        return f'<video controls loop muted src="data:video/mp4;base64,{_encoded(path)}"></video>{caption}'
    if path.suffix == ".gif":
        return f'<img alt="{escape(path.stem)}" src="data:image/gif;base64,{_encoded(path)}">{caption}'
    return f'<p><a href="{escape(path.name)}">{escape(path.name)}</a>: the same to turn with the mouse.</p>'


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode("ascii")


def _numbers(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines[:_LINES]
    )
    more = f"<p>{len(lines) - _LINES} more lines in {escape(path.name)}.</p>" if len(lines) > _LINES else ""
    return f'<table class="numbers"><tr>{head}</tr>{body}</table>{more}'
