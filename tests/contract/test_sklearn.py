"""scikit-learn's own checks: all of them, no exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from manifill import GeometricHarmonics, IGHImputer


@parametrize_with_checks(
    [
        IGHImputer(),
        IGHImputer(kernel="gaussian", solver="spectral", schedule="column"),
        IGHImputer(kernel="self_tuning", add_indicator=True),
        GeometricHarmonics(),
        GeometricHarmonics(kernel="laplacian", solver="ridge"),
        GeometricHarmonics(kernel="precomputed"),
    ]
)
def test_contract(estimator, check):
    check(estimator)
