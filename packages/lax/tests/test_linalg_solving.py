"""Factorisations and linear systems of special forms."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ricci_autodiff import jvp, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, enable_x64, make_jaxpr, use_backend
from ricci_lax import linalg
from ricci_stablehlo import lower_jaxpr

DATA = Path(__file__).parent / "data" / "linalg_solving_jaxprs.txt"
F32 = np.float32
DTYPES = ("float32", "float64", "complex64", "complex128")
FLAGS = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


@pytest.fixture
def backend():
    """A backend to compute values with."""
    reference = pytest.importorskip("ricci_reference", reason="values need a backend")
    with use_backend(reference.reference_backend):
        yield


def values(*shape, dtype="float32", seed=0):
    """Random values, far from any tie."""
    random = np.random.default_rng(seed)
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def positive(*shape, dtype="float32"):
    x = values(*shape, dtype=dtype)
    return (x @ adjoint(x) + np.eye(shape[-1])).astype(dtype)


def close(actual, expected):
    actual = np.asarray(actual)
    digits = 2e-4 if actual.dtype.itemsize <= (8 if actual.dtype.kind == "c" else 4) else 1e-10
    np.testing.assert_allclose(actual, expected, digits, digits)


def printed():
    """JAX's output, by title."""
    for part in DATA.read_text().split("### ")[1:]:
        title, _, body = part.partition("\n")
        source, _, text = body.partition("\n--->\n")
        lines = [line.removesuffix("|") for line in text.splitlines()]
        yield pytest.param(source, "\n".join(lines), id=title)


@pytest.mark.parametrize(("source", "expected"), list(printed()))
def test_programs_print_as_in_jax(source, expected):
    names = {"make_jaxpr": make_jaxpr, "jvp": jvp, "vjp": vjp, "vmap": vmap}
    assert str(eval(source, {**names, "linalg": linalg, "of": of})) == expected


# cholesky


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_cholesky_factors(backend, dtype, batch):
    with enable_x64(True):
        x = positive(*batch, 3, 3, dtype=dtype)
        factor = np.asarray(linalg.cholesky(x))
    assert factor.dtype == dtype
    assert np.array_equal(factor, np.tril(factor))
    close(factor @ adjoint(factor), x)


def test_cholesky_reads_the_lower_triangle_unless_it_symmetrizes(backend):
    x = positive(3, 3)
    upset = x + np.triu(values(3, 3, seed=1), 1)
    close(linalg.cholesky(upset, symmetrize_input=False), linalg.cholesky(x))
    close(linalg.cholesky(upset), linalg.cholesky((upset + upset.T) / 2))


def test_cholesky_of_a_matrix_that_is_not_positive_definite_is_nan(backend):
    factors = np.asarray(linalg.cholesky(np.stack([np.eye(2), -np.eye(2)]).astype(F32)))
    assert np.array_equal(factors[0], np.eye(2))
    assert np.array_equal(factors[1], [[np.nan, 0], [np.nan, np.nan]], equal_nan=True)


# The sum of two Booleans is a Boolean, half of which is 1/2.
@pytest.mark.parametrize(("dtype", "squared"), [("int32", 1), ("uint8", 1), ("bool", 0.5)])
def test_cholesky_converts_integers_that_it_symmetrizes(backend, dtype, squared):
    factor = np.asarray(linalg.cholesky(np.eye(2).astype(dtype)))
    assert factor.dtype == F32
    close(factor**2, squared * np.eye(2))


def test_cholesky_update_is_the_factor_of_the_updated_matrix(backend):
    r, w = np.triu(positive(3, 3)), values(3, seed=1)
    result = np.asarray(linalg.cholesky_update(r, w))
    close(result.T @ result, r.T @ r + np.outer(w, w))
    close(np.tril(result, -1), np.zeros((3, 3)))


# symmetric_product


@pytest.mark.parametrize("batch", [(), (2,)])
def test_symmetric_product(backend, batch):
    a, c = values(*batch, 3, 2), positive(*batch, 3, 3)
    result = linalg.symmetric_product(a, c, alpha=2.0, beta=0.5, symmetrize_output=True)
    close(result, 2 * a @ adjoint(a) + c / 2)


# triangular_solve


