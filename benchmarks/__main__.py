"""Run all benchmarks or the named ones; print their tables and write them to files.

python -m benchmarks [NAME …] [--smoke] [--results DIR]
"""

import argparse
from pathlib import Path

from rich.console import Console

from benchmarks import (
    ablation,
    accuracy,
    claims,
    cold,
    coverage,
    defaults,
    device,
    gallery,
    growth,
    known_sets,
    long,
    mixed,
    overview,
    peers,
    pictures,
    pooling,
    profile,
    published,
    results,
    schedule,
    sensors,
    sizes,
    speed,
    surface,
    sweep_count,
    swiss_roll,
    tradeoff,
    weights,
)

BENCHMARKS = {
    "swiss_roll": swiss_roll.run,
    "peers": peers.run,
    "defaults": defaults.run,
    "sweep_count": sweep_count.run,
    "schedule": schedule.run,
    "speed": speed.run,
    "growth": growth.run,
    "long": long.run,
    "device": device.run,
    "profile": profile.run,
    "cold": cold.run,
    "known_sets": known_sets.run,
    "surface": surface.run,
    "ablation": ablation.run,
    "accuracy": accuracy.run,
    "report": accuracy.run_report,
    "accuracy_worlds": accuracy.run_scenarios,
    "calibration": accuracy.run_calibration,
    "claims": claims.run,
    "mixed": mixed.run,
    "coverage": coverage.run,
    "pooling": pooling.run,
    "pictures": pictures.run,
    "video": pictures.run_video,
    "unseen": pictures.run_unseen,
    "sensors": sensors.run,
    "gallery": gallery.run,
    "overview": overview.run,
    "published": published.run,
    "sizes": sizes.run,
    "tradeoff": tradeoff.run,
    "weights": weights.run,
}


def main() -> None:
    """Print the machine, then run each benchmark, print its table and write it to files."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure manifill and other imputers. All benchmarks together take many hours.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"any of {', '.join(BENCHMARKS)}; default: all"
    )
    parser.add_argument("--smoke", action="store_true", help="tiny data, to check that everything runs")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help="output folder; default: benchmarks/results, with --smoke benchmarks/results/smoke",
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(BENCHMARKS)}")
    folder = arguments.results or (results.FOLDER / "smoke" if arguments.smoke else results.FOLDER)
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    for fact, value in results.environment().items():
        console.print(f"{fact}: {value}", soft_wrap=True)
    for name in arguments.names or BENCHMARKS:
        result = BENCHMARKS[name](smoke=arguments.smoke)
        console.print(results.parts(result)[0])
        results.write(name, result, folder, arguments.smoke)
    console.print(f"Written to {folder}", soft_wrap=True)


if __name__ == "__main__":
    main()
