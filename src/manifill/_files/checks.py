"""Checks of output files before any work is done."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from manifill.errors import InvalidInput


def check_writable(path: Path) -> None:
    """Raise InvalidInput, before any work is done, if the path cannot be written to."""
    try:
        target = path.resolve(strict=False)
        is_folder = target.is_dir()
    except (RuntimeError, OSError) as error:  # a symbolic link to itself
        raise InvalidInput(f"{path} cannot be written to: {error}. Choose another name.") from error
    if is_folder:
        raise InvalidInput(f"{path} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent} to write {path.name} into; create it first.")
    replaced = not target.exists() or target.is_file()
    if not os.access(target.parent if replaced else target, os.W_OK):
        raise InvalidInput(f"The folder {target.parent} is not writable; choose another for {path.name}.")


def check_distinct(paths: Sequence[Path]) -> None:
    """Raise InvalidInput if two paths are the same file."""
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise InvalidInput(f"Every file needs its own name; got {', '.join(map(str, paths))}.")


def check_replaceable(path: Path, force: bool) -> None:
    """Raise InvalidInput if the path is an existing regular file and `force` is False."""
    if path.is_file() and not force:
        raise InvalidInput(f"{path} exists already; use --force to replace it.")


def check_space(source: Path, outputs: Sequence[Path]) -> None:
    """Raise InvalidInput, before any work is done, if the disk is too full for copies of the input.

    Each output is assumed to be as large as the input, a file or a folder. Pipes and devices do not count.
    """
    inside = source.iterdir() if source.is_dir() else [source]
    size = sum(one.stat().st_size for one in inside if one.is_file())
    by_disk: dict[int, list[Path]] = {}
    for path in outputs:
        target = path.resolve()
        if not target.exists() or target.is_file() or target.is_dir():
            folder = target if target.is_dir() else target.parent
            by_disk.setdefault(folder.stat().st_dev, []).append(folder)
    for folders in by_disk.values():
        free, needed = shutil.disk_usage(folders[0]).free, size * len(folders)
        if free < needed:
            raise InvalidInput(
                f"Writing {len(folders)} files as large as {source} needs about {_bytes(needed)}, and "
                f"{folders[0]} has {_bytes(free)} free. Free some space, or choose another folder."
            )


def _bytes(size: int) -> str:
    """A size for people: 1.3 kB, 2.5 GB."""
    unit = min(3, max(1, (len(str(size)) - 1) // 3))
    return f"{size / 1000**unit:,.1f} {('kB', 'MB', 'GB')[unit - 1]}"
