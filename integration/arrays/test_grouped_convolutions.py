"""Convolutions with groups equal those of each group alone, on CPUs where they are lowered as sums.

The arrays are so large that sums of shifted products serve groups of few features, and a
convolution of each group those of many.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="the lowering of compiled programs is tested")

import ricci
import ricci.numpy as jnp
from ricci import lax

CHANNELS_FIRST = ("NCHW", "OIHW", "NCHW")
CHANNELS_LAST = ("NHWC", "HWIO", "NHWC")
MIXED = ("CHNW", "WOHI", "HNWC")
# Groups, input features and results of each, the kernel's sizes, and other options.
CASES = {
    "depthwise": (4, 1, 1, (3, 3), {}),
    "two results each": (4, 1, 2, (3, 3), {}),
    "two inputs each": (4, 2, 3, (2, 3), {}),
    "strides": (4, 1, 1, (3, 3), {"window_strides": (2, 3)}),
    "dilated kernels": (4, 1, 2, (3, 2), {"rhs_dilation": (2, 1)}),
    "dilated operands": (4, 2, 1, (3, 2), {"lhs_dilation": (2, 3)}),
    "negative padding": (4, 1, 1, (3, 3), {"padding": [(-1, 2), (3, -2)]}),
    "many inputs each": (2, 24, 8, (3, 3), {}),
}


def functions(case, numbers):
    """Return the convolution, one of each group alone, and their operands."""
    groups, inputs, outputs, window, options = case
    rng = np.random.default_rng(groups)
    letters = {"N": 2, "C": groups * inputs, "O": groups * outputs, "I": inputs}
    x_sizes, kernel_sizes = letters | {"H": 29, "W": 27}, letters | {"H": window[0], "W": window[1]}
    x = rng.standard_normal([x_sizes[letter] for letter in numbers[0]])
    kernel = rng.standard_normal([kernel_sizes[letter] for letter in numbers[1]])
    options = {"window_strides": (1, 1), "padding": [(1, 1)] * 2, **options}

    def together(x, kernel):
        return lax.conv_general_dilated(
            x, kernel, **options, dimension_numbers=numbers, feature_group_count=groups
        )

    def apart(x, kernel):
        parts = zip(
            jnp.split(x, groups, numbers[0].index("C")),
            jnp.split(kernel, groups, numbers[1].index("O")),
            strict=True,
        )
        alone = [
            lax.conv_general_dilated(*part, **options, dimension_numbers=numbers) for part in parts
        ]
        return jnp.concatenate(alone, numbers[2].index("C"))

    return together, apart, x, kernel


def with_gradients(function):
    def compute(x, kernel):
        y, pullback = ricci.vjp(function, x, kernel)
        return y, *pullback(jnp.cos(y))

    return ricci.jit(compute)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("numbers", [CHANNELS_FIRST, CHANNELS_LAST, MIXED], ids="-".join)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_each_group_alone(name, numbers):
    together, apart, x, kernel = functions(CASES[name], numbers)
    with ricci.enable_x64():
        results = with_gradients(together)(x, kernel)
        expected = with_gradients(apart)(x, kernel)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_narrow_floats_are_rounded_once(dtype):
    together, apart, x, kernel = functions(CASES["two inputs each"], CHANNELS_FIRST)
    x, kernel = jnp.asarray(x).astype(dtype), jnp.asarray(kernel).astype(dtype)
    result = ricci.jit(together)(x, kernel)
    exact = apart(x.astype("float32"), kernel.astype("float32"))
    assert result.dtype == dtype
    error = jnp.abs(result.astype("float32") - exact.astype(dtype).astype("float32"))
    assert bool(jnp.all(error <= jnp.finfo(dtype).eps * jnp.abs(exact)))


def test_integers_of_a_wider_result_are_exact():
    together, apart, x, kernel = functions(CASES["depthwise"], CHANNELS_LAST)
    x, kernel = (jnp.asarray(np.round(100 * v)).astype("int16") for v in (x, kernel))
    wide = lambda f: lambda a, b: f(a.astype("int32"), b.astype("int32"))
    np.testing.assert_array_equal(ricci.jit(wide(together))(x, kernel), wide(apart)(x, kernel))


def test_infinite_elements_of_kernels_meet_the_padding():
    together, _, x, kernel = functions(CASES["depthwise"], CHANNELS_FIRST)
    result = ricci.jit(together)(jnp.ones_like(x), jnp.full_like(kernel, jnp.inf))
    assert bool(jnp.isnan(result[..., 0, :]).all())
    assert bool(jnp.isposinf(result[..., 1:-1, 1:-1]).all())


@pytest.mark.usefixtures("eight_devices")
def test_sharded_batches_are_convolved_where_they_are():
    together, apart, x, kernel = functions(CASES["depthwise"], CHANNELS_FIRST)
    x = np.concatenate([x] * 4)
    mesh = ricci.make_mesh((8,), ("batch",))
    sharded = ricci.device_put(x, ricci.NamedSharding(mesh, ricci.P("batch")))
    for result, value in zip(
        with_gradients(together)(sharded, kernel), with_gradients(apart)(x, kernel), strict=True
    ):
        np.testing.assert_allclose(result, value, rtol=1e-3, atol=1e-3)
