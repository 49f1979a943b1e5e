"""``bucketed``: its arguments, the number of executables, and its errors."""

import inspect
import re

import numpy as np
import pytest

import ricci_lax as lax
import ricci_numpy as jnp
from ricci_autodiff import grad, value_and_grad
from ricci_batching import vmap
from ricci_buckets import PaddingError, bucketed, padding
from ricci_ir import clear_caches, enable_x64


@pytest.fixture(autouse=True)
def _extreme_padding():
    padding.extreme = True
    yield
    padding.extreme = False


def _rows(n, columns=3):
    return np.arange(1.0, n * columns + 1, dtype=np.float32).reshape(n, columns)


def test_compiles_once_for_each_size_and_traces_once():
    traces = []

    def mean(x):
        traces.append(x.shape)
        return jnp.mean(x, 0)

    function = bucketed(mean, sizes=[16, 4])
    for n in (1, 2, 3, 4, 5, 9, 16, 3, 7):
        np.testing.assert_allclose(function(_rows(n)), _rows(n).mean(0), rtol=1e-6)
    assert function.compiled == [{"n": 4}, {"n": 16}]
    (traced,) = function._traced.entries.values()
    assert getattr(traced.run, "_cache_size")() == 2  # noqa: B009
    assert len(traces) == 1  # once for all sizes


def test_default_sizes_are_powers_of_two():
    function = bucketed(lambda x: jnp.cumsum(x))
    for n in (1, 2, 3, 5, 8, 9):
        assert function(np.ones(n, np.float32)).tolist() == list(range(1, n + 1))
    assert [sizes["n"] for sizes in function.compiled] == [1, 2, 4, 8, 16]


def test_arguments_can_have_different_lengths():
    def scores(queries, keys, scale):
        return jnp.dot(queries, keys.T).max(1) * scale

    function = bucketed(
        scores, axis={"queries": "q, _", "keys": "k, _"}, sizes={"q": [4], "k": [8, 16]}
    )
    for q, k in ((1, 5), (4, 9), (3, 8)):
        result = function(_rows(q), keys=_rows(k), scale=2.0)
        np.testing.assert_allclose(result, 2 * (_rows(q) @ _rows(k).T).max(1))
    assert function.compiled == [{"k": 8, "q": 4}, {"k": 16, "q": 4}]


def test_one_array_can_have_two_padded_axes():
    function = bucketed(lambda x: (x.reshape(-1), x.T, x.sum()), axis="a, b", sizes=[4])
    for shape in ((1, 4), (3, 2), (4, 4)):
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        flat, turned, total = function(x)
        np.testing.assert_array_equal(flat, x.reshape(-1))
        np.testing.assert_array_equal(turned, x.T)
        np.testing.assert_allclose(total, x.sum(), rtol=1e-5, atol=1e-6)


def test_arguments_can_be_pytrees_and_unpadded():
    params = {"w": np.eye(3, dtype=np.float32), "b": None}

    def loss(params, batch):
        return jnp.mean(jnp.dot(batch["x"], params["w"]) * batch["weight"][:, None])

    step = bucketed(value_and_grad(loss), axis=(None, 0), sizes=[8])
    for n in (2, 7):
        batch = {"x": _rows(n), "weight": np.linspace(0, 1, n).astype(np.float32)}
        value, gradient = step(params, batch)
        expected = np.mean(batch["x"] * batch["weight"][:, None])
        np.testing.assert_allclose(value, expected, rtol=1e-5)
        row = (batch["x"] * batch["weight"][:, None]).sum(0) / (n * 3)
        np.testing.assert_allclose(gradient["w"], np.tile(row[:, None], 3), rtol=1e-5)
        assert gradient["b"] is None


def test_axis_can_be_negative_with_vmap_inside():
    function = bucketed(vmap(lambda row: row / row.sum()), axis=-1, sizes=[8])
    x = _rows(2, 5)
    np.testing.assert_allclose(function(x), x / x.sum(1, keepdims=True), rtol=1e-6)


def test_reductions_of_integers_and_booleans_ignore_padding():
    function = bucketed(lambda x, keep: (x.max(), x.min(), (x * keep).sum(), keep.all()), sizes=[4])
    x, keep = np.array([3, -5, 2]), np.array([True, True, True])
    assert [int(v) for v in function(x, keep)] == [3, -5, 0, 1]


def test_empty_arrays_are_not_padded():
    function = bucketed(lambda x: (x.sum(), x), sizes=[4])
    total, same = function(np.zeros(0, np.float32))
    assert (float(total), same.shape) == (0.0, (0,))


@pytest.mark.parametrize("wide", [False, True])
def test_result_dtypes_follow_enable_x64(wide):
    with enable_x64(wide):
        function = bucketed(lambda x, y: (x * y).mean() + x.shape[0], axis=(0, None), sizes=[4])
        for _ in range(2):
            result = function(np.arange(3.0), 2.0)
            assert result.dtype == ("float64" if wide else "float32")
            assert float(result) == 5.0
            clear_caches()


