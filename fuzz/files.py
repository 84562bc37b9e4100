"""Binary and other files through `manifill impute`: valid, damaged, and with a wrong ending."""

import json
import random
from pathlib import Path
from typing import Any

from fuzz import formats, values
from fuzz.case import Case, Failure, damaged, some, some_damage
from fuzz.command import check_run
from fuzz.frames import ARROW, typed_cells
from fuzz.oracle import (
    MISSING,
    agrees,
    agrees_in_excel,
    agrees_in_type,
    check_fill,
    check_intervals,
    is_missing,
)
from fuzz.tables import check_repeats, outputs

HAS_COLUMNS = True
_ARROW_ENDINGS = (".parquet", ".feather", ".arrow")
_JSON_ENDINGS = (".json", ".jsonl")
_FAMILIES = ("number", "integer", "boolean", "label", "text", "moment", "date", "mixed", "decimal")
_ARRAYS = ("f8", "f8", "f4", ">f8", "f2", "i4", ">i8", "u1", "U8", "c16", "M8[s]", "O", "longdouble")
_OUTPUTS = (*("same",) * 6, *(".csv", ".parquet", ".xlsx", ".feather") * 2, ".npy", ".tsv", ".json")


def make(rng: random.Random) -> Case:
    """A random file of a random format."""
    ending = rng.choice([*formats.WRITERS, *_supported() * 3])
    count, width = rng.choice((1, 5, 12, 20, 40)), rng.choice((1, 2, 3, 4, 6))
    text = ending in (".csv", ".txt", ".csv.gz")  # names that may be taken for numbers are in `tables`
    names = [f"c{i}" for i in range(width)] if text else values.names(rng, width)
    kinds = [rng.choice(list(ARROW) if ending in _ARROW_ENDINGS else _FAMILIES) for _ in range(width)]
    if ending == ".npy":
        kinds = ["number"] * width
    columns = [typed_cells(rng, kind, ARROW.get(kind, kind), count) for kind in kinds]
    rows = (tuple(zip(names, kinds, strict=True)), *zip(*columns, strict=True))
    output = rng.choice(_OUTPUTS)
    form: dict[str, Any] = {
        "ending": ending,
        "array": rng.choice(_ARRAYS),
        "output": f"out{ending if output == 'same' else output}",
        "damage": some_damage(rng) if rng.random() < 0.25 else (),
    }
    if rng.random() < 0.1:
        form["named"] = rng.choice([*formats.WRITERS, ".xls", ".dat", ""])
    options = some(
        rng,
        [
            (0.15, lambda: ("--intervals", "0.9")),
            (0.0 if ending.count(".") > 1 else 0.1, lambda: ("--draws", "1")),
            (0.1, lambda: ("--types", f"{rng.choice(names)}={rng.choice(('text', 'category', 'number'))}")),
            (0.1, lambda: ("--max-sweeps", "1")),
            (0.0 if text else 0.05, lambda: ("--missing-values", "x,?")),
        ],
    )
    return Case("files", rows, form, (("--json",), *options))


def _supported() -> list[str]:
    """Endings that manifill reads."""
    from manifill._files.tables import FORMATS

    return [one for one in formats.WRITERS if one in FORMATS]


def content(case: Case) -> bytes:
    """The bytes of the file before damage; b"" if the format cannot hold the values."""
    import pyarrow as pa

    ending = case.form.get("ending", ".csv")
    columns: dict[str, list[Any]] = {}
    types: dict[str, Any] = {"": case.form.get("array", "f8")} if ending == ".npy" else {}
    for j, (name, kind) in enumerate(case.rows[0]):
        columns[name] = [row[j] for row in case.rows[1:]]
        if kind in ARROW:
            types[name] = eval(kind, {"pa": pa})
    try:
        return formats.WRITERS[ending](columns, types)
    except Exception:  # the format cannot hold these values or names
        return b""


