"""Products of matrices that are contracted along their rows, and of transposes, on CPUs.

They are lowered to another product, which has the same values as NumPy's.
"""

import re

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="the lowering of compiled programs is tested")

import ricci
import ricci.numpy as jnp
from ricci import lax

DTYPES = ["float32", "bfloat16", "int8", "complex64", "float64"]
# A product, its value by NumPy, and the shapes of its operands: large ones, then small or empty.
CASES = {
    "rows": (
        lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ()))),
        lambda x, y: x.T @ y,
        [((96, 64), (96, 5)), ((96, 64), (96, 40)), ((3, 4), (3, 2)), ((0, 4), (0, 2))],
    ),
    "rows and columns": (
        lambda x, y: lax.dot_general(x, y, (((0,), (1,)), ((), ()))),
        lambda x, y: x.T @ y.T,
        [((96, 64), (5, 96)), ((96, 64), (40, 96)), ((3, 4), (2, 3)), ((3, 4), (0, 3))],
    ),
    "a transposed operand": (
        lambda x, y: x.T @ y,
        lambda x, y: x.T @ y,
        [((96, 64), (96, 5)), ((1, 4096), (1, 2))],
    ),
    "a transposed product": (
        lambda x, y: (y.T @ x).T,
        lambda x, y: x.T @ y,
        [((96, 64), (96, 5)), ((3, 0), (3, 2))],
    ),
    "transposes alone": (
        lambda x, y: (y.T @ x.T.T).T.T.T,
        lambda x, y: x.T @ y,
        [((96, 64), (96, 5))],
    ),
    "a product used with its transpose": (
        lambda x, y: [(x.T @ y).T, x.T @ y][0] @ (x.T @ y),
        lambda x, y: (x.T @ y).T @ (x.T @ y),
        [((96, 64), (96, 5))],
    ),
    "batches": (
        lambda x, y: jnp.swapaxes(x, 1, 2) @ y,
        lambda x, y: np.swapaxes(x, 1, 2) @ y,
        [((3, 40, 48), (3, 40, 7)), ((0, 40, 48), (0, 40, 7))],
    ),
    "batches behind": (
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((0,), (2,)))),
        lambda x, y: np.einsum("bmk,mnb->bkn", x, y),
        [((3, 40, 48), (40, 7, 3))],
    ),
    "several contracted dimensions": (
        lambda x, y: lax.dot_general(y, x, (((0, 1), (0, 1)), ((), ()))).T,
        lambda x, y: np.einsum("abk,abn->kn", x, y),
        [((8, 12, 64), (8, 12, 5))],
    ),
    "a vector": (
        lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ()))),
        lambda x, y: x.T @ y,
        [((96, 64), (96,))],
    ),
}


def integers(shape, seed):
    return np.random.default_rng(seed).integers(-2, 3, shape)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_products_are_exactly_those_of_numpy(name, dtype):
    product, expected, shapes = CASES[name]
    with ricci.enable_x64(dtype.endswith("64")):
        for x_shape, y_shape in shapes:
            x, y = integers(x_shape, 1), integers(y_shape, 2)
            result = ricci.jit(product)(jnp.asarray(x, dtype), jnp.asarray(y, dtype))
            # Sums of small integers are exact, except where they are rounded to a narrow type.
            value = expected(x, y).astype(result.dtype)
            np.testing.assert_array_equal(np.asarray(result), value)


def layers(x, weights):
    """A layer, one whose weights are transposed, and one over two dimensions of an einsum."""
    first, second, third = weights
    y = jnp.tanh(x @ first) @ second.T
    return jnp.einsum("...th,hgk->...tgk", jnp.tanh(y), third).sum() + (y**2).sum()


def layers_of_numpy(x, weights):
    first, second, third = weights
    y = np.tanh(x @ first) @ second.T
    return np.einsum("...th,hgk->...tgk", np.tanh(y), third).sum() + (y**2).sum()


def test_gradients_of_layers_are_differences_of_their_values():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 8, 160)) / 8
    weights = [rng.standard_normal(s) / 8 for s in ((160, 48), (40, 48), (40, 3, 40))]
    with ricci.enable_x64():
        gradients = ricci.jit(ricci.grad(layers, 1))(x, weights)
        batched = ricci.jit(ricci.vmap(ricci.grad(layers, 1), (0, None)))(x, weights)
    pairs = zip(map(np.asarray, gradients), map(np.asarray, batched), strict=True)
    for i, (gradient, each) in enumerate(pairs):
        direction = rng.standard_normal(gradient.shape)
        step = 1e-5 * direction
        high, low = (
            [w + s * step if j == i else w for j, w in enumerate(weights)] for s in (1, -1)
        )
        slope = (layers_of_numpy(x, high) - layers_of_numpy(x, low)) / 2e-5
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-7)
        np.testing.assert_allclose(np.sum(each, 0), gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["rows", "a transposed product"])
