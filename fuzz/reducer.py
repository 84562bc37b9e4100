"""Make a failing case smaller, and print it so that it can be pasted into a shell."""

import importlib
import pprint
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from fuzz.case import Case

_SECONDS = 60.0
_LONGEST = 4000
"""Letters of a file or case that is printed."""


def reduced(case: Case, fails: Callable[[Case], bool], seconds: float = _SECONDS) -> Case:
    """A smaller case that still fails; `fails` tells whether a case fails in the same way."""
    until, improved = time.monotonic() + seconds, True
    while improved:
        improved = False
        for smaller in _smaller(case):
            if time.monotonic() > until:
                return case
            if fails(smaller):
                case, improved = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with less in them, the largest steps first."""
    table = getattr(importlib.import_module(f"fuzz.{case.target}"), "HAS_COLUMNS", False)
    first, count = int(table), len(case.rows)
    size = (count - first) // 2
    while size >= 1:
        for start in range(first, count, size):
            yield replace(case, rows=case.rows[:start] + case.rows[start + size :])
        size //= 2
    for i in range(len(case.options)):
        yield replace(case, options=case.options[:i] + case.options[i + 1 :])
    for key in case.form:
        yield replace(case, form={name: value for name, value in case.form.items() if name != key})
    for key, value in case.form.items():
        if isinstance(value, tuple) and len(value) > 1:
            for i in range(len(value)):
                yield replace(case, form={**case.form, key: value[:i] + value[i + 1 :]})
    if table:
        for j in range(len(case.rows[0])):
            if len(case.rows[0]) > 1:
                yield replace(case, rows=tuple(row[:j] + row[j + 1 :] for row in case.rows))
        yield from _shorter_cells(case)


def _shorter_cells(case: Case) -> Iterator[Case]:
    """Texts cut to half, and other cells than the first one replaced by 1."""
    for i, row in enumerate(case.rows):
        for j, cell in enumerate(row):
            shorter = [cell[: len(cell) // 2]] if isinstance(cell, str) and len(cell) > 3 else []
            for new in shorter:
                yield replace(
                    case, rows=(*case.rows[:i], (*row[:j], new, *row[j + 1 :]), *case.rows[i + 1 :])
                )


def reproduction(case: Case) -> str:
    """Lines for a shell that make the files and run the command, or the case for Python."""
    module = importlib.import_module(f"fuzz.{case.target}")
    lines = []
    if hasattr(module, "command"):
        files, arguments, given = module.command(case)
        for name, content in [*files.items(), *([("given", given)] if given else [])]:
            text = _escaped(content)
            lines.append(
                f"printf '{text}' > {name}" if len(text) < _LONGEST else f"# {name}: {len(content):,} bytes"
            )
        lines.append(f"manifill {shlex.join(arguments)}{' < given' if given else ''}")
    shown = pprint.pformat(case, width=110)
    if len(shown) < _LONGEST:
        lines.append(
            f"# or: from fuzz.case import Case; from fuzz.runner import isolated\nprint(*isolated({shown}))"
        )
    return "\n".join(lines)


def _escaped(content: bytes) -> str:
    """Bytes for printf within single quotes."""
    named = {10: "\\n", 13: "\\r", 9: "\\t", 39: "\\047", 92: "\\\\", 37: "%%"}
    return "".join(
        named.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in content
    )
