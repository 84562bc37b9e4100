"""Saved models that were changed, by bytes or in their parts, through `manifill impute --model`."""

import copy
import functools
import io
import json
import random
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.case import Case, Failure, damaged, some_damage
from fuzz.command import check_run, in_process
from fuzz.oracle import check_fill, is_missing, text_rows

_BASES = ("numbers", "mixed", "time", "one")
_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 10**9, 2**63, 1e308, -1e-308, float("nan"), float("inf"), "", "x", "__class__"),
    *(
        [],
        {},
        {"array": "array0"},
        {"class": "Gaussian", "fields": {}},
        {"class": "os.system", "fields": {"command": "id"}},
    ),
    *({"tuple": []}, {"dict": {}}, {"array": "nothing"}),
)
_DEEP = "deep"
"""Stands for a value that is nested 5,000 times."""
_ARRAY_CHANGES = (
    "nan",
    "inf",
    "huge",
    "zero",
    "empty",
    "cut",
    "transposed",
    "text",
    "int",
    "object",
    "random",
    "flat",
    "3d",
)
_MEMBER_CHANGES = ("remove", "rename", "swap", "add", "twice", "bomb", "header", "stored", "outside")


def make(rng: random.Random) -> Case:
    """One to three changes of a saved model."""
    rows = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        what = rng.choice(("bytes", "manifest", "manifest", "array", "array", "member", "json"))
        if what == "bytes":
            rows += [("bytes", *one) for one in some_damage(rng)]
        elif what == "manifest":
            rows.append(
                (
                    what,
                    rng.random(),
                    rng.choice(("set", "set", "scale", "scale", "remove", "deep")),
                    rng.randrange(len(_VALUES)),
                )
            )
        elif what == "json":
            rows.append((what, rng.random(), rng.randrange(1, 256)))
        else:
            changes = _ARRAY_CHANGES if what == "array" else _MEMBER_CHANGES
            rows.append((what, rng.random(), rng.choice(changes), rng.random()))
    return Case("models", tuple(rows), {"base": rng.choice(_BASES)})


@functools.cache
def _table(base: str) -> bytes:
    """A table to fit, as text."""
    r = np.random.default_rng(_BASES.index(base))
    lines = ["x,y,k,t,b"] if base != "one" else ["x"]
    for i in range(24):
        x = r.normal()
        cells = [
            f"{x:.3f}",
            f"{x + 0.1 * r.normal():.2f}",
            "pqr"[i % 3],
            f"2024-01-{i + 1:02}",
            ("true", "false")[i % 2],
        ]
        hole = int(r.integers(0, 5))
        if i % 3 == 0 and (base != "time" or hole != 3):
            cells[hole if base != "one" else 0] = ""
        width = {"one": 1, "numbers": 2}.get(base, 5)
        lines.append(",".join(cells[:width]))
    lines[0] = ",".join(lines[0].split(",")[: {"one": 1, "numbers": 2}.get(base, 5)])
    return ("\n".join(line or '""' for line in lines) + "\n").encode()


