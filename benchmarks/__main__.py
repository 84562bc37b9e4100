"""Run benchmarks: all of them, or those named.

python -m benchmarks [NAME …] [--smoke]
"""

import argparse
import os
import platform
from importlib.metadata import version

from rich.console import Console

from benchmarks import defaults, peers, schedule, sweep_count, swiss_roll

BENCHMARKS = {
    "swiss_roll": swiss_roll.run,
    "peers": peers.run,
    "defaults": defaults.run,
    "sweep_count": sweep_count.run,
    "schedule": schedule.run,
}


def main() -> None:
    """Print the machine, then each benchmark's table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"from {', '.join(BENCHMARKS)}")
    parser.add_argument("--smoke", action="store_true", help="small and quick, to see that it runs")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    libraries = ", ".join(
        f"{name} {version(name)}" for name in ("manifill", "numpy", "scipy", "scikit-learn")
    )
    console.print(f"Python {platform.python_version()}, {libraries}; {os.cpu_count()} cores")
    for name in arguments.names or BENCHMARKS:
        console.print(BENCHMARKS[name](smoke=arguments.smoke))


if __name__ == "__main__":
    main()
