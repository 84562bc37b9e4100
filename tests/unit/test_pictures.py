"""Restoring pictures and video from Python."""

import pickle

import numpy as np
import pytest

from manifill import IGHImputer, images, video
from manifill._fillers import Status
from manifill._fillers.field.windows import windows
from manifill._problem import Problem
from manifill._tiling import Tiler, fade, side_for
from manifill._validation.holdout import distance_bins, hold_out_like_missing
from manifill.errors import InvalidInput
from manifill.layouts import Affinities, Grid, Learned, Points


def bumps(n=24, height=30, width=26, channels=None, seed=0):
    """Smooth pictures of a bump that moves from frame to frame."""
    y, x = np.mgrid[:height, :width] / max(height, width)
    t = np.linspace(0, 1, n)[:, None, None]
    stack = np.exp(-((x - 0.2 - 0.5 * t) ** 2 + (y - 0.5 - 0.2 * np.sin(6 * t)) ** 2) / 0.02) + 0.4 * x
    noise = np.random.default_rng(seed).standard_normal(stack.shape) * 0.004
    stack = (stack + noise) / 1.5
    if channels:
        stack = np.stack([stack, 0.7 * stack + 0.1, 1 - stack][:channels], axis=-1)
    return stack.clip(0, 1)


def rmse(found, truth, where):
    return float(np.sqrt(np.mean((found.astype(float) - truth.astype(float))[where] ** 2)))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [None, 3])
def test_dtype_shape_and_known_pixels_are_kept(dtype, channels):
    top = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1.0
    truth = (bumps(10, 16, 14, channels) * top).astype(dtype)
    mask = np.random.default_rng(1).random(truth.shape[:3]) < 0.3
    damaged = truth.copy()
    damaged[mask] = 0
    found = images.restore(damaged, mask, random_state=0)
    assert (found.dtype, found.shape) == (dtype, truth.shape)
    np.testing.assert_array_equal(found[~mask], truth[~mask])
    assert rmse(found, truth, mask) < 0.03 * top


def test_scattered_damage_is_filled_better_than_by_biharmonic_inpainting():
    restoration = pytest.importorskip("skimage.restoration")
    truth = bumps()
    mask = np.random.default_rng(2).random(truth.shape) < 0.7
    found = images.restore(np.where(mask, np.nan, truth), random_state=0)
    peer = np.stack(
        [restoration.inpaint_biharmonic(np.where(m, 0, x), m) for x, m in zip(truth, mask, strict=True)]
    )
    assert rmse(found, truth, mask) < 0.8 * rmse(peer, truth, mask)


def test_missing_frames_are_filled_better_than_by_linear_interpolation():
    truth = bumps(30)
    mask = np.zeros(truth.shape, bool)
    mask[[7, 15, 16]] = True
    found = video.restore(truth, mask, random_state=0)
    linear = truth.copy()
    linear[7] = (truth[6] + truth[8]) / 2
    linear[15], linear[16] = (2 * truth[14] + truth[17]) / 3, (truth[14] + 2 * truth[17]) / 3
    assert rmse(found, truth, mask) < rmse(linear, truth, mask)


def test_a_box_in_all_frames_is_filled():
    truth = bumps(20)
    mask = np.zeros(truth.shape, bool)
    mask[:, 8:14, 8:14] = True
    found = video.restore(truth, mask, random_state=0)
    assert rmse(found, truth, mask) < 0.5 * truth[mask].std()


