"""One HTML page with everything in it: claims, pictures, numbers."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from manifill.report.html import data_uri, render

# Lines of numbers shown; the rest is in the CSV.
_LINES = 200
# Files shown within the page; others, which are large pages of their own, are linked to.
_FILMS = {".mp4": "video/mp4", ".gif": "image/gif"}


def page(records: Sequence[Mapping[str, Any]], folder: Path) -> str:
    """The page of these records, whose pictures and numbers lie in the folder."""
    done = [record for record in records if "claims" in record]
    real = [record for record in done if not is_synthetic(record)]
    claims = [claim for record in real for claim in record["claims"]]
    return render(
        "reproduction.html",
        sections=[_section(record, folder) if "claims" in record else record for record in records],
        held=sum(claim["holds"] for claim in claims),
        claims=len(claims),
        uncounted=len(real) < len(done),
        minutes=sum(record["seconds"] for record in done) / 60,
        smoke=bool(done) and done[0]["scale"] == "smoke",
    )


def is_synthetic(record: Mapping[str, Any]) -> bool:
    """Was this done with made-up data, for the real ones were not there?"""
    return str(record["data"]).startswith("SYNTHETIC")


def _section(record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A record with the contents of its files."""
    with (folder / f"{record['experiment']}.csv").open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    return {
        **record,
        "synthetic": is_synthetic(record),
        "pictures": [(name, data_uri((folder / f"{name}.png").read_bytes())) for name in record["figures"]],
        "extras": [(name, _film(folder / name)) for name in record["extra"]],
        "header": header,
        "lines": lines[:_LINES],
        "more": len(lines) - _LINES,
        "libraries": ", ".join(f"{library} {number}" for library, number in record["versions"].items()),
    }


def _film(path: Path) -> str | None:
    return data_uri(path.read_bytes(), _FILMS[path.suffix]) if path.suffix in _FILMS else None
