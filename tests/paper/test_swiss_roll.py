"""The paper's swiss roll at smoke scale. Full table: `python -m benchmarks swiss_roll`."""

import pytest
from benchmarks import swiss_roll


@pytest.mark.parametrize("solver", swiss_roll.SOLVERS.values(), ids=repr)
@pytest.mark.parametrize("seed", [0, 1])
def test_with_half_missing_the_error_falls_tenfold_within_five_sweeps(solver, seed):
    errors = swiss_roll.errors(0.5, solver, seed, n_sweeps=5)
    assert errors[0] / errors[5] >= 10


def test_error_increases_with_the_missing_rate():
    solver = next(iter(swiss_roll.SOLVERS.values()))
    final = [swiss_roll.errors(rate, solver, seed=0, n_sweeps=5)[-1] for rate in (0.1, 0.3, 0.6)]
    assert final == sorted(final)
