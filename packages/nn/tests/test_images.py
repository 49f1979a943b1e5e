"""Resampling: invariants, definitions and errors."""

import numpy as np
import pytest

from ricci_nn import image

pytest.importorskip("ricci_xla", reason="values are computed by a backend")

X = np.sin(np.arange(24.0, dtype=np.float32)).reshape(4, 6)
METHODS = ["nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_resizing_preserves_constant_images(method, antialias):
    found = image.resize(np.full((4, 6), 3.0, np.float32), (7, 2), method, antialias=antialias)
    np.testing.assert_allclose(found, 3.0, rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_resizing_to_the_same_shape_returns_the_image(method):
    assert np.array_equal(image.resize(X, (4, 6), method), X)


def test_area_averages_blocks():
    found = image.resize(X, (2, 3), "area")
    np.testing.assert_allclose(found, X.reshape(2, 2, 3, 2).mean((1, 3)), atol=1e-6)


def test_translation_by_whole_samples_moves_them():
    one, two = np.ones(1, np.float32), np.full(1, 2.0, np.float32)
    found = image.scale_and_translate(X, (4, 6), (0,), one, two, "cubic")
    np.testing.assert_allclose(found, [np.zeros(6), np.zeros(6), X[0], X[1]], atol=1e-6)


REFUSED = [
    (lambda: image.resize(X, (2,), "linear"), ValueError, "one size for each"),
    (lambda: image.resize(X, (2, 3), "x"), ValueError, "'x'"),
    (lambda: image.resize(X, (2, 3), 3), AssertionError, "ResizeMethod"),
    (
        lambda: image.scale_and_translate(X, (2, 3), (0,), X[0], X[0], "linear"),
        AssertionError,
        "scale",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_invalid_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