def test_the_same_seed_gives_the_same_pictures():
    truth = bumps(12, 16, 16)
    mask = np.random.default_rng(3).random(truth.shape) < 0.5
    one, two = (images.restore(truth, mask, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_expected_error_is_close_to_the_true_error():
    truth = bumps(40)
    mask = np.random.default_rng(4).random(truth.shape) < 0.5
    outcome = images.restore(truth, mask, random_state=0, return_info=True)
    error = rmse(outcome.pictures, truth, mask)
    assert 0.6 * error < outcome.error < 1.8 * error


def test_single_picture_is_filled():
    truth = bumps(1, 40, 40)
    mask = np.random.default_rng(5).random(truth.shape) < 0.4
    found = images.restore(truth, mask, random_state=0)
    assert rmse(found, truth, mask) < 0.15 * truth.std()


def test_complete_and_constant_pictures_are_exact():
    truth = bumps(4, 9, 9)
    np.testing.assert_array_equal(images.restore(truth, random_state=0), truth)
    flat = np.full((5, 8, 8), 7, np.uint8)
    mask = np.zeros(flat.shape, bool)
    mask[2, 3:5] = True
    np.testing.assert_array_equal(images.restore(np.where(mask, 0, flat), mask, random_state=0), flat)


def test_invalid_input_is_refused():
    stack = bumps(4, 8, 8)
    for damaged, mask, message in [
        (stack, np.zeros((4, 8, 7)), "mask must have shape"),
        (stack[0], None, "Pictures must be numbers of shape"),
        (stack.astype(str), None, "Pictures must be numbers"),
        (stack, np.ones(stack.shape), "Some pixels must be known"),
        (np.where(stack > 0.5, np.inf, stack), None, "must be finite"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            images.restore(damaged, mask)
    with pytest.raises(InvalidInput, match=r"means 20 columns; X has 64"):
        IGHImputer(layout=Grid(4, 5)).fit(stack.reshape(4, -1))
    for times in (3, "odd", [1.0, 2.0], [1.0, 2.0, np.nan, 3.0]):
        with pytest.raises(InvalidInput, match="times must be"):
            IGHImputer(layout=Grid(8, 8), times=times).fit(stack.reshape(4, -1))
    for layout in ("grid", Grid, 3):
        with pytest.raises(InvalidInput, match="layout must be None or a layout"):
            IGHImputer(layout=layout).fit(stack.reshape(4, -1))
    with pytest.raises(InvalidInput, match="must be symmetric"):
        Affinities([[1.0, 0.5], [0.2, 1.0]])
    with pytest.raises(InvalidInput, match="positive semi-definite"):
        Affinities([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(InvalidInput, match="coordinates must be a table"):
        Points([1.0, 2.0])


def test_ramps_of_windows_sum_to_one():
    for size, width, overlap in [(10, 20, 3), (130, 64, 12), (1000, 100, 12), (97, 32, 8)]:
        total = np.zeros(size)
        for window in windows(size, width, overlap):
            total[window.slice] += window.ramp
            assert window.last - window.first <= 1.25 * width + 1
        np.testing.assert_allclose(total, 1)


def test_cross_fading_equal_values_keeps_them():
    truth = np.arange(50.0)
    parts = [(window, truth[window.slice]) for window in windows(50, 20, 6)]
    np.testing.assert_allclose(list(fade(iter(parts))), truth)


def test_large_pictures_are_filled_in_tiles():
    truth = bumps(8, 150, 140)
    mask = np.random.default_rng(6).random(truth.shape) < 0.5
    found = images.restore(truth, mask, random_state=0)
    assert len(Tiler((150, 140, 1), False, side_for(mask)).tiles) > 1
    assert rmse(found, truth, mask) < 0.05 * truth.std()


def test_a_stream_is_filled_window_by_window(monkeypatch):
    truth = (bumps(60, 20, 20) * 255).astype(np.uint8)
    mask = np.zeros(truth.shape, bool)
    mask[:, 5:9, 5:9] = True
    mask[33] = True
    monkeypatch.setattr(video.Stream, "frames_at_a_time", lambda self, tiler: 24)
    shares = []
    stream = video.Stream(60, random_state=0, tick=shares.append)
    frames = (np.where(m, 0, x).astype(np.uint8) for x, m in zip(truth, mask, strict=True))
    found = np.stack(list(stream.restore(frames, iter(mask))))
    np.testing.assert_array_equal(found[~mask], truth[~mask])
    assert rmse(found, truth, mask) < 0.4 * truth[mask].std()
    assert stream.n_filled == mask.sum()  # windows overlap, and each value counts once
    assert shares[-1] == 1.0
    assert sorted(shares) == shares
    with pytest.raises(InvalidInput, match="n_frames is 70, but only 60 frames came"):
        list(video.Stream(70, random_state=0).restore(iter(truth), iter(mask)))


def test_held_out_entries_have_the_distances_of_missing_ones():
    truth = bumps(60, 24, 24)
    block = np.zeros(truth.shape, bool)
    rng = np.random.default_rng(7)
    for i in range(60):
        y, x = rng.integers(0, 16, 2)
        block[i, y : y + 8, x : x + 8] = True
    for mask in (block, rng.random(truth.shape) < 0.6):
        X = np.where(mask, np.nan, truth).reshape(60, -1)
        problem = Problem.of(X, layout=Grid(24, 24))
        held_out = hold_out_like_missing(problem, np.arange(60), np.random.default_rng(8))
        M = problem.M
        assert not M[held_out.rows, held_out.columns].any()
        assert held_out.problem.M[held_out.rows, held_out.columns].all()
        assert held_out.problem.M.sum() == M.sum() + len(held_out.truth)
        wanted = np.bincount(distance_bins(problem, M, M)[M], minlength=12) / M.sum()
        got = np.bincount(held_out.place, held_out.weight, minlength=12) / held_out.weight.sum()
        assert np.abs(wanted - got).sum() < 0.3


GROUPS = ((2, 5), (9, 11))


@pytest.mark.parametrize("moments", [None, np.arange(80.0)], ids=["unordered", "ordered"])
@pytest.mark.parametrize("layout", [Learned(), Affinities(np.eye(12))], ids=["learned", "affinities"])
def test_columns_keep_four_entries_and_groups_are_held_out_together(layout, moments):
    rng = np.random.default_rng(15)
    X = rng.standard_normal((80, 12))
    X[rng.random(X.shape) < 0.4] = np.nan
    X[np.isnan(X[:, 2]), 5] = X[np.isnan(X[:, 5]), 2] = np.nan  # 2 and 5 are known together; 9 and 11 are not
    for column, n_known in ((0, 4), (7, 6), (8, 12), (10, 3)):
        X[:n_known, column], X[n_known:, column] = np.arange(n_known), np.nan
    problem = Problem.of(X, layout=layout, moments=moments, groups=GROUPS)
    known, held = ~problem.M, np.zeros(12)
    for seed in range(40):
        found = hold_out_like_missing(problem, np.arange(80), np.random.default_rng(seed))
        assert ((~found.problem.M).sum(axis=0) >= np.minimum(known.sum(axis=0), 4)).all()
        H = found.problem.M & known
        assert np.isfinite(found.truth).all()
        for i, j in GROUPS:
            both = known[:, i] & known[:, j]
            np.testing.assert_array_equal(H[both, i], H[both, j])
        held += H.sum(axis=0)
    np.testing.assert_array_equal(held[[0, 10]], 0)
    assert (np.delete(held, [0, 10]) > 0).all()


def test_intervals_have_the_stated_coverage_and_draws_differ():
    truth = bumps(60, 20, 20, seed=1)
    mask = np.random.default_rng(9).random(truth.shape) < 0.5
    X = np.where(mask, np.nan, truth).reshape(60, -1)
    imputer = IGHImputer(layout=Grid(20, 20), times="even", bounds=None, random_state=0).fit(X)
    low, high = (end.reshape(truth.shape) for end in imputer.intervals(0.9))
    assert 0.82 < ((low <= truth) & (truth <= high))[mask].mean() < 0.97
    one, two = (imputer.draws(1, random_state=seed)[0].reshape(truth.shape) for seed in (1, 2))
    np.testing.assert_array_equal(one[~mask], truth[~mask])
    filled = imputer.completed_.reshape(truth.shape)
    error = rmse(filled, truth, mask)
    assert 0.7 * error < rmse(one, filled, mask) < 1.5 * error
    assert rmse(one, two, mask) > 0.5 * error


def test_result_on_a_torch_device_is_the_same():
    pytest.importorskip("torch")
    truth = bumps(16, 16, 16)
    mask = np.random.default_rng(10).random(truth.shape) < 0.5
    here, there = (images.restore(truth, mask, random_state=0, device=device) for device in (None, "cpu"))
    np.testing.assert_allclose(there, here, atol=1e-6)


def test_single_missing_entry_is_filled():
    X = np.sin(np.arange(30)[:, None] / 5 + np.arange(20))
    damaged = X.copy()
    damaged[7, 3] = np.nan
    imputer = IGHImputer("gaussian", solver="ridge", layout=Learned(), times="even", random_state=0)
    assert abs(imputer.fit_transform(damaged)[7, 3] - X[7, 3]) < 0.2


def test_unpickled_imputer_fills_new_rows():
    truth = bumps(16, 12, 14).reshape(16, -1)
    X = np.where(np.random.default_rng(11).random(truth.shape) < 0.3, np.nan, truth)
    imputer = IGHImputer(layout=Grid(12, 14), random_state=0).fit(X[:12])
    again = pickle.loads(pickle.dumps(imputer))
    np.testing.assert_array_equal(again.completed_, imputer.completed_)
    new = again.transform(X[12:])
    np.testing.assert_array_equal(again.transform(X[13:14])[0], new[1])  # independent of the other new rows
    empty_row = np.full((1, X.shape[1]), np.nan)
    np.testing.assert_allclose(again.transform(empty_row)[0], imputer.completed_.mean(axis=0), atol=1e-12)
    assert np.isfinite(new).all()
    assert rmse(new, truth[12:], np.isnan(X[12:])) < 0.4 * truth.std()
    complete = IGHImputer(layout=Grid(12, 14)).fit(truth)
    np.testing.assert_array_equal(complete.intervals(0.9)[0], truth)


@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_double_precision_is_kept(shift):
    truth = bumps(8, 12, 14) + shift
    mask = np.random.default_rng(12).random(truth.shape) < 0.3
    assert rmse(images.restore(truth, mask, random_state=0), truth, mask) < 0.1


def test_integers_at_the_limit_of_their_dtype_do_not_overflow():
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        limits = np.iinfo(dtype)
        truth = np.where(bumps(6, 10, 10) > 0.3, limits.max, limits.min).astype(dtype)
        mask = np.random.default_rng(13).random(truth.shape) < 0.2
        found = images.restore(truth, mask, random_state=0)
        middle = limits.min / 2 + limits.max / 2
        assert ((found > middle) == (truth > middle))[mask].mean() > 0.8


def test_window_without_known_pixels_is_filled(monkeypatch):
    truth = (bumps(60, 12, 12) * 255).astype(np.uint8)
    mask = np.zeros(truth.shape, bool)
    mask[20:50] = True
    monkeypatch.setattr(video.Stream, "frames_at_a_time", lambda self, tiler: 16)
    found = np.stack(list(video.Stream(60, random_state=0).restore(iter(truth), iter(mask))))
    np.testing.assert_array_equal(found[~mask], truth[~mask])
    assert rmse(found, truth, mask) < 1.5 * truth.std()


def test_intervals_may_exceed_the_observed_range_but_not_given_bounds():
    truth = bumps(30, 12, 14).reshape(30, -1) - 0.5
    X = np.where(np.random.default_rng(14).random(truth.shape) < 0.3, np.nan, truth)
    imputer = IGHImputer(layout=Grid(12, 14), random_state=0).fit(X)
    low, high = imputer.intervals(0.999)
    assert low.min() < np.nanmin(X)
    low, high = imputer.intervals(0.999, bounds=(-0.1, 0.1))
    assert (np.isnan(X) * low).min() >= -0.1
    assert (np.isnan(X) * high).max() <= 0.1
    unbounded = IGHImputer(layout=Grid(12, 14), bounds=None, random_state=0).fit(X)
    assert np.isfinite(unbounded.completed_).all()


def test_intervals_of_a_row_without_known_values_reach_the_bounds():
    X = np.full((2, 16), np.nan)
    X[0, :2] = 1.0, 2.0
    imputer = IGHImputer(layout=Grid(4, 4), random_state=0).fit(X)
    low, high = imputer.intervals(0.9, bounds=(-5.0, 5.0))
    assert (low[1] == -5).all()
    assert (high[1] == 5).all()


@pytest.mark.parametrize(
    ("stack", "message"),
    [
        (np.ma.masked_less(bumps(3, 8, 8), 0.2), "stack.mask as the mask"),
        ([np.zeros((4, 4)), np.zeros((4, 5))], "of one size"),
        (np.full((2, 3, 3), np.inf), "finite"),
        (np.zeros((2, 3)), "must be numbers of shape"),
    ],
)
def test_invalid_stacks_are_refused(stack, message):
    with pytest.raises(InvalidInput, match=message):
        images.restore(stack)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_result_is_independent_of_the_scale(scale):
    truth = bumps(8, 10, 12).reshape(8, -1)
    X = np.where(np.random.default_rng(0).random(truth.shape) < 0.3, np.nan, truth)
    once = IGHImputer(layout=Grid(10, 12), random_state=0).fit_transform(X)
    other = IGHImputer(layout=Grid(10, 12), random_state=0).fit_transform(X * scale)
    np.testing.assert_allclose(other / scale, once, rtol=1e-6)


def test_legacy_generator_is_reproducible():
    truth = bumps(6, 8, 8)
    mask = np.random.default_rng(0).random(truth.shape) < 0.2
    once, again = (images.restore(truth, mask, random_state=np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(once, again)


def test_a_time_limit_leaves_a_complete_table():
    truth = bumps(6, 8, 8).reshape(6, -1)
    X = np.where(np.random.default_rng(0).random(truth.shape) < 0.2, np.nan, truth)
    imputer = IGHImputer(layout=Grid(8, 8), time_limit=1e-9, random_state=0).fit(X)
    assert imputer.status_ is Status.TIME_LIMIT
    assert np.isfinite(imputer.completed_).all()
    np.testing.assert_array_equal(imputer.completed_[~np.isnan(X)], X[~np.isnan(X)])
    ample = IGHImputer(layout=Grid(8, 8), time_limit=600, random_state=0).fit(X)
    assert ample.status_ is Status.BLENDED
    np.testing.assert_array_equal(
        ample.completed_, IGHImputer(layout=Grid(8, 8), random_state=0).fit_transform(X)
    )


@pytest.fixture
def damaged():
    """A wave whose crest is missing, so that fills without bounds exceed the known values."""
    y, x = np.mgrid[:20, :20] / 20
    truth = np.stack([np.sin(np.pi * x) + 0.2 * np.cos(3 * y + t) for t in np.linspace(0, 1, 10)])
    return np.where(truth > 0.85, np.nan, truth)


class TestBounds:
    def test_filled_pixels_are_within_given_bounds(self, damaged):
        missing = np.isnan(damaged)
        found = images.restore(damaged, bounds=(0, 1), random_state=0)
        assert found[missing].min() >= 0
        assert found[missing].max() <= 1
        np.testing.assert_array_equal(found[~missing], damaged[~missing])
        assert (damaged[~missing] < 0).any()  # known pixels are not clipped
        np.testing.assert_allclose(images.restore(damaged, bounds=(0.5, 0.5), random_state=0)[missing], 0.5)

    def test_default_bounds_are_observed_and_none_removes_them(self, damaged):
        missing, highest = np.isnan(damaged), np.nanmax(damaged)
        bounded = images.restore(damaged, random_state=0)
        assert bounded[missing].max() <= highest
        np.testing.assert_array_equal(images.restore(damaged, bounds="observed", random_state=0), bounded)
        assert images.restore(damaged, bounds=None, random_state=0)[missing].max() > highest
        frames = [video.restore(damaged, bounds=bounds, random_state=0) for bounds in ("observed", None)]
        assert frames[0][missing].max() <= highest < frames[1][missing].max()

    @pytest.mark.parametrize("bounds", [(1, 0), (0,), (0, 1, 2), 3, "seen", (np.nan, 1), ("a", "b"), ({}, 1)])
    def test_invalid_bounds_are_refused(self, bounds, damaged):
        for restore in (images.restore, video.restore):
            with pytest.raises(InvalidInput, match="bounds must be"):
                restore(damaged, bounds=bounds)


@pytest.mark.parametrize("restore", [images.restore, video.restore])
def test_error_for_an_unknown_option_names_restore(restore):
    with pytest.raises(TypeError, match=r"^restore\(\) got an unexpected keyword argument 'foo'"):
        restore(bumps(3, 8, 8), foo=1)
