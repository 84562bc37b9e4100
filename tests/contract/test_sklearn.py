"""All estimator checks of scikit-learn, without exceptions."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manifill import DiffusionMap, GeometricHarmonics, IGHImputer, Sweep, TableImputer
from manifill.layouts import Learned

ESTIMATORS = [
    IGHImputer(),
    IGHImputer(kernel="gaussian", solver="spectral", method=Sweep(schedule="column")),
    IGHImputer(kernel="self_tuning", add_indicator=True),
    IGHImputer(solver="landmarks"),
    IGHImputer(solver="local"),
    IGHImputer(layout=Learned()),
    IGHImputer(times="even"),
    TableImputer(),
    GeometricHarmonics(),
    GeometricHarmonics(kernel="laplacian", solver="ridge"),
    GeometricHarmonics(kernel="precomputed"),
    DiffusionMap(),
    DiffusionMap(n_components=1, n_neighbors=8, random_state=0),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_passes_the_check(estimator, check):
    check(estimator)


def test_array_api_checks_pass():
    """They are skipped unless SCIPY_ARRAY_API is set when scipy is imported, so they run in a subprocess."""
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "array_api_input", __file__],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    if result.returncode == 5:
        pytest.skip("this scikit-learn has no such check")
    assert re.search(rf"^{len(ESTIMATORS)} passed, \d+ deselected", result.stdout, flags=re.M), result.stdout
