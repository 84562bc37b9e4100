"""Computation on torch devices, tested with the device "cpu"."""

import sys

import numpy as np
import pytest

from manifill import IGHImputer, Sweep
from manifill._devices import TensorSubsets, find_device
from manifill._estimators import imputer as imputer_module
from manifill._estimators import options
from manifill.errors import IncompatibleKernel, InvalidInput, MissingDependency
from manifill.kernels import Custom, Gaussian, NeighborDistance, Polynomial, SemiLinear
from manifill.solvers import Local, Ridge
from manifill.solvers.subsets import Subsets


def test_without_torch_the_error_names_the_install_command(monkeypatch, curved):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, M = curved
    with pytest.raises(MissingDependency, match=r"pip install 'manifill\[gpu\]'"):
        IGHImputer(device="cuda").fit(np.where(M, np.nan, X))
    assert find_device("auto") is None
    assert find_device(None) is None


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason="needs torch: pip install 'manifill[gpu]'")

    @pytest.fixture
    def damaged(self, rng):
        X = np.sin(rng.random((45, 3)) @ rng.standard_normal((3, 9)) * 2)
        return np.where(rng.random(X.shape) < 0.4, np.nan, X)

    @pytest.mark.parametrize(
        "kernel",
        ["auto", "gaussian", "laplacian", "cosine", Polynomial(), SemiLinear(Gaussian(NeighborDistance()))],
        ids=str,
    )
    @pytest.mark.parametrize("schedule", ["column", 4])
    @pytest.mark.parametrize("rate", [0.1, 0.6])
    def test_results_equal_those_of_numpy(self, kernel, schedule, rate, rng):
        X = np.sin(rng.random((45, 3)) @ rng.standard_normal((3, 9)) * 2)
        damaged = np.where(rng.random(X.shape) < rate, np.nan, X)
        with_numpy, with_torch = (
            IGHImputer(kernel, method=Sweep(schedule=schedule), device=device, random_state=0).fit(damaged)
            for device in (None, "cpu")
        )
        np.testing.assert_allclose(with_torch.completed_, with_numpy.completed_, atol=1e-9)
        np.testing.assert_allclose(with_torch.transform(damaged), with_numpy.transform(damaged), atol=1e-9)
        for a, b in zip(with_numpy.trace_[1:], with_torch.trace_[1:], strict=True):
            np.testing.assert_allclose(
                [b.change, b.bandwidth, b.ridge], [a.change, a.bandwidth, a.ridge], rtol=1e-6
            )

    def test_tensor_input_gives_tensor_output(self, torch, damaged):
        expected = IGHImputer(random_state=0).fit_transform(damaged)
        for dtype in (torch.float64, torch.float32):
            tensor = torch.tensor(damaged, dtype=dtype, requires_grad=True)
            imputer = IGHImputer(random_state=0)
            filled = imputer.fit_transform(tensor)
            assert isinstance(filled, torch.Tensor)
            assert (filled.dtype, filled.device) == (dtype, tensor.device)
            np.testing.assert_allclose(filled.numpy(), expected, atol=1e-3)
            assert isinstance(imputer.transform(tensor[:3]), torch.Tensor)
            assert isinstance(imputer.transform(damaged[:3]), np.ndarray)

    def test_results_equal_those_of_numpy_if_columns_share_their_missing_rows(self, rng):
        X = np.sin(rng.random((80, 2)) @ rng.standard_normal((2, 12)))
        X[rng.choice(80, 20, replace=False)[:, None], np.arange(9)] = np.nan
        X[5, 10] = np.nan
        fills = [
            IGHImputer(method=Sweep(schedule=6), device=d, random_state=0).fit_transform(X)
            for d in (None, "cpu")
        ]
        np.testing.assert_allclose(*fills, atol=1e-9)

    def test_large_batches_are_split(self, torch, rng, monkeypatch):
        monkeypatch.setattr("manifill._devices._LARGEST_BATCH", 3000)
        known = rng.random((40, 15)) < 0.5
        K = Gaussian().gram(rng.standard_normal((40, 2)))
        F = rng.standard_normal((40, 15))
        host, device = Subsets(known), TensorSubsets(Subsets(known), "cpu")
        assert len(device._batches) > 1
        expected, _ = host.solve(K, F, [0.1])
        found, _ = device.solve(torch.as_tensor(K), torch.as_tensor(F), [0.1])
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-10)

    def test_a_failed_factorisation_is_repeated_with_jitter(self, damaged, monkeypatch):
        damaged = np.concatenate([damaged, damaged, damaged])  # every row three times, so that K is singular
        results = []
        succeeded = TensorSubsets.succeeded
        monkeypatch.setattr(
            TensorSubsets, "succeeded", lambda self: results.append(succeeded(self)) or results[-1]
        )
        kernel = Polynomial(1, 0.0)
        imputer = IGHImputer(kernel, solver=Ridge(0.0), device="cpu", random_state=0, max_sweeps=2).fit(
            damaged
        )
        assert not all(results)
        assert imputer.trace_[-1].jitter > 0

    def test_custom_kernels_and_kernels_that_are_not_psd_are_refused(self, damaged):
        with pytest.raises(InvalidInput, match="On a device columns are extended by the ridge solver"):
            IGHImputer(Custom(lambda A, B: A @ B.T, psd=True), solver="ridge", device="cpu").fit(damaged)
        with pytest.raises(IncompatibleKernel, match="needs a positive semi-definite kernel"):
            IGHImputer("self_tuning", solver="ridge", device="cpu").fit(damaged)

    def test_the_default_solver_depends_on_the_memory_of_the_device(self, rng, monkeypatch):
        X = np.sin(rng.random((60, 3)) @ rng.standard_normal((3, 11)) * 2)
        X[rng.random(X.shape) < 0.2] = np.nan
        monkeypatch.setattr(options, "EXACT_ROWS", 50)
        imputer = IGHImputer(device="cpu", random_state=0, max_sweeps=1).fit(X)
        assert str(imputer.solver_).endswith("all pairs of 60 rows fit on the device")
        given = {"kernel": "laplacian", "random_state": 0, "max_sweeps": 1, "device": "auto"}
        assert type(IGHImputer(**given).fit(X).solver_) is Local
        # With device="auto", a GPU with too little memory is not used.
        monkeypatch.setattr(imputer_module, "find_device", lambda device: "cpu")
        monkeypatch.setattr(imputer_module, "memory_of", lambda device: 1000.0)
        assert type(IGHImputer(**given).fit(X).solver_) is Local

    def test_tensors_of_a_dtype_unknown_to_numpy_are_refused(self, torch):
        with pytest.raises(InvalidInput, match=r"got torch.bfloat16. Use X.to\(torch.float32\)"):
            IGHImputer().fit(torch.ones((4, 3), dtype=torch.bfloat16))

    def test_devices_without_double_precision_are_refused_with_that_reason(self, torch, monkeypatch):
        zeros = torch.zeros

        def single_only(*size, dtype, device):
            if dtype == torch.float64:
                raise TypeError("Cannot convert a tensor to float64")
            return zeros(*size, dtype=dtype)

        monkeypatch.setattr(torch, "zeros", single_only)
        with pytest.raises(InvalidInput, match="device='mps' must support double precision"):
            find_device("mps")

    def test_unknown_and_unavailable_devices_are_refused(self, torch, damaged):
        with pytest.raises(InvalidInput, match="device must be None, 'auto', 'cpu', 'cuda'"):
            IGHImputer(device="gpu").fit(damaged)
        if not torch.cuda.is_available():
            with pytest.raises(InvalidInput, match="needs a GPU that torch can use"):
                IGHImputer(device="cuda").fit(damaged)
            assert find_device("auto") is None