def test_constraints_allow_operations_and_are_checked():
    buffer = np.zeros(16, np.float32)

    def write(x):
        return lax.dynamic_update_slice(buffer, x, (3,)), lax.top_k(x, 3)[0]

    function = bucketed(write, sizes=[8, 16], constraints=["n >= 3", "n <= 13"])
    for n in (3, 8, 13):
        x = np.arange(n, dtype=np.float32) + 1
        written, greatest = function(x)
        np.testing.assert_array_equal(written, np.pad(x, (3, 13 - n)))
        np.testing.assert_array_equal(greatest, x[::-1][:3])
    with pytest.raises(ValueError, match="n <= 13 does not hold for n = 14"):
        function(np.zeros(14, np.float32))


# Refused functions, with words of the reason. The line that is named is the one marked below.
def _fourier(x):
    y = x * 2
    return jnp.abs(jnp.fft.fft(y))  # here


def _decomposed(x):
    gram = jnp.outer(x, x)
    return jnp.linalg.eigh(gram)  # here


def _loop(x):
    total = 0
    for i in range(x.shape[0]):  # here
        total += x[i]
    return total


def _decision(x):
    return x.sum() if x.shape[0] > 3 else x.max()  # here


def _shrinking(x):
    return jnp.zeros(3 + 5 // x.shape[0])  # here


def _not_filled(x):
    return jnp.outer(x, x).reshape(4, 4)  # here


def _in_a_gradient(x):
    def inner(x):
        return jnp.abs(jnp.fft.fft(x)).sum()  # here

    return grad(inner)(x)


def _in_a_loop(x):
    def body(carry, a):
        return carry, jnp.abs(jnp.fft.fft(carry * a))  # here

    return lax.scan(body, x, x)


@pytest.mark.parametrize(
    ("fun", "reason"),
    [
        (_fourier, "every coefficient of a Fourier transform"),
        (_decomposed, "a matrix of type float32"),
        (_loop, "has no value while a function is traced"),
        (_decision, "comparison .* is inconclusive"),
        (_shrinking, "not largest where the lengths are largest"),
        (_not_filled, r"shape \(n, n\) does not fill the shape \(4, 4\)"),
        (_in_a_gradient, "every coefficient of a Fourier transform"),
        (_in_a_loop, "every coefficient of a Fourier transform"),
    ],
)
def test_errors_name_the_operation_and_its_line(fun, reason):
    lines, first = inspect.getsourcelines(fun)
    line = first + next(i for i, text in enumerate(lines) if "# here" in text)
    function = bucketed(fun, sizes=[4])
    for _ in range(2):
        with pytest.raises(PaddingError, match=reason) as error:
            function(np.ones(3, np.float32))
        message = str(error.value)
        assert re.search(rf"test_bucketed\.py:{line}\b", message), message
        assert len(message.splitlines()) <= 12
    assert function.compiled == []


def test_errors_name_the_padded_argument():
    function = bucketed(lambda mask, tokens: jnp.fft.fft(tokens), axis=("m", "t"), sizes=[4])
    with pytest.raises(PaddingError, match="t is axis 0 of tokens"):
        function(np.ones(2), np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("options", "args", "words"),
    [
        ({"sizes": []}, (), "sizes must be a sequence of positive ints"),
        ({"sizes": [0, 4]}, (), "sizes must be a sequence of positive ints"),
        ({"sizes": "twos"}, (), "'powers of two'"),
        ({"sizes": [4]}, (np.ones(5),), "axis 0 of x has 5 elements, and the largest"),
        ({"sizes": {"m": [4]}}, (np.ones(5),), "no entry for the length 'n'"),
        ({"axis": 1}, (np.ones(5),), "axis=1 for x, an array of 1 dimensions"),
        ({"axis": "a, b"}, (np.ones(5),), "an array of 1 dimensions"),
        ({"axis": (0, 0)}, (np.ones(5),), "axis has 2 entries"),
        ({"axis": None}, (np.ones(5),), "no argument has a padded axis"),
    ],
)
def test_invalid_arguments_are_named(options, args, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        bucketed(lambda x: x, **options)(*args)


def test_axes_of_one_length_must_agree():
    function = bucketed(lambda x, y: x, sizes=[4])
    with pytest.raises(ValueError, match="axis 0 of y has 3 elements, and axis 0 of x"):
        function(np.ones(2), np.ones(3))


def test_bucketed_inside_a_transformation_raises():
    function = bucketed(lambda x: x.sum(), sizes=[4])
    with pytest.raises(TypeError, match="Put bucketed outermost"):
        grad(function)(np.ones(3, np.float32))
    assert float(function(np.ones(3, np.float32))) == 3


def test_the_error_of_code_that_asks_for_an_integer_says_that_sizes_are_symbolic():
    def sized(x):
        if not isinstance(x.shape[0], int):
            raise ValueError("the size must be an int")
        return x

    with pytest.raises(ValueError, match="must be an int") as error:
        bucketed(sized, sizes=[4])(np.ones(3, np.float32))
    assert any("symbolic sizes, n, which" in note for note in error.value.__notes__)
