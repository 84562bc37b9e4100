"""The options --predictors and --exclude."""

import json

import numpy as np
import pandas as pd
import pytest
from command import manifill

from manifill import impute


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((160, 2))
    frame = pd.DataFrame({"a": z[:, 0], "b": z[:, 1], "c": z[:, 0] ** 2 + z[:, 1], "t": 2 * z[:, 0]})
    return frame.mask(rng.random(frame.shape) < 0.2)


class TestPredictors:
    def fill(self, frame, folder, *options):
        frame.to_csv(folder / "in.csv", index=False)
        return manifill(
            "impute", folder / "in.csv", "-o", folder / "out.csv", "--force", *options, folder=folder
        )

    def test_fills_like_the_imputer(self, frame, tmp_path):
        result = self.fill(frame, tmp_path, "--predictors", "a=b,c,b=", "--exclude", "t", "--json")
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)
        filled = pd.read_csv(tmp_path / "out.csv")
        expected = impute(frame, predictors={"a": ["b", "c"], "b": []}, exclude=["t"], random_state=0)
        assert np.allclose(filled, expected, atol=1e-4)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--exclude", "x"], "--exclude names an unknown column: 'x'"),
            (["--exclude", "t,t"], "--exclude must name a column once"),
            (["--predictors", "a=x"], "--predictors of column 'a' names an unknown column: 'x'"),
            (["--predictors", "a=a"], "--predictors of column 'a' must be other columns"),
            (["--predictors", "a"], "--predictors must be a list like"),
            (["--predictors", "a=b,a=c"], "--predictors must name a column once"),
            (["--exclude", "t", "--time", "a"], "got them together with --time"),
            (["--exclude", "t", "--model", "no.model"], "--exclude cannot be given with it"),
        ],
    )
    def test_wrong_options_end_with_code_2(self, frame, tmp_path, options, message):
        result = self.fill(frame, tmp_path, *options)
        assert result.returncode == 2
        assert message in result.stderr
        assert not (tmp_path / "out.csv").exists()
