"""Self-contained HTML page of all experiments: claims, pictures, numbers."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from manifill.report.html import data_uri, render

# Maximum number of CSV lines shown per experiment.
_MAX_LINES = 200
# Media types of the files embedded in the page, by suffix. Other files are linked: they are large HTML pages.
_EMBEDDED = {".mp4": "video/mp4", ".gif": "image/gif"}


def page(records: Sequence[Mapping[str, Any]], folder: Path) -> str:
    """HTML text for these records; their pictures and numbers are read from the folder."""
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
    """Whether the experiment ran on synthetic data because the real data were not found."""
    return str(record["data"]).startswith("SYNTHETIC")


def _section(record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The record with the contents of its files, as the template needs it."""
    with (folder / f"{record['experiment']}.csv").open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    return {
        **record,
        "synthetic": is_synthetic(record),
        "pictures": [(name, data_uri((folder / f"{name}.png").read_bytes())) for name in record["figures"]],
        "extras": [(name, _embed(folder / name)) for name in record["extra"]],
        "header": header,
        "lines": lines[:_MAX_LINES],
        "more": len(lines) - _MAX_LINES,
        "libraries": ", ".join(f"{library} {number}" for library, number in record["versions"].items()),
    }


def _embed(path: Path) -> str | None:
    return data_uri(path.read_bytes(), _EMBEDDED[path.suffix]) if path.suffix in _EMBEDDED else None
