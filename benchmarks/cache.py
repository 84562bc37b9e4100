"""Results of fills in a file, so that an interrupted benchmark resumes where it stopped."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Cache:
    """Key → value, both of plain JSON; every new value is appended to the file at once.

    Each line of the file is a list: the parts of the key, then the value.

    Parameters
    ----------
    path : file of JSON lines, created with the first value; None keeps values in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._values: dict[str, Any] = {}
        if path and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                *key, value = json.loads(line)
                self._values[json.dumps(key)] = value

    def __contains__(self, key: Iterable[Any]) -> bool:
        return json.dumps(list(key)) in self._values

    def __getitem__(self, key: Iterable[Any]) -> Any:
        return self._values[json.dumps(list(key))]

    def __setitem__(self, key: Iterable[Any], value: Any) -> None:
        self._values[json.dumps(list(key))] = value
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*key, value]) + "\n")
