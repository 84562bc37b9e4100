import os
from pathlib import Path

import numpy as np
import pytest

from manifill.tuning import audition, choosing, portfolio

EVERY_CANDIDATE = portfolio.candidates


def choose_between_two(patch):
    patch.setattr(choosing, "candidates", lambda *words: EVERY_CANDIDATE(*words)[:2])
    patch.setattr(choosing, "how_much", lambda problem: (0.1, 1))
    patch.setattr(audition, "_MOST_REPEATS", 1)


@pytest.fixture(scope="session", autouse=True)
def few_candidates():
    """Choosing takes a second: tests choose between two candidates, but for those of choosing itself."""
    with pytest.MonkeyPatch.context() as patch:
        choose_between_two(patch)
        yield patch


@pytest.fixture(scope="module")
def all_candidates(few_candidates):
    """Everything is tried, as outside of the tests."""
    few_candidates.undo()
    yield
    choose_between_two(few_candidates)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


DATA = os.environ.get("MANIFILL_DATA")


@pytest.fixture
def data_folder():
    """The public data sets, where the machine has them."""
    if not DATA or not Path(DATA).is_dir():
        pytest.skip("needs the public data sets: set MANIFILL_DATA to their folder")
    return Path(DATA)


@pytest.fixture
def curved():
    """120 points on a curve in six dimensions, 20 % missing; the truth and the holes."""
    t = np.linspace(0, 5, 120)
    X = np.column_stack([np.sin(t), np.cos(t), np.sin(2 * t), t, np.cos(3 * t), t**2])
    M = np.random.default_rng(1).random(X.shape) < 0.2
    return X, M