def solved(a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    """The solutions by a solver for matrices of any form."""
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = a - a * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    if conjugate_a:
        a = np.conj(a)
    if transpose_a:
        a = np.swapaxes(a, -1, -2)
    if left_side:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("flags", list(product((False, True), repeat=5)), ids=str)
def test_triangular_solve_with_every_flag(backend, dtype, flags):
    options = dict(zip(FLAGS, flags, strict=True))
    with enable_x64(True):
        a = values(2, 3, 3, dtype=dtype) + np.asarray(3 * np.eye(3), dtype)
        b = values(2, *((3, 4) if options["left_side"] else (4, 3)), dtype=dtype, seed=1)
        result = linalg.triangular_solve(a, b, **options)
        close(result, solved(a, b, **options))


@pytest.mark.parametrize("left_side", [False, True])
def test_triangular_solve_takes_one_vector_for_each_matrix(backend, left_side):
    a, b = values(2, 3, 3) + 3 * np.eye(3, dtype=F32), values(2, 3, seed=1)
    result = linalg.triangular_solve(a, b, left_side=left_side)
    matrices = np.triu(a) if left_side else np.swapaxes(np.triu(a), -1, -2)
    close(result, np.linalg.solve(matrices, b[..., None])[..., 0])


@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (None, 1), (None, 2), (2, 1)])
def test_triangular_solve_is_batched(backend, left_side, in_axes):
    fun = lambda a, b: linalg.triangular_solve(a, b, left_side=left_side)
    a, b = values(2, 3, 3) + 3 * np.eye(3, dtype=F32), values(2, 3, 3, seed=1)
    operands = [
        x[0] if axis is None else np.moveaxis(x, 0, axis)
        for x, axis in zip((a, b), in_axes, strict=True)
    ]
    expected = [
        np.asarray(fun(a[i * (in_axes[0] is not None)], b[i * (in_axes[1] is not None)]))
        for i in range(2)
    ]
    close(vmap(fun, in_axes)(*operands), np.stack(expected))


def test_triangular_solve_of_a_singular_matrix_is_not_finite(backend):
    a, b = np.zeros((2, 2), F32), np.ones((2, 1), F32)
    with np.errstate(all="ignore"):
        result = np.asarray(linalg.triangular_solve(a, b, left_side=True))
    assert np.isnan(result[0, 0])
    assert result[1, 0] == np.inf


# lu


def factors_of(packed, m, n):
    k = min(m, n)
    lower = np.tril(packed[..., :, :k], -1) + np.eye(m, k, dtype=packed.dtype)
    return lower, np.triu(packed[..., :k, :])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (2, 3, 3), (2, 2, 4, 3)])
def test_lu_factors(backend, dtype, shape):
    with enable_x64(True):
        x = values(*shape, dtype=dtype)
        packed, pivots, permutation = map(np.asarray, linalg.lu(x))
    assert (packed.dtype, pivots.dtype, permutation.dtype) == (dtype, np.int32, np.int32)
    lower, upper = factors_of(packed, *shape[-2:])
    close(lower @ upper, np.take_along_axis(x, permutation[..., None], -2))


@pytest.mark.parametrize(
    ("x", "expected"),
    [([[1, 2], [2, 4]], [[2, 4], [0.5, 0]]), ([[0, 0], [0, 0]], [[0, 0], [0, 0]])],
)
def test_lu_of_a_singular_matrix_is_finite(backend, x, expected):
    result = np.asarray(linalg.lu(np.array(x, F32))[0])
    assert np.array_equal(result, np.array(expected, F32))


@pytest.mark.parametrize(("pivots", "size"), [([2, 1, 2], 4), ([[1, 1], [0, 1]], 2), ([], 3)])
def test_pivots_are_exchanges_one_after_another(backend, pivots, size):
    pivots = np.array(pivots, np.int32)
    expected = np.broadcast_to(np.arange(size), (*pivots.shape[:-1], size)).copy()
    for place in np.ndindex(*pivots.shape[:-1]):
        for i, j in enumerate(pivots[place]):
            expected[place][[i, j]] = expected[place][[j, i]]
    result = np.asarray(linalg.lu_pivots_to_permutation(pivots, size))
    assert result.dtype == np.int32
    assert np.array_equal(result, expected)


# tridiagonal_solve