@functools.cache
def _saved(base: str) -> bytes:
    """The bytes of a model fitted to the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.csv").write_bytes(_table(base))
        in_process(
            [
                "impute",
                "in.csv",
                "-o",
                "out.csv",
                "--save",
                "model",
                *(["--time", "t"] if base == "time" else []),
            ],
            folder,
        )
        return (folder / "model").read_bytes()


def content(case: Case) -> bytes:
    """The changed model."""
    found = _saved(case.form.get("base", "numbers"))
    for what, place, *details in case.rows:
        if what == "bytes":
            found = damaged(found, [(place, *details)])  # type: ignore[arg-type]
            continue
        try:
            with zipfile.ZipFile(io.BytesIO(found)) as archive:
                members = {name: archive.read(name) for name in archive.namelist()}
        except Exception:  # damaged by a change before
            continue
        if what in ("manifest", "json"):
            _change_manifest(members, what, place, details)
        elif what == "array":
            _change_array(members, place, *details)
        found = _changed_members(members, place, *details) if what == "member" else _zipped(members)
    return found


def _zipped(members: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, packing)
    return file.getvalue()


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _change_manifest(members: dict[str, bytes], what: str, place: float, details: list[Any]) -> None:
    """Change one value of the JSON text, or one of its bytes."""
    try:
        text = np.load(io.BytesIO(members["manifest.npy"])).tobytes()
        if what == "json":
            changed = damaged(text, [("flip", place, details[0])])
        else:
            manifest = json.loads(text)
            _set(manifest, place, *details)
            changed = json.dumps(manifest).replace(f'"{_DEEP}"', '{"tuple": [' * 5000 + "]}" * 5000).encode()
    except (ValueError, KeyError, RecursionError, MemoryError):  # an earlier change made it unreadable
        return
    members["manifest.npy"] = _npy(np.frombuffer(changed, dtype=np.uint8))


def _set(manifest: Any, place: float, change: str, number: int) -> None:
    """Replace or remove the value at a place of the tree, counted as a share of all its values."""
    places = [
        (holder, key)
        for holder in _holders(manifest)
        for key in (holder if isinstance(holder, dict) else range(len(holder)))
    ]
    holder, key = places[int(place * len(places))]
    if change == "remove":
        del holder[key]
    elif change == "scale":
        numeric = isinstance(holder[key], int | float) and not isinstance(holder[key], bool)
        holder[key] = holder[key] * (number - 10) + number % 2 if numeric else _VALUES[number]
    elif change == "deep":
        holder[key] = _DEEP
    else:
        holder[key] = copy.deepcopy(_VALUES[number])


def _holders(data: Any) -> list[Any]:
    """All dictionaries and lists of JSON data."""
    if not isinstance(data, dict | list):
        return []
    return [data] * bool(data) + [
        one for value in (data.values() if isinstance(data, dict) else data) for one in _holders(value)
    ]


def _change_array(members: dict[str, bytes], place: float, change: str, share: float) -> None:
    names = sorted(name for name in members if name != "manifest.npy")
    if not names:
        return
    name = names[int(place * len(names))]
    try:
        array = np.load(io.BytesIO(members[name]))
    except (ValueError, MemoryError):  # an earlier change made it unreadable, or its shape too large
        return
    if change in ("nan", "inf", "huge", "random"):
        array = array.astype(float)
        spot = int(share * max(array.size - 1, 0))
        array.flat[spot : spot + 1] = {"nan": np.nan, "inf": -np.inf, "huge": 1e308, "random": share}[change]
    made = {
        "zero": lambda: np.zeros_like(array),
        "empty": lambda: array[:0],
        "cut": lambda: array[: int(share * len(array))] if array.ndim else array,
        "transposed": lambda: array.T,
        "text": lambda: array.astype(str),
        "int": lambda: np.nan_to_num(array.astype(float)).astype(np.int64),
        "object": lambda: np.array([{"x": 1}], dtype=object),
        "flat": lambda: array.ravel(),
        "3d": lambda: array[None],
    }
    with np.errstate(all="ignore"):
        members[name] = _npy(made.get(change, lambda: array)())


def _changed_members(members: dict[str, bytes], place: float, change: str, share: float) -> bytes:
    """The archive with other members."""
    names = sorted(members)
    one, other = names[int(place * len(names))], names[int(share * len(names))]
    if change == "remove":
        del members[one]
    elif change == "rename":
        members[one + "x"] = members.pop(one)
    elif change == "swap":
        members[one], members[other] = members[other], members[one]
    elif change in ("add", "outside"):
        members["../outside.npy" if change == "outside" else "more.npy"] = members[one]
    elif change == "bomb":
        members[one if share < 0.5 else "more.npy"] = _bomb()
    elif change == "header":
        members[one] = members[one].replace(b"'shape': (", b"'shape': (9999999", 1)
    elif change == "twice":
        file = io.BytesIO(_zipped(members))
        with zipfile.ZipFile(file, "a") as archive:
            archive.NameToInfo.clear()  # no warning of the second member
            archive.writestr(one, members[other])
        return file.getvalue()
    return _zipped(members, zipfile.ZIP_STORED if change == "stored" else zipfile.ZIP_DEFLATED)


@functools.cache
def _bomb() -> bytes:
    """An array that takes little room in the archive, 64 MB when unpacked, and declares 1.2 GB."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (150_000_000,)}
    )
    return head.getvalue() + bytes(64 << 20)


def command(case: Case) -> tuple[dict[str, bytes], list[str], bytes]:
    """Input files, arguments of the command, and standard input."""
    files = {"in.csv": _table(case.form.get("base", "numbers")), "in.model": content(case)}
    return files, ["impute", "in.csv", "-o", "out.csv", "--model", "in.model", "--json"], b""


def check(case: Case, folder: Path, run: Any, _: bool) -> None:
    """Load and use the model; it fills the table or is refused."""
    files, arguments, _given = command(case)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    _check_in_python(folder / "in.model")
    ran = run(arguments, folder)
    check_run(ran, folder, files, ["out.csv"])
    if _has_level_that_reads_as_missing(folder / "in.model"):
        return
    rows, found = (text_rows((folder / name).read_bytes(), ",", "utf-8") for name in ("in.csv", "out.csv"))
    if rows[0] != found[0]:
        raise Failure("names of columns", f"{rows[0]} became {found[0]}")
    summary = json.loads(ran.out)
    names = [one["name"] for one in summary["columns"]]
    columns = summary["columns"] if names == rows[0] else None
    check_fill(rows[1:], found[1:], columns, missing=is_missing, named="Not filled: ")


def _has_level_that_reads_as_missing(path: Path) -> bool:
    """Whether a category was changed to a text such as "", which cannot be told from a missing cell."""
    from manifill import TableImputer

    levels = [getattr(field.variable, "levels", ()) for field in TableImputer.load(path).fields_]
    return any(is_missing(level) for some in levels for level in some)


def _check_in_python(path: Path) -> None:
    """A loaded model answers, or raises an error of manifill's."""
    from manifill import TableImputer
    from manifill.errors import ManifillError

    try:
        imputer = TableImputer.load(path)
        str(imputer.fields_)
        str(imputer.accuracy_)
        imputer.intervals(0.9)
    except ManifillError:
        pass
