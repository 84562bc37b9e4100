import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


DATA = os.environ.get("MANIFILL_DATA")


@pytest.fixture
def data_folder():
    """Folder of the public data sets; without it the test is skipped."""
    if not DATA or not Path(DATA).is_dir():
        pytest.skip("needs the public data sets: set MANIFILL_DATA to their folder")
    return Path(DATA)


@pytest.fixture
def curved():
    """120 points on a curve in six dimensions (120, 6), and a mask of 20 % of the entries."""
    t = np.linspace(0, 5, 120)
    X = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t), t, np.cos(3 * t), t**2])
    M = np.random.default_rng(1).random(X.shape) < 0.2
    return X, M
