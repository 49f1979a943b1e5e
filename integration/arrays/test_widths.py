"""Functions that count positions run with 64-bit types off and on, whatever integers they get."""

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.scipy import signal, special, stats

INTEGERS = "int8 uint8 int32 uint32 int64 uint64".split()
ROWS = np.arange(9.0, dtype=np.float32).reshape(3, 3)
EDGES = np.array([0.0, 0.5, 1.0], np.float32)
FOUND = np.array([0.25, 0.75], np.float32)


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def width(request):
    with ricci.enable_x64(request.param):
        yield np.dtype("int64" if request.param else "int32")


def in_turn(fun):
    """The function as it is, compiled, and once more: cached jaxprs have the same width."""
    return [fun, ricci.jit(fun), fun]


WITH_INDEX = {
    "x[i]": (lambda i: jnp.asarray(ROWS)[i], ROWS[1]),
    "x[i, -1]": (lambda i: jnp.asarray(ROWS)[i, -1], ROWS[1, -1]),
    "x[0, i]": (lambda i: jnp.asarray(ROWS)[0, i], ROWS[0, 1]),
    "x[::2, i]": (lambda i: jnp.asarray(ROWS)[::2, i], ROWS[::2, 1]),
    "x[[0, 2], i]": (lambda i: jnp.asarray(ROWS)[np.array([0, 2]), i], ROWS[[0, 2], 1]),
    "at set": (lambda i: jnp.zeros(3).at[i].set(2.0), [0.0, 2.0, 0.0]),
    "at[i, 0]": (lambda i: jnp.zeros((2, 2)).at[i, 0].add(2.0), [[0.0, 0.0], [2.0, 0.0]]),
    "at get": (lambda i: jnp.asarray(ROWS).at[i, 1:].get(mode="fill"), ROWS[1, 1:]),
    "take": (lambda i: jnp.take(ROWS, i, axis=0), ROWS[1]),
    "dynamic_slice": (lambda i: lax.dynamic_slice_in_dim(ROWS, i, 2), ROWS[1:]),
    "eye": (lambda i: jnp.eye(3, k=i), np.eye(3, k=1)),
    "roll": (lambda i: jnp.roll(EDGES, i), np.roll(EDGES, 1)),
    "switch": (lambda i: lax.switch(i, [lambda: 3.0, lambda: 4.0]), 4.0),
    "reduceat": (lambda i: jnp.add.reduceat(EDGES, jnp.stack([i - i, i])), [0.0, 1.5]),
    "loop": (
        lambda i: lax.fori_loop(i - i, i + i, lambda j, c: c + jnp.asarray(ROWS)[j, 1], 0.0),
        ROWS[:2, 1].sum(),
    ),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", WITH_INDEX)
def test_an_index_of_any_integer_dtype(name, width):
    fun, expected = WITH_INDEX[name]
    given = [jnp.ones((), d if width.itemsize == 8 else d.replace("64", "32")) for d in INTEGERS]
    compiled = ricci.jit(lambda *all_: [fun(i) for i in all_])
    for found in [fun(given[1]), fun(given[-2]), *compiled(*given), fun(given[1])]:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["x[i]", "x[::2, i]", "at[i, 0]"])
def test_mapped_indices(name, width):
    fun, expected = WITH_INDEX[name]
    for run in in_turn(ricci.vmap(fun)):
        np.testing.assert_array_equal(run(jnp.asarray([0, 1]))[1], expected)


# A function of vectors, NumPy's counterpart, and the dtype of the result: as the operands', 32 bits
# whatever the width is, or the default integer.
COUNTED = {
    "interp": (jnp.interp, np.interp, (FOUND, EDGES, EDGES), "float32"),
    "digitize": (jnp.digitize, np.digitize, (FOUND, EDGES), "int32"),
    "searchsorted": (jnp.searchsorted, np.searchsorted, (EDGES, FOUND), "int32"),
    "frexp": (lambda x: jnp.frexp(x)[1], lambda x: np.frexp(x)[1], (EDGES,), "int32"),
    "convolve": (jnp.convolve, np.convolve, (EDGES, FOUND), "float32"),
    "nonzero": (lambda x: jnp.nonzero(x, size=2)[0], lambda x: np.nonzero(x)[0], (EDGES,), None),
    "argwhere": (lambda x: jnp.argwhere(x, size=2), np.argwhere, (EDGES,), None),
    "bincount": (
        lambda x: jnp.bincount(x, length=3), np.bincount, (np.array([0, 2], np.int32),), None,
    ),
    "histogramdd": (
        lambda x: jnp.histogramdd(x, 2)[0],
        lambda x: np.histogramdd(x, 2)[0],
        (ROWS[:, :2],),
        "float32",
    ),
}  # fmt: skip


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", COUNTED)
def test_positions_and_counts(name, width):
    fun, expected, args, dtype = COUNTED[name]
    for run in in_turn(fun):
        found = run(*args)
        np.testing.assert_allclose(found, expected(*args), rtol=1e-6)
        if name != "histogramdd":
            assert found.dtype == (width if dtype is None else dtype)


