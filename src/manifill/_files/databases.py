"""Read tables from SQLite and DuckDB files."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from manifill._files.frame import FrameFile, Options, Origin, of_values
from manifill.errors import InvalidInput, MissingDependency

DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb")


def split_table(path: Path) -> tuple[Path, str]:
    """The file and the table of a path such as data.db::people; the table is empty if none is given."""
    file, mark, table = str(path).rpartition("::")
    return (Path(file), table) if mark and Path(file).suffix.lower() in DATABASES else (path, "")


def read_database(path: Path, table: str, options: Options, origin: Origin) -> FrameFile:
    """Read one table; its name may be left out if there is only one."""
    with path.open("rb") as file:
        sqlite = file.read(16) == b"SQLite format 3\x00"
    return _read_sqlite(path, table, options, origin) if sqlite else _read_duckdb(path, table, origin)


def _read_sqlite(path: Path, table: str, options: Options, origin: Origin) -> FrameFile:
    try:
        address = f"file:{quote(str(path.resolve()))}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as base:
            names = base.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            )
            cursor = base.execute(f"SELECT * FROM {_chosen(path, table, names.fetchall())}")
            columns = [one[0] for one in cursor.description]
            rows = cursor.fetchall()
    except sqlite3.Error as error:
        raise InvalidInput(f"{path} cannot be read as a SQLite file: {error}.") from error
    if not rows:
        raise InvalidInput(f"The table {table} of {path} has no rows; at least one is needed.")
    return of_values(columns, [list(column) for column in zip(*rows, strict=True)], options, origin)


def _read_duckdb(path: Path, table: str, origin: Origin) -> FrameFile:
    try:
        import duckdb
    except ImportError:
        raise MissingDependency("DuckDB files need duckdb: pip install 'manifill[tables]'.") from None
    try:
        with duckdb.connect(str(path), read_only=True) as base:
            names = base.execute("SELECT table_name FROM information_schema.tables").fetchall()
            native: Any = base.sql(f"SELECT * FROM {_chosen(path, table, names)}").to_arrow_table()
    except duckdb.Error as error:
        raise InvalidInput(
            f"{path} cannot be read as a SQLite or DuckDB file: {str(error).splitlines()[0]}"
        ) from error
    return FrameFile(native, origin)


def _chosen(path: Path, table: str, rows: list[tuple[str]]) -> str:
    """The name of the table to read, quoted for SQL."""
    names = sorted(name for (name,) in rows)
    if not table and len(names) == 1:
        table = names[0]
    if table not in names:
        example = f"{path}::{names[0] if names else 'people'}"
        held = f"the tables {', '.join(names)}" if names else "no tables"
        raise InvalidInput(
            f"{path} holds {held}{f', and no table {table}' if table else ''}; name one, as in {example}."
        )
    return '"' + table.replace('"', '""') + '"'
