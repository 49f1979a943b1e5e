"""A convolution, a pooling, and a resized image."""

import ricci
import ricci.numpy as np
from ricci import Array, image, lax, nn


def features(pictures: Array, kernel: Array) -> Array:
    dimensions = ("NHWC", "HWIO", "NHWC")
    result: Array = lax.conv_general_dilated(
        pictures, kernel, (1, 1), "SAME", dimension_numbers=dimensions
    )
    pooled: Array = lax.reduce_window(
        nn.relu(result), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
    )
    return pooled


def main() -> None:
    pictures = np.ones((2, 8, 8, 3))
    found = ricci.jit(features)(pictures, np.ones((3, 3, 3, 4)))
    assert found.shape == (2, 4, 4, 4)
    larger: Array = image.resize(found, (2, 8, 8, 4), "bilinear")
    assert larger.shape == (2, 8, 8, 4)