@pytest.mark.parametrize("jacobian", [ricci.jacfwd, ricci.jacrev], ids=["jacfwd", "jacrev"])
def test_jacobians(jacobian, width):
    for run in in_turn(jacobian(lambda x: x**2 + x[0])):
        found = run(EDGES)
        expected = np.diag(2 * EDGES) + np.eye(3)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.dtype == EDGES.dtype


def test_hessian(width):
    for run in in_turn(ricci.hessian(lambda x: jnp.sum(x**3))):
        np.testing.assert_allclose(run(EDGES), np.diag(6 * EDGES), rtol=1e-6)


@pytest.mark.parametrize("scalar", [2, 2.0])
def test_a_mapped_dot_with_a_python_scalar(scalar, width):
    dims = (((), ()), ((), ()))
    for run in in_turn(ricci.vmap(lambda x: lax.dot_general(x, scalar, dims))):
        np.testing.assert_array_equal(run(EDGES), 2 * EDGES)


def test_a_mapped_ppermute(width, eight_devices):
    turn = [(0, 1), (1, 0)]
    rotate = lambda x: lax.ppermute(x, "i", turn)
    swapped = ricci.vmap(rotate, axis_name="i")(ROWS[:2])
    np.testing.assert_array_equal(swapped, ROWS[1::-1])
    mapped = ricci.pmap(ricci.vmap(rotate, axis_name="j"), axis_name="i")(ROWS[:2])
    np.testing.assert_array_equal(mapped, ROWS[1::-1])


def test_a_start_value_takes_the_dtype_of_the_operand(width):
    for run in in_turn(lambda x: lax.reduce(x, 0.0, lax.add, (0,))):
        assert run(jnp.asarray(EDGES, "float16")).dtype == np.float16


FLOATS = {"sin": jnp.sin, "mean": jnp.mean, "std": jnp.std, "divide": lambda x: jnp.divide(x, x)}


@pytest.mark.parametrize("name", FLOATS)
def test_only_wide_integers_become_wide_floats(name, width):
    dtypes = ["bool", *INTEGERS] if width.itemsize == 8 else ["bool", *INTEGERS[:4]]
    found = ricci.jit(lambda *given: [FLOATS[name](x) for x in given])(
        *[np.ones(2, dtype) for dtype in dtypes]
    )
    for result, dtype in zip(found, dtypes, strict=True):
        assert result.dtype == (np.float64 if dtype.endswith("64") else np.float32)
    assert FLOATS[name](np.ones(2, np.int32)).dtype == np.float32


@pytest.mark.parametrize("name", "floor_divide remainder left_shift power".split())
def test_booleans_become_integers_of_32_bits(name, width):
    truth = np.ones(2, bool)
    fun = lambda x: getattr(jnp, name)(x, x)
    for run in fun, ricci.jit(fun):
        assert run(truth).dtype == np.int32
    assert jnp.square(np.ones(2, bool)).dtype == np.int32


NARROW = {
    "multivariate_normal": lambda x: stats.multivariate_normal.logpdf(
        x, x, jnp.eye(4, dtype=np.float32)
    ),
    "gaussian_kde": lambda x: stats.gaussian_kde(x)(x),
    "multigammaln": lambda x: special.multigammaln(x, 2),
    "welch": lambda x: signal.welch(x, nperseg=2),
    "stft": lambda x: [v.real for v in signal.stft(x, nperseg=2)],
    "istft": lambda x: signal.istft(x[:3, None].astype(np.complex64)),
    "csd": lambda x: signal.csd(x, None, nperseg=2),
    "trapezoid": jnp.trapezoid,
    "softmax": ricci.nn.softmax,
    "log_softmax": ricci.nn.log_softmax,
    "logsumexp": ricci.nn.logsumexp,
    "gelu": ricci.nn.gelu,
    "standardize": ricci.nn.standardize,
}


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("name", NARROW)
def test_operands_of_32_bits_give_results_of_32_bits(name, dtype, width):
    made = ricci.eval_shape(NARROW[name], ricci.ShapeDtypeStruct((4,), dtype))
    assert {leaf.dtype for leaf in ricci.tree.leaves(made)} == {np.dtype("float32")}
