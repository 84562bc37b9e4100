"""Files that are written completely and together: flushing, permissions, locks, folders, pipes."""

import errno
import fcntl
import io
import os
import signal
import stat
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from manifill._files import atomic
from manifill._files.atomic import Transaction, atomic_path, atomic_write, standard_output, transaction
from manifill.errors import InvalidInput


def left_behind(folder):
    return list(folder.rglob(".manifill-*"))


def write(path, text="new"):
    with atomic_write(path, "w") as file:
        file.write(text)


@pytest.fixture
def events(monkeypatch):
    """What is flushed and renamed, in order."""
    seen = []
    fsync, replace = os.fsync, os.replace

    def recorded(handle):
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        seen.append(("flush", path.read_text() if path.is_file() else path))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    monkeypatch.setattr(
        os, "replace", lambda one, two: (seen.append(("rename", Path(two))), replace(one, two))
    )
    return seen


def test_files_are_flushed_before_and_folders_after_the_renames(tmp_path, events):
    old, new = tmp_path / "old.txt", tmp_path / "made" / "deep" / "new.txt"
    old.write_text("before")
    with transaction() as run:
        run.make_folder(new.parent)
        write(old, "one")
        write(new, "two")
    assert events[:4] == [("flush", "one"), ("flush", "two"), ("rename", old), ("rename", new)]
    folders = {tmp_path, tmp_path / "made", new.parent}
    assert {path for kind, path in events[4:] if kind == "flush"} == folders
    assert (old.read_text(), new.read_text()) == ("one", "two")
    assert left_behind(tmp_path) == []
    assert run.written == [str(old), str(new)]
    assert run.outcome == f"all files had been written already: {old}, {new}"


def test_former_files_are_copied_and_flushed_where_there_are_no_hard_links(tmp_path, events, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("before")
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no links")))
    write(path)
    assert events[:3] == [("flush", "new"), ("flush", "before"), ("rename", path)]
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o777, 0o1755])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("before")
    path.chmod(mode)
    with atomic_path(path) as temporary:
        assert (
            stat.S_IMODE(temporary.stat().st_mode) & ~(mode & 0o777 | 0o600) == 0
        )  # nobody else can read it
        assert os.access(temporary, os.R_OK | os.W_OK)
        temporary.write_text("new")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "new")