def dense(dl, d, du):
    return np.stack(
        [
            np.diag(b) + np.diag(a[1:], -1) + np.diag(c[:-1], 1)
            for a, b, c in zip(dl, d, du, strict=True)
        ]
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("perturb_singular", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_tridiagonal_solve(backend, dtype, perturb_singular, n):
    with enable_x64(True):
        dl, d, du = (values(2, n, dtype=dtype, seed=seed) for seed in range(3))
        b = values(2, n, 3, dtype=dtype, seed=3)
        result = linalg.tridiagonal_solve(dl, d, du, b, perturb_singular=perturb_singular)
    expected = np.linalg.solve(dense(dl, d, du), b)
    scale = np.max(np.abs(expected))
    close(np.asarray(result) / scale, expected / scale)


def test_tridiagonal_solve_ignores_elements_outside_of_the_matrix(backend):
    dl, du = np.array([np.nan, 1], F32), np.array([1, np.nan], F32)
    d, b = np.array([4, 4], F32), np.ones((2, 1), F32)
    close(linalg.tridiagonal_solve(dl, d, du, b), np.full((2, 1), 0.2))


def test_a_singular_tridiagonal_matrix_gives_nan_or_large_numbers(backend):
    zeros, b = np.zeros(3, F32), np.ones((3, 1), F32)
    assert np.all(np.isnan(np.asarray(linalg.tridiagonal_solve(zeros, zeros, zeros, b))))
    result = linalg.tridiagonal_solve(zeros, zeros, zeros, b, perturb_singular=True)
    assert np.array_equal(np.asarray(result), np.full((3, 1), 2.0**126, F32))


# Matrices without elements


EMPTY = [
    (linalg.cholesky, [(0, 0)], [(0, 0)]),
    (linalg.cholesky, [(0, 3, 3)], [(0, 3, 3)]),
    (linalg.cholesky_update, [(0, 0), (0,)], [(0, 0)]),
    (linalg.symmetric_product, [(3, 0), (3, 3)], [(3, 3)]),
    (linalg.triangular_solve, [(0, 0), (2, 0)], [(2, 0)]),
    (linalg.triangular_solve, [(3, 3), (0, 3)], [(0, 3)]),
    (linalg.triangular_solve, [(0, 3, 3), (0, 2, 3)], [(0, 2, 3)]),
    (linalg.lu, [(0, 0)], [(0, 0), (0,), (0,)]),
    (linalg.lu, [(3, 0)], [(3, 0), (0,), (3,)]),
    (linalg.lu, [(0, 2, 3)], [(0, 2, 3), (0, 2), (0, 2)]),
    (linalg.tridiagonal_solve, [(0,), (0,), (0,), (0, 2)], [(0, 2)]),
    (linalg.tridiagonal_solve, [(2,), (2,), (2,), (2, 0)], [(2, 0)]),
    (linalg.tridiagonal_solve, [(0, 3), (0, 3), (0, 3), (0, 3, 1)], [(0, 3, 1)]),
]


@pytest.mark.parametrize(("fun", "shapes", "expected"), EMPTY)
def test_solvers_accept_empty_operands(backend, fun, shapes, expected):
    results = fun(*(np.eye(*s, dtype=F32) if len(s) == 2 else np.zeros(s, F32) for s in shapes))
    results = results if isinstance(results, tuple | list) else (results,)
    assert [np.shape(x) for x in results] == expected


# Derivatives that are not there


def _first(fun):
    return lambda *xs: jvp(fun, xs, xs)


@pytest.mark.parametrize(
    ("fun", "shapes", "message"),
    [
        (_first(linalg.cholesky_update), [(3, 3), (3,)], "jvp of cholesky_update.*cholesky"),
        (vmap(linalg.cholesky_update), [(2, 3, 3), (2, 3)], "batch of cholesky_update"),
        (_first(linalg.symmetric_product), [(3, 2), (3, 3)], "jvp of symmetric_product.*products"),
    ],
)
def test_missing_rules_raise_with_the_reason(fun, shapes, message):
    with pytest.raises(NotImplementedError, match=message):
        make_jaxpr(fun)(*(of(*s) for s in shapes))


def test_solving_for_no_rows_has_derivatives():
    shapes = [(0,), (0,), (0,), (0, 2)]
    pull = lambda *xs: vjp(linalg.tridiagonal_solve, *xs[:4])[1](xs[4])
    jaxpr = make_jaxpr(pull)(*(of(*s) for s in [*shapes, (0, 2)]))
    assert [aval.shape for aval in jaxpr.out_avals] == shapes


# Bad input


def case(error, message, name, *operands, **options):
    """Operands are given by their shapes; a dtype other than float32 comes first."""
    avals = [of(*x[1:], dtype=x[0]) if x and isinstance(x[0], str) else of(*x) for x in operands]
    kinds = "-".join(str(x) for x in operands)
    fun = lambda *xs: getattr(linalg, name)(*xs, **options)
    return pytest.param(error, message, fun, avals, id=f"{name}-{kinds}")


INT, HALF, COMPLEX = ("int32", 3, 3), ("float16", 3, 3), ("complex64", 3, 3)
BAD = [
    case(TypeError, "must be float32, float64", "cholesky", HALF),
    case(TypeError, "must be float32, float64", "cholesky", INT, symmetrize_input=False),
    case(ValueError, "must be square", "cholesky", (3,)),
    case(ValueError, "must be square", "cholesky", ()),
    case(ValueError, "must be square", "cholesky", (3, 4)),
    case(ValueError, "must be square", "cholesky", (3,), symmetrize_input=False),
    case(ValueError, "must be square", "cholesky", (3, 4), symmetrize_input=False),
    case(TypeError, "r_matrix must be float32 or float64", "cholesky_update", INT, (3,)),
    case(TypeError, "r_matrix must be float32 or float64", "cholesky_update", COMPLEX, (3,)),
    case(TypeError, "w_vector must be float32", "cholesky_update", (3, 3), ("int32", 3)),
    case(TypeError, "r_matrix must have rank 2", "cholesky_update", (2, 3, 3), (2, 3)),
    case(TypeError, "w_vector must have rank 1", "cholesky_update", (3, 3), (3, 1)),
    case(ValueError, "square and w_vector of its size", "cholesky_update", (3, 4), (3,)),
    case(ValueError, "square and w_vector of its size", "cholesky_update", (3, 3), (4,)),
    case(TypeError, "a_matrix must be float32 or float64", "symmetric_product", INT, (3, 3)),
    case(TypeError, "c_matrix must be float32 or float64", "symmetric_product", (3, 2), COMPLEX),
    case(TypeError, "a_matrix must have at least two", "symmetric_product", (3,), (3, 3)),
    case(TypeError, "c_matrix must have at least two", "symmetric_product", (3, 2), (3,)),
    case(TypeError, "the same batch dimensions", "symmetric_product", (3, 2), (2, 3, 3)),
    case(TypeError, "the same batch dimensions", "symmetric_product", (4, 3, 2), (2, 3, 3)),
    case(ValueError, "c_matrix must be", "symmetric_product", (4, 2), (3, 3)),
    case(ValueError, "c_matrix must be", "symmetric_product", (3, 2), (3, 4)),
    case(TypeError, "not defined for dtype int32", "triangular_solve", INT, INT),
    case(TypeError, "differ in dtype", "triangular_solve", (3, 3), COMPLEX),
    case(TypeError, "a must have at least two", "triangular_solve", (3,), (3,)),
    case(TypeError, "b must have at least two", "triangular_solve", (3, 3), ()),
    case(TypeError, "number of batch dimensions", "triangular_solve", (2, 3, 3), (4, 2, 3, 3)),
    case(ValueError, "must be square", "triangular_solve", (3, 4), (3, 3)),
    case(ValueError, "as many columns as a", "triangular_solve", (3, 3), (4, 4)),
    case(ValueError, "as many rows as a", "triangular_solve", (3, 3), (4, 3), left_side=True),
    case(ValueError, "as many columns as a", "triangular_solve", (3, 3), (4,)),
    case(ValueError, "differ in size", "triangular_solve", (2, 3, 3), (4, 3, 3)),
    case(TypeError, "must be float32, float64", "lu", INT),
    case(TypeError, "must be float32, float64", "lu", HALF),
    case(TypeError, "at least two dimensions", "lu", (3,)),
    case(TypeError, "at least two dimensions", "lu", ()),
    *(
        case(error, message, "lu_pivots_to_permutation", pivots, permutation_size=size)
        for error, message, pivots, size in [
            (TypeError, "must be int32", (3,), 3),
            (TypeError, "must be int32", ("uint32", 3), 3),
            (TypeError, "must be int32", ("bool", 3), 3),
            (TypeError, "at least one dimension", ("int32",), 3),
            (ValueError, "is less than the 3 pivots", ("int32", 3), 2),
            (ValueError, "is less than the 0 pivots", ("int32", 0), -1),
        ]
    ),
    case(TypeError, "b must have at least 2", "tridiagonal_solve", *[(3,)] * 4),
    case(TypeError, "dl must have at least 1", "tridiagonal_solve", *[()] * 4),
    case(TypeError, "must be float32, float64", "tridiagonal_solve", *[("int32", 3)] * 3, INT),
    case(TypeError, "must have one dtype", "tridiagonal_solve", *[(3,)] * 3, COMPLEX),
    case(TypeError, "must have one shape", "tridiagonal_solve", (2,), (3,), (2,), (3, 2)),
    case(TypeError, "the shape of the diagonals", "tridiagonal_solve", *[(3,)] * 3, (4, 2)),
    case(TypeError, "the shape of the diagonals", "tridiagonal_solve", *[(2, 3)] * 3, (3, 2)),
]


@pytest.mark.parametrize(("error", "message", "fun", "avals"), BAD)
def test_errors_name_the_rule_that_is_broken(error, message, fun, avals):
    with pytest.raises(error, match=message) as caught:
        make_jaxpr(fun)(*avals)
    # Neither a subclass nor a superclass: what a caller of JAX would catch.
    assert caught.type is error


# Lowerings for other platforms


def lowered(platform, fun, *avals):
    return lower_jaxpr(make_jaxpr(fun)(*avals), "f", platform=platform)


def perturbed(*operands):
    return linalg.tridiagonal_solve(*operands, perturb_singular=True)


def permutation(pivots):
    return linalg.lu_pivots_to_permutation(pivots, 5)


DIAGONALS = [of(3)] * 3
KERNELS = [
    (linalg.cholesky, [of(2, 3, 3)], "{}solver_potrf_ffi", "backend_config = {{lower = true}}"),
    (linalg.lu, [of(2, 3, 3)], "{}solver_getrf_ffi", 'num_batch_dims = "1"'),
    (linalg.lu, [of(3, 3)], "{}_lu_pivots_to_permutation", 'num_batch_dims = "0"'),
    (permutation, [of(3, dtype="int32")], "{}_lu_pivots_to_permutation", "{{i=3, j=5}}, custom"),
    (linalg.tridiagonal_solve, [*DIAGONALS, of(3, 2)], "{}sparse_gtsv2_ffi", "operand_index = 3"),
    (perturbed, [*DIAGONALS, of(3, 2)], "{}_tridiagonal_solve_perturbed", "result_layouts"),
]


@pytest.mark.parametrize(("platform", "prefix"), [("cuda", "cu"), ("rocm", "hip")])
@pytest.mark.parametrize(("fun", "avals", "target", "attribute"), KERNELS)
def test_gpus_run_kernels(platform, prefix, fun, avals, target, attribute):
    text = lowered(platform, fun, *avals)
    (line,) = [x for x in text.splitlines() if f'"{target.format(prefix)}"' in x]
    assert attribute.format() in line
    assert "lapack" not in text


@pytest.mark.parametrize(
    ("fun", "avals", "target", "attribute"),
    [
        (linalg.cholesky_update, [of(3, 3), of(3)], "cu_cholesky_update_ffi", "dense<[1, 0]>"),
        (linalg.symmetric_product, [of(3, 2), of(3, 3)], "cusolver_syrk_ffi", "transpose = false"),
    ],
)
def test_only_cuda_has_these_kernels(fun, avals, target, attribute):
    (line,) = [x for x in lowered("cuda", fun, *avals).splitlines() if f'"{target}"' in x]
    assert attribute in line
    assert all("custom_call" not in lowered(p, fun, *avals) for p in ("cpu", "rocm", "tpu"))


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
@pytest.mark.parametrize(
    ("options", "operation"),
    [
        ({"transpose_a": True}, "TRANSPOSE"),
        ({"transpose_a": True, "conjugate_a": True}, "ADJOINT"),
        ({"conjugate_a": True}, "NO_TRANSPOSE"),
    ],
)
def test_triangular_solve_is_an_operation_off_the_cpu(platform, options, operation):
    fun = lambda a, b: linalg.triangular_solve(a, b, **options)
    text = lowered(platform, fun, *[of(3, 3, dtype="complex64")] * 2)
    assert f"#stablehlo<transpose {operation}>" in text
    # Without the transpose, the operation cannot conjugate.
    assert ("stablehlo.imag" in text) == (operation == "NO_TRANSPOSE")


@pytest.mark.parametrize(
    ("fun", "avals", "operation"),
    [
        (linalg.cholesky, [of(3, 3)], "stablehlo.cholesky"),
        (linalg.lu, [of(3, 4)], '"LuDecomposition"'),
        (permutation, [of(2, 3, dtype="int32")], "stablehlo.while"),
        (linalg.cholesky_update, [of(3, 3), of(3)], "stablehlo.while"),
        (linalg.tridiagonal_solve, [*DIAGONALS, of(3, 2)], "stablehlo.while"),
    ],
)
def test_tpus_run_operations(fun, avals, operation):
    assert operation in lowered("tpu", fun, *avals)


@pytest.mark.parametrize("n", [1, 2])
def test_gpus_eliminate_where_their_kernel_does_not_fit(n):
    text = lowered("cuda", linalg.tridiagonal_solve, of(n), of(n), of(n), of(n, 2))
    assert "custom_call" not in text


def test_no_kernel_perturbs_on_tpus():
    with pytest.raises(NotImplementedError, match="perturb_singular=True has no kernel on tpu"):
        lowered("tpu", perturbed, *DIAGONALS, of(3, 2))
