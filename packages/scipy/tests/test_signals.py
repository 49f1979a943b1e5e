"""Laws of transforms, windows, minima and rotations."""

import numpy as np
import pytest

import ricci_ir as ir
import ricci_numpy as jnp
from ricci_batching import vmap
from ricci_scipy import fft, interpolate, ndimage, optimize, signal, special
from ricci_scipy.spatial.transform import Rotation, Slerp

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

X = np.sin(np.arange(100.0, dtype=np.float32) ** 1.3)
METHODS = ("BFGS", "l-bfgs-experimental-do-not-rely-on-this")


@pytest.mark.parametrize("window", ["hann", "hamming", ("kaiser", 3.0), ("tukey", 0.5)])
def test_inverse_short_time_transform_gives_the_signal_back(window):
    _, _, z = signal.stft(X, nperseg=16, window=window)
    _, result = signal.istft(z, nperseg=16, window=window)
    np.testing.assert_allclose(result[:100], X, atol=1e-5)


def test_power_spectrum_holds_the_variance():
    frequencies, power = signal.welch(X, window="boxcar", detrend="constant")
    np.testing.assert_allclose(jnp.sum(power) * frequencies[1], np.var(X), rtol=1e-4)


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("n", [1, 7, 8])
def test_inverse_cosine_transform_gives_the_array_back(n, norm):
    x = X[: 3 * n].reshape(3, n)
    np.testing.assert_allclose(fft.idctn(fft.dctn(x, norm=norm), norm=norm), x, atol=1e-5)


def test_cosine_transform_is_its_sum():
    n = np.arange(9)
    matrix = 2 * np.cos(np.pi * n[:, None] * (2 * n + 1) / 18)
    np.testing.assert_allclose(fft.dct(X[:9]), matrix @ X[:9], atol=1e-5)


def test_detrend_removes_lines():
    line = np.concatenate([np.arange(30.0), 5 - np.arange(20.0)]).astype(np.float32)
    assert np.abs(signal.detrend(line, bp=30)).max() < 1e-4


def test_detrend_of_an_array_without_elements():
    assert signal.detrend(np.zeros((3, 0), np.float32)).shape == (3, 0)


@pytest.mark.parametrize("method", METHODS)
def test_minimum_of_a_curved_valley(method):
    valley = lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
    run = lambda x: optimize.minimize(valley, x, method=method)
    result = vmap(run)(np.float32([[-1.2, 1.0], [2.0, 2.0]]))
    np.testing.assert_allclose(result.x, 1.0, atol=1e-3)
    assert result.success.all()


@pytest.mark.parametrize("method", METHODS)
def test_minimize_without_a_minimum_is_not_a_success(method):
    result = optimize.minimize(
        lambda x: jnp.sum(x) * np.nan, np.zeros(2, np.float32), method=method
    )
    assert not result.success


def test_interpolation_of_a_plane_is_exact():
    grid = (np.float32([0.0, 1.0, 4.0]), np.float32([0.0, 2.0]))
    values = grid[0][:, None] - 2 * grid[1]
    points = np.float32([[0.5, 0.5], [3.0, 1.0]])
    result = interpolate.RegularGridInterpolator(grid, values)(points)
    np.testing.assert_allclose(result, points[:, 0] - 2 * points[:, 1], atol=1e-6)


def test_map_coordinates_outside_follows_the_mode():
    result = ndimage.map_coordinates(
        np.float32([1.0, 2.0]), [np.float32([-5.0, 9.0])], 1, "nearest"
    )
    assert result.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("seq", ["xyz", "XYZ", "zxz", "ZYX"])
def test_euler_angles_give_the_rotation_back(seq):
    rotation = Rotation.from_quat(np.float32([[1, 2, 3, 4], [-1, 0.5, 0.2, -0.3]]))
    result = Rotation.from_euler(seq, rotation.as_euler(seq))
    np.testing.assert_allclose(result.as_matrix(), rotation.as_matrix(), atol=1e-5)


def test_forms_of_a_rotation_agree():
    rotation = Rotation.from_quat(np.float32([[1, 2, 3, 4], [0, 0, 0, 1], [1, 0, 0, 0]]))
    forms = [
        Rotation.from_matrix(rotation.as_matrix()),
        Rotation.from_rotvec(rotation.as_rotvec()),
        Rotation.from_mrp(rotation.as_mrp()),
    ]
    for form in forms:
        np.testing.assert_allclose(form.as_matrix(), rotation.as_matrix(), atol=1e-5)


def test_half_way_between_rotations():
    ends = Rotation.from_rotvec(np.float32([[0.0, 0.0, 0.2], [0.0, 0.0, 0.6]]))
    result = Slerp.init(np.float32([0.0, 2.0]), ends)(np.float32(1.0)).as_rotvec()
    np.testing.assert_allclose(result, [0.0, 0.0, 0.4], atol=1e-6)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("promotion", ["standard", "strict"])
@pytest.mark.parametrize("times", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_interpolated_rotations_have_the_dtype_of_the_rotations(dtype, times, promotion):
    with ir.enable_x64(True), ir.numpy_dtype_promotion(promotion):
        ends = Rotation.from_rotvec(jnp.array([[0.0, 0.0, 0.2], [0.0, 0.0, 0.6]], dtype))
        turns = Slerp.init(jnp.array([0, 2], times), ends)(jnp.array([1], times)).as_rotvec()
        assert turns.dtype == dtype
        np.testing.assert_allclose(turns.astype("float32"), [[0.0, 0.0, 0.4]], atol=2e-3)


def test_legendre_functions_do_not_promote_ranks():
    with ir.numpy_rank_promotion("raise"):
        slopes = special.lpmn(2, 2, np.float32([0.25, 0.5, 0.75]))[1]
    np.testing.assert_allclose(slopes[0, 2], [0.75, 1.5, 2.25], rtol=1e-6)


REFUSED = [
    (lambda: signal.stft(X, nperseg=16, window="x"), ValueError, "window"),
    (lambda: signal.stft(X, nperseg=4, noverlap=4), ValueError, "noverlap"),
    (lambda: signal.convolve2d(X, X), ValueError, "rank 2"),
    (lambda: fft.dct(X, type=3), NotImplementedError, "type 2"),
    (lambda: optimize.minimize(jnp.sum, X, method="x"), ValueError, "BFGS"),
    (lambda: optimize.minimize(jnp.sum, X, 2.0, method="BFGS"), TypeError, "tuple"),
    (lambda: ndimage.map_coordinates(X, [X], 3), NotImplementedError, "order"),
    (lambda: Rotation.from_euler("xx", X[:2]), ValueError, "twice"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call()