@pytest.mark.parametrize(("mask", "mode"), [(0o027, 0o640), (0o020, 0o646)])
def test_new_files_have_the_permissions_of_the_process(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        write(tmp_path / "a.txt")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == mode


def test_the_owner_is_kept_if_that_is_possible(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("before")
    owners = []
    monkeypatch.setattr(os, "chown", lambda _, user, group: owners.append((user, group)))
    write(path)
    found = path.stat()
    assert owners == [(found.st_uid, found.st_gid)]
    monkeypatch.setattr(os, "chown", lambda *_: (_ for _ in ()).throw(PermissionError(errno.EPERM, "no")))
    write(path, "newer")
    assert path.read_text() == "newer"


def test_links_stay_and_their_targets_are_replaced(tmp_path):
    target, link, loop = (tmp_path / name for name in ("target.txt", "link.txt", "loop.txt"))
    target.write_text("before")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match=r"loop\.txt") as caught:
        write(loop)
    assert caught.value.errno == errno.ELOOP
    with pytest.raises(InvalidInput, match="is a folder; give the name of a file"):
        write(tmp_path)


def test_folders_of_a_failed_run_are_removed_unless_they_are_used(tmp_path):
    with pytest.raises(KeyError), transaction() as run:  # noqa: PT012
        run.make_folder(tmp_path / "a" / "b")
        run.make_folder(tmp_path / "c")
        (tmp_path / "c" / "mine.txt").write_text("")
        write(tmp_path / "a" / "b" / "x.txt")
        raise KeyError
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["c", "mine.txt"]
    assert run.outcome == "nothing was written"
    run.abandon()
    with transaction() as run:
        run.make_folder(tmp_path / "c")
    assert (tmp_path / "c").is_dir()


def test_temporary_names_are_hidden_and_keep_the_ending():
    one, two = (atomic._temporary_name(Path("/folder/a.csv")) for _ in range(2))
    assert one != two
    assert one.name.startswith(f".manifill-{os.getpid()}-")
    assert (one.suffix, one.parent) == (".csv", Path("/folder"))
    assert len(atomic._temporary_name(Path("a." + "x" * 200)).suffix) == 20


def test_folders_that_cannot_be_flushed(tmp_path, monkeypatch):
    def fails(error):
        return lambda *_: (_ for _ in ()).throw(error)

    for number in (errno.EINVAL, errno.ENOTSUP):
        monkeypatch.setattr(os, "fsync", fails(OSError(number, "no")))
        atomic._sync_folder(tmp_path)
    monkeypatch.setattr(os, "fsync", fails(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken") as caught:
        atomic._sync_folder(tmp_path)
    assert caught.value.filename == str(tmp_path)
    monkeypatch.setattr(os, "open", fails(PermissionError(errno.EACCES, "no")))
    atomic._sync_folder(tmp_path)


def test_runs_wait_for_each_other_in_a_folder_but_not_forever(tmp_path, monkeypatch):
    waits = []
    monkeypatch.setattr(atomic, "_MAX_WAIT", 0.2)
    replace = os.replace

    def replaced(one, two):
        handle = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            waits.append("free")
        except BlockingIOError:
            waits.append("locked")
        os.close(handle)
        replace(one, two)

    monkeypatch.setattr(os, "replace", replaced)
    write(tmp_path / "a.txt")
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    began = time.monotonic()
    write(tmp_path / "b.txt")
    assert 0.15 < time.monotonic() - began < 5
    threading.Timer(0.1, os.close, [handle]).start()
    monkeypatch.setattr(atomic, "_MAX_WAIT", 30.0)
    write(tmp_path / "c.txt")
    assert time.monotonic() - began < 10
    assert waits == ["locked"] * 3


class Slow(io.RawIOBase):
    """A pipe that takes three bytes at a time, and sometimes none."""

    def __init__(self):
        self.content, self.calls = b"", 0

    def write(self, data):
        self.calls += 1
        if self.calls % 3 == 0:
            return None
        self.content += bytes(data[:3])
        return len(data[:3])


def test_slow_pipes_get_everything(monkeypatch):
    sink = Slow()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=SimpleNamespace(raw=sink), flush=lambda: None))
    monkeypatch.setattr(atomic, "_CHUNK", 8)
    with transaction() as run, standard_output("utf-8") as file:
        file.write("what is written arrives")
    assert sink.content == b"what is written arrives"
    assert run.incomplete is None


def test_a_broken_pipe_is_named_and_incomplete(tmp_path, monkeypatch):
    def broken(_):
        raise BrokenPipeError(errno.EPIPE, "broken")

    monkeypatch.setattr(
        sys,
        "stdout",
        SimpleNamespace(buffer=SimpleNamespace(raw=SimpleNamespace(write=broken)), flush=lambda: None),
    )
    with pytest.raises(BrokenPipeError) as caught, transaction() as run:  # noqa: PT012
        write(tmp_path / "a.txt")
        with standard_output("utf-8") as file:
            file.write("x")
    assert caught.value.filename == "standard output"
    assert run.outcome.endswith("a.txt; standard output is incomplete")
    monkeypatch.setattr(sys, "stdout", text := io.StringIO())
    with standard_output("utf-8") as file:
        file.write("é")
    assert text.getvalue() == "é"


def test_errors_name_the_file_of_the_user():
    output = atomic._Output("out.csv", Path("out.csv"), Path(".manifill-1-2.csv"))
    other = OSError(errno.ENOENT, "gone", "other.csv")
    assert atomic._named(other, output) is other
    for found in (OSError(errno.ENOSPC, "full", "x/.manifill-1-2.csv"), OSError(errno.ENOSPC, "full")):
        named = atomic._named(found, output)
        assert (named.errno, named.filename, named.strerror) == (
            errno.ENOSPC,
            "out.csv",
            os.strerror(errno.ENOSPC),
        )
    plain = atomic._named(OSError("strange"), None, Path("given.csv"))
    assert (plain.errno, plain.strerror, plain.filename) == (errno.EIO, "strange", "given.csv")


def test_files_that_cannot_be_put_back_are_named(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    for path in paths[1:]:
        path.write_text("before")
    replace, calls = os.replace, []

    def failing(one, two):
        calls.append(two)
        if len(calls) >= 3:
            raise OSError(errno.EIO, "broken")
        replace(one, two)

    monkeypatch.setattr(os, "replace", failing)
    message = r"b\.txt is the new file and could not be put back: broken; the former file is"
    with pytest.raises(OSError, match=message) as caught, transaction():  # noqa: PT012
        for path in paths:
            write(path)
    former = Path(str(caught.value).rpartition("the former file is ")[2])
    assert former.read_text() == "before"
    assert not paths[0].exists()
    assert [path.read_text() for path in paths[1:]] == ["new", "before"]
    assert left_behind(tmp_path) == [former]


def test_discarded_outputs_are_not_written(tmp_path):
    with transaction() as run:
        kept, gone = run.add(tmp_path / "kept.txt"), run.add(tmp_path / "gone.txt")
        kept.temporary.write_text("x")
        run.discard(gone)
        stream = run.add_standard_output()
        assert stat.S_IMODE(stream.temporary.stat().st_mode) == 0o600
        run.discard(stream)
    assert [one.name for one in tmp_path.iterdir()] == ["kept.txt"]
    assert not stream.temporary.exists()
    assert Transaction().outcome == "nothing was written"


def test_signals_wait_and_handlers_are_put_back():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append("handled"))
    try:
        with atomic._deferred_signals():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            seen.append("work")
        assert seen == ["work", "handled"]  # once
        signal.raise_signal(signal.SIGTERM)
        assert seen[2:] == ["handled"]
        thread = threading.Thread(
            target=lambda: atomic._deferred_signals().__enter__() or seen.append("thread")
        )
        thread.start()
        thread.join()
        assert seen[-1] == "thread"
    finally:
        signal.signal(signal.SIGTERM, before)