def command(case: Case) -> tuple[dict[str, bytes], list[str], bytes]:
    """Input files, arguments of the command, and standard input."""
    source = f"in{case.form.get('named', case.form.get('ending', '.csv'))}"
    arguments = ["impute", source, "-o", case.form.get("output", "out.csv")]
    arguments += [part for option in case.options for part in option]
    return {source: damaged(content(case), case.form.get("damage", ()))}, arguments, b""


def check(case: Case, folder: Path, run: Any, again: bool) -> None:
    """Run the command and compare the values of its input and its output."""
    files, arguments, _ = command(case)
    ((source, data),) = files.items()
    (folder / source).write_bytes(data)
    ran = run(arguments, folder)
    check_run(ran, folder, files, outputs(case))
    try:
        names, rows = formats.READERS["".join(Path(source).suffixes)](data)
    except Exception:  # damaged in a way that only manifill's reader forgives: nothing to compare with
        return
    for name in outputs(case):
        _check_output(case, names, rows, name, folder, json.loads(ran.out) if ran.out else None)
    if again:
        check_repeats(folder, files, run, arguments, b"", ran)


def _check_output(
    case: Case, names: list[str], rows: list[Any], name: str, folder: Path, summary: Any
) -> None:
    ending, given = "".join(Path(name).suffixes), case.form.get("named", case.form.get("ending", ".csv"))
    sheet = given in (".xlsx", ".ods")
    if sheet:
        names, rows = _without_empty_ends(names, rows)
    try:
        found_names, found = formats.READERS[ending]((folder / name).read_bytes())
    except Exception as error:
        raise Failure("unreadable output", error) from error
    if sheet and given == ending:
        found_names, found = _without_empty_ends(found_names, found)
    if given == ".npy" and ending in formats.TEXT and len(found) < len(rows):
        found_names, found = [""] * len(found_names), [found_names, *found]  # an array has no names
    if ending in _JSON_ENDINGS and sorted(found_names) == sorted(names):
        # Records without a value for a column have no key for it, so keys may first appear in another order.
        order = [found_names.index(one) for one in names]
        found_names, found = names, [[row[i] for i in order] for row in found]
    codes = case.option("--missing-values")
    if (
        ".npy" not in (given, ending)
        and all(one.strip() for one in names)
        and found_names[: len(names)] != names
    ):
        raise Failure("names of columns", f"{names} became {found_names}")
    if given == ending and given in _ARROW_ENDINGS:
        _check_types(case, folder / name, len(names))

    same = agrees_in_type if given == ending else agrees_in_excel if ".xlsx" in (given, ending) else agrees

    def missing(cell: Any) -> bool:
        if isinstance(cell, str) and given in _ARROW_ENDINGS:  # typed files have no codes
            return False
        return is_missing(cell, MISSING if codes is None else codes.split(","))

    check_fill(
        rows,
        found,
        summary["columns"] if summary else None,
        missing=missing,
        same=same,
        named="Not filled: ",
    )
    if case.option("--intervals") and "draw" not in name:
        check_intervals(found_names, found, len(names))


def _without_empty_ends(names: list[str], rows: list[Any]) -> tuple[list[str], list[Any]]:
    """Names and rows of a sheet without the first and last columns in which no cell is filled."""
    for end, others in ((-1, slice(-1)), (0, slice(1, None))):
        while names and not names[end].strip() and all(row[end] in (None, "") for row in rows):
            names, rows = names[others], [row[others] for row in rows]
    return names, rows


def _check_types(case: Case, path: Path, width: int) -> None:
    """Columns of parquet and feather files keep their types; views of strings become strings."""
    import pyarrow.feather
    import pyarrow.parquet

    read = pyarrow.parquet.read_table if path.suffix == ".parquet" else pyarrow.feather.read_table
    files, _, _ = command(case)
    before, after = read(pyarrow.BufferReader(next(iter(files.values())))), read(path)
    types = [
        [str(kind).replace("string_view", "large_string") for kind in one.schema.types[:width]]
        for one in (before, after)
    ]
    if types[0] != types[1]:
        raise Failure("types", f"{types[0]} became {types[1]}")
