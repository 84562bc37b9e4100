"""The memory of this process: what it holds, the most it held, and the most it may hold."""

import ctypes
import os
from pathlib import Path

STATUS = Path("/proc/self/status")


def total() -> float:
    """Megabytes in the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20


def held() -> float:
    """Megabytes held now."""
    return _status("VmRSS")


def most_held() -> float:
    """The most megabytes held at once, since the start or since `forget_most_held`."""
    return _status("VmHWM")


def forget_most_held() -> None:
    """Begin anew, so that what came before does not count, nor serves again unseen."""
    if STATUS.is_file():
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps what is freed, musl does not
        if trim:
            trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def limit(share: float) -> None:
    """Have requests beyond a share of the machine fail, rather than the machine end some other process."""
    import resource

    most = int(share * total() * 2**20)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _status(field: str) -> float:
    # Not getrusage where it can be helped: on Linux its maximum begins with that of the process which
    # started this one.
    if not STATUS.is_file():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024
