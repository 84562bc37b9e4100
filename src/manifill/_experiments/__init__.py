"""The paper's experiments, run with its algorithm and manifill's defaults on the same missing entries."""

from manifill._experiments import coil, convergence, olivetti, runtime, swiss_roll, umist, video, weather
from manifill._experiments.base import Claim, Experiment, Outcome
from manifill._experiments.folder import reproduce

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (swiss_roll, olivetti, umist, coil, weather, convergence, runtime, video)
}

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Outcome", "reproduce"]