def test_special_values_are_summed_as_by_numpy(name):
    x, y = (integers(s, i).astype("float32") for i, s in enumerate(((96, 64), (96, 5))))
    x[3, 0], x[4, 1], x[5, 2], y[3, 0], y[5, 1] = np.inf, np.nan, -np.inf, 0, np.inf
    product, expected, _ = CASES[name]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(ricci.jit(product)(x, y), expected(x, y))


def products(function, *operands, **options):
    """The contracted dimensions of each product in a function's module, and its transpositions."""
    text = ricci.jit(function).lower(*operands, **options).as_text()
    return re.findall(r"contracting_dims = (\[.*?\]) x (\[.*?\])", text), text.count(".transpose")


MATRICES = np.ones((96, 64), np.float32), np.ones((96, 40), np.float32)


@pytest.mark.parametrize("name", ["rows", "a transposed operand", "a transposed product"])
def test_the_faster_library_gets_products_along_rows(name):
    # A second dimension, of size one, is contracted; no transposition is left.
    assert products(CASES[name][0], *MATRICES) == ([("[0, 1]", "[0, 1]")], 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ["rows", "rows and columns"])
def test_few_columns_are_copied_instead_of_the_left_matrix(name, dtype):
    x = ricci.ShapeDtypeStruct((1000, 800), dtype)
    y = ricci.ShapeDtypeStruct((1000, 8) if name == "rows" else (8, 1000), dtype)
    product = CASES[name][0]
    assert products(product, x, y)[1] == 1  # the result's
    compiled = ricci.jit(product).lower(x, y).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < x.size * x.dtype.itemsize / 4


def test_a_product_of_two_transposes_copies_neither():
    x, y = (ricci.ShapeDtypeStruct(shape, np.float32) for shape in ((600, 500), (400, 600)))
    compiled = ricci.jit(lambda x, y: x.T @ y.T).lower(x, y).compile()
    assert compiled.memory_analysis().temp_size_in_bytes <= 500 * 400 * 4  # the result


def test_few_computed_columns_are_stored_before_they_are_copied():
    x, y = (ricci.ShapeDtypeStruct((4000, n), np.float32) for n in (800, 8))
    text = ricci.jit(lambda x, y: jnp.abs(x).T @ jnp.exp(y)).lower(x, y).as_text()
    assert re.search(r"barrier %\w+ : tensor<4000x8xf32>", text)
    assert not re.search(r"barrier %\w+ : tensor<4000x800xf32>", text)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (MATRICES[0], MATRICES[1][:, 0]),  # a vector
        (MATRICES[0], MATRICES[1][:, :1]),
        (MATRICES[0][:4], MATRICES[1][:4]),  # a small matrix
        (MATRICES[0].astype(np.complex64), MATRICES[1].astype(np.complex64)),
    ],
)
def test_products_that_gain_nothing_stay(x, y):
    assert products(CASES["rows"][0], x, y) == ([("[0]", "[0]")], 0)


def test_a_product_that_is_used_twice_is_computed_once():
    def both(x, y):
        product = x.T @ y
        return product.T, product

    assert products(both, *MATRICES) == ([("[0, 1]", "[0, 1]")], 1)


def test_operands_of_two_precisions_are_not_exchanged():
    def transposed(x, y):
        return lax.dot_general(y, x, (((0,), (0,)), ((), ())), ("highest", "default")).T

    assert products(transposed, *MATRICES)[1] == 1


def test_other_platforms_get_the_product_as_it_is_written():
    traced = ricci.jit(CASES["rows"][0]).trace(*MATRICES)
    text = traced.lower(lowering_platforms=("tpu",)).as_text()
    assert "contracting_dims = [0] x [0]" in text


def test_gradients_of_weights_are_not_transposed():
    loss = lambda w, x: jnp.tanh(x @ w).sum()
    w, x = np.ones((96, 64), np.float32), np.ones((2, 48, 96), np.float32)
    assert products(ricci.grad(loss), w, x)[1] == 0
