"""Memory of this process: current use, peak, and a limit."""

import ctypes
import os
from pathlib import Path

STATUS = Path("/proc/self/status")


def total() -> float:
    """Megabytes of memory in the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**20


def resident() -> float:
    """Resident megabytes now."""
    return _status("VmRSS")


def peak() -> float:
    """Peak of the resident megabytes, since the start or since `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Reset the peak, and return freed memory to the system so that its reuse is counted again."""
    if STATUS.is_file():
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps freed memory, musl does not
        if trim:
            trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def limit(share: float) -> None:
    """Make allocations beyond a share of the machine's memory fail, so that no other process is killed."""
    import resource

    size = int(share * total() * 2**20)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _status(field: str) -> float:
    # getrusage is only the fallback: on Linux its maximum starts at that of the parent process.
    if not STATUS.is_file():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024
