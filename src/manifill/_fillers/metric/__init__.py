"""A metric of its own for every column: kernel ridge regression with learned weights of the predictors.

In the sweep of the paper all columns count alike when rows are compared. Here each group of columns has a
kernel of its own, whose weights of the predictors are learned from the gradient of the fit before. Values of
known entries that leave out the entry itself (`copies`, `solvers.left_out`) give the weights of several
kernels, the accuracy and the intervals. So no entry has to be held out, and nothing is computed twice.
"""

from manifill._fillers.metric.copies import Copies, number_of_copies
from manifill._fillers.metric.filler import MetricFiller, targets
from manifill._fillers.metric.importances import Importances
from manifill._fillers.metric.outcome import MetricFill, MetricSweep
from manifill._fillers.metric.preset import EFFORTS, Effort, Member, Preset, Trees, Tuned, in_order
from manifill._fillers.metric.regression import Regression

__all__ = [
    "EFFORTS",
    "Copies",
    "Effort",
    "Importances",
    "Member",
    "MetricFill",
    "MetricFiller",
    "MetricSweep",
    "Preset",
    "Regression",
    "Trees",
    "Tuned",
    "in_order",
    "number_of_copies",
    "targets",
]
