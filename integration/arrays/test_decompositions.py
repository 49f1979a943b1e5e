"""Decompositions by what defines them: A V = V diag(w), Q R = A, L L^H = A, and so on.

A row of a table is a decomposition: the kind of matrices that it takes, a function that calls it,
and the equations that its results satisfy. It is run on matrices with structure (singular, with
equal eigenvalues, diagonal, zero, empty, 1 x 1, wide, tall), real and complex, at both widths, one
by one and as a batch. Where a function reads one triangle alone, the other holds garbage.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
import ricci.scipy.linalg as sla
from ricci import lax

Equations = Iterator[tuple[Any, Any]]

SIZE = 4


class Row(NamedTuple):
    """A decomposition.

    Attributes:
      kind: the matrices that it takes: "any", "square", "hermitian", "positive" or "regular"; with
        ", not empty" those that are not 0 x 0; "single" and "real" ones are no stack, not complex.
      call: the function, of an array of matrices.
      equations: from the matrices and the results, pairs of arrays that are equal.
      garbage: which triangle is overwritten before the call: "upper", "lower" or none.
    """

    kind: str
    call: Callable[..., Any]
    equations: Callable[..., Equations]
    garbage: str = ""


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def identity_like(x: Any) -> Any:
    return np.broadcast_to(np.eye(x.shape[-1]), (*x.shape[:-2], x.shape[-1], x.shape[-1]))


def orthonormal(q: Any) -> Equations:
    yield adjoint(q) @ q, identity_like(q)


def below_is_zero(x: Any, k: int = -1) -> Equations:
    yield np.tril(x, k), np.zeros_like(x)


def diagonal(x: Any, m: int, n: int) -> Any:
    """Matrices of m rows and n columns with the vectors on their diagonals."""
    d = np.zeros((*x.shape[:-1], m, n), x.dtype)
    i = np.arange(x.shape[-1])
    d[..., i, i] = x
    return d


def ascending(w: Any) -> Equations:
    yield np.sort(w, -1), w


# Equations


def of_eigh(a, results) -> Equations:
    w, v = results
    yield a @ v, v * w[..., None, :]
    yield from orthonormal(v)
    yield from ascending(w)


def of_eigenvalues_alone(a, w) -> Equations:
    yield np.sum(w, -1), np.trace(a, axis1=-2, axis2=-1)
    yield np.sum(w * w, -1), np.trace(a @ a, axis1=-2, axis2=-1)


def of_eigvalsh(a, w) -> Equations:
    yield from of_eigenvalues_alone(a, w)
    yield from ascending(w)


def of_eig(a, results) -> Equations:
    w, v = results
    yield a @ v, v * w[..., None, :]
    yield np.sum(np.abs(v) ** 2, -2), np.ones_like(w)
    yield np.sum(w, -1), np.trace(a, axis1=-2, axis2=-1)


def of_two_sided_eig(a, results) -> Equations:
    w, left, right = results
    yield adjoint(left) @ a, w[..., :, None] * adjoint(left)
    yield from of_eig(a, (w, right))


def of_svd(a, results) -> Equations:
    u, s, vh = results
    yield u @ diagonal(s, u.shape[-1], vh.shape[-2]) @ vh, a
    yield from orthonormal(u)
    yield from orthonormal(adjoint(vh))
    yield from ascending(-s)
    yield np.abs(s), s


def of_singular_values(a, s) -> Equations:
    yield np.sum(s**2, -1), np.sum(np.abs(a) ** 2, (-2, -1))
    yield from ascending(-s)


def of_qr(a, results) -> Equations:
    q, r = results
    yield q @ r, a
    yield from orthonormal(q)
    yield from below_is_zero(r)


def of_r(a, r) -> Equations:
    r = r[0] if isinstance(r, tuple) else r
    yield adjoint(r) @ r, adjoint(a) @ a
    yield from below_is_zero(r)


def of_pivoted_qr(a, results) -> Equations:
    q, r, order = results
    yield from of_qr(np.take_along_axis(a, order[..., None, :], -1), (q, r))
    sizes = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
    yield from ascending(-np.round(sizes, 4))


def of_pivoted_r(a, results) -> Equations:
    r, order = results
    yield from of_r(np.take_along_axis(a, order[..., None, :], -1), r)


def of_cholesky(a, lower) -> Equations:
    yield lower @ adjoint(lower), a
    yield from below_is_zero(transposed(lower))


def of_upper_cholesky(a, upper) -> Equations:
    yield from of_cholesky(a, adjoint(upper))


def unit_lower(packed) -> Any:
    k = min(packed.shape[-2:])
    return np.tril(packed[..., :k], -1) + np.eye(packed.shape[-2], k)


def of_lu(a, results) -> Equations:
    p, lower, upper = results
    yield p @ lower @ upper, a
    yield from below_is_zero(upper)
    yield from below_is_zero(transposed(lower))
    yield np.diagonal(lower, axis1=-2, axis2=-1), np.ones((*a.shape[:-2], lower.shape[-1]))
    assert np.abs(lower).max(initial=0) < 1.5  # complex pivots are chosen by |re| + |im|


def of_permuted_lu(a, results) -> Equations:
    lower, upper = results
    yield lower @ upper, a
    yield from below_is_zero(upper)


def of_indexed_lu(a, results) -> Equations:
    order, lower, upper = results
    yield np.take_along_axis(lower @ upper, order[..., :, None], -2), a


def of_packed_lu(a, results) -> Equations:
    packed, _, permutation = results
    upper = np.triu(packed[..., : min(packed.shape[-2:]), :])
    yield unit_lower(packed) @ upper, np.take_along_axis(a, permutation[..., :, None], -2)


def of_solution(a, results) -> Equations:
    x, b = results
    yield a @ x, b


def of_schur(a, results) -> Equations:
    t, z = results
    yield z @ t @ adjoint(z), a
    yield from orthonormal(z)
    yield from below_is_zero(t, -1 if np.iscomplexobj(t) else -2)


def of_hessenberg(a, results) -> Equations:
    h, q = results
    yield q @ h @ adjoint(q), a
    yield from orthonormal(q)
    yield from below_is_zero(h, -2)


def of_polar(a, results, side="right") -> Equations:
    u, p = results
    yield (u @ p if side == "right" else p @ u), a
    yield adjoint(p), p
    yield from orthonormal(u if u.shape[-2] >= u.shape[-1] else adjoint(u))


def of_sqrtm(a, root) -> Equations:
    yield root @ root, a


def of_inverse(a, inverse) -> Equations:
    yield a @ inverse, identity_like(a)


def of_pinv(a, inverse) -> Equations:
    yield a @ inverse @ a, a
    yield inverse @ a @ inverse, inverse
    yield adjoint(a @ inverse), a @ inverse
    yield adjoint(inverse @ a), inverse @ a


def of_equal(a, results) -> Equations:
    yield results


# Calls with more than a decomposition


def right_sides(a: Any) -> Any:
    """Two right sides, which depend on nothing random."""
    n = a.shape[-1]
    sides = np.cos(np.arange(2 * n, dtype=np.float64)).reshape(n, 2)
    if np.iscomplexobj(a):
        sides = sides + 1j * sides[::-1]
    return jnp.broadcast_to(jnp.asarray(sides, a.dtype), (*a.shape[:-2], n, 2))


def operation(a: Any, trans: int) -> Any:
    a = jnp.matrix_transpose(a) if trans else a
    return jnp.conj(a) if trans == 2 else a


def solved(solve: Callable[..., Any], trans: int = 0) -> Callable[..., Any]:
    """Solutions, times the matrix that they solve, and the right sides."""

    def call(a):
        b = right_sides(a)
        x = solve(a, b)
        return jnp.matmul(operation(a, trans), x, precision="highest"), b

    return call


def triangle_of(a: Any, lower: bool, unit: bool) -> Any:
    a = jnp.tril(a) if lower else jnp.triu(a)
    n = a.shape[-1]
    # Away from being singular, and from garbage on a diagonal that is not read.
    return jnp.where(jnp.eye(n, dtype=bool), jnp.where(unit, 1, jnp.abs(a) + 2).astype(a.dtype), a)


def with_garbage(a: Any, lower: bool, unit: bool) -> Any:
    """Triangular matrices whose other triangle, and unit diagonal, are not zero."""
    n = a.shape[-1]
    mask = np.tri(n, k=0, dtype=bool) if lower else np.tri(n, k=0, dtype=bool).T
    if unit:
        mask = mask & ~np.eye(n, dtype=bool)
    return jnp.where(mask, triangle_of(a, lower, unit), 1e3)


def triangular(solve: Callable[..., Any], lower: bool, trans: int, unit: bool):
    def call(a):
        b = right_sides(a)
        x = solve(with_garbage(a, lower, unit), b)
        t = operation(triangle_of(a, lower, unit), trans)
        return jnp.matmul(t, x, precision="highest"), b

    return call


def scipy_triangular(lower, trans, unit):
    return triangular(
        lambda a, b: sla.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit),
        lower,
        trans,
        unit,
    )


def lax_triangular(lower, trans, unit, left):
    def solve(a, b):
        b = b if left else jnp.matrix_transpose(b)
        x = lax.linalg.triangular_solve(
            a,
            b,
            left_side=left,
            lower=lower,
            unit_diagonal=unit,
            transpose_a=bool(trans) == left,
            conjugate_a=trans == 2,
        )
        return x if left else jnp.matrix_transpose(x)

    return triangular(solve, lower, trans, unit)


def tridiagonal_parts(a: Any) -> tuple[Any, Any, Any]:
    n = a.shape[-1]
    i = np.arange(n)
    zero = jnp.zeros((*a.shape[:-2], min(n, 1)), a.dtype)
    below = jnp.concatenate([zero, a[..., i[1:], i[:-1]]], -1)
    above = jnp.concatenate([a[..., i[:-1], i[1:]], zero], -1)
    return below, a[..., i, i] + 4, above


def solved_tridiagonal(a):
    dl, d, du = tridiagonal_parts(a)
    b = right_sides(a)
    x = lax.linalg.tridiagonal_solve(dl, d, du, b)
    product = d[..., None] * x
    product = product.at[..., 1:, :].add(dl[..., 1:, None] * x[..., :-1, :])
    return product.at[..., :-1, :].add(du[..., :-1, None] * x[..., 1:, :]), b


def eigh_tridiagonal(a):
    i = np.arange(a.shape[-1])
    d, e = a[..., i, i], a[..., i[:-1], i[1:]]
    return d, e, sla.eigh_tridiagonal(d, e)


def of_eigh_tridiagonal(a, results) -> Equations:
    d, e, (w, v) = results
    matrix = diagonal(d, *a.shape[-2:])
    i = np.arange(a.shape[-1])
    matrix[..., i[:-1], i[1:]] = e
    matrix[..., i[1:], i[:-1]] = np.conj(e)
    yield from of_eigh(matrix, (w, v))


def householder(a):
    """Q and R from what LAPACK's geqrf leaves: mode "raw" is transposed."""
    h, taus = jnp.linalg.qr(a, mode="raw")
    h = jnp.matrix_transpose(h)
    k = min(a.shape[-2:])
    return lax.linalg.householder_product(h[..., :k], taus), jnp.triu(h[..., :k, :])


def multiplied_by_reflectors(left: bool, transpose: bool):
    def call(a):
        h, taus = jnp.linalg.qr(a, mode="raw")
        h = jnp.matrix_transpose(h)
        m, k = a.shape[-2], min(a.shape[-2:])
        h = h[..., :k]
        square = jnp.concatenate([h, jnp.zeros((*h.shape[:-1], m - k), h.dtype)], -1)
        taus_of_all = jnp.concatenate([taus, jnp.zeros((*taus.shape[:-1], m - k), h.dtype)], -1)
        q = lax.linalg.householder_product(square, taus_of_all)
        q = jnp.conj(jnp.matrix_transpose(q)) if transpose else q
        c = a if left else jnp.matrix_transpose(a)
        product = lax.linalg.ormqr(h, taus, c, left=left, transpose=transpose)
        multiply = partial(jnp.matmul, precision="highest")
        return product, multiply(q, c) if left else multiply(c, q)

    return call


def lax_hessenberg(a):
    packed, taus = lax.linalg.hessenberg(a)
    n = a.shape[-1]
    q = jnp.broadcast_to(jnp.eye(n, dtype=a.dtype), a.shape)
    if n > 1:
        reflected = lax.linalg.householder_product(packed[..., 1:, :-1], taus)
        q = q.at[..., 1:, 1:].set(reflected)
    return jnp.triu(packed, -1), q


def lax_tridiagonal(a, lower):
    packed, d, e, taus = lax.linalg.tridiagonal(a, lower=lower)
    return d, e, packed, taus


def of_tridiagonal(a, results) -> Equations:
    d, e = results[:2]
    matrix = diagonal(d.astype(a.dtype), *a.shape[-2:])
    i = np.arange(a.shape[-1])
    matrix[..., i[1:], i[:-1]] = matrix[..., i[:-1], i[1:]] = e
    yield np.linalg.eigvalsh(matrix), np.linalg.eigvalsh(a)


def updated_cholesky(a):
    r = jnp.linalg.cholesky(a, upper=True)
    w = jnp.cos(jnp.arange(a.shape[-1], dtype=a.real.dtype)) + jnp.zeros(a.shape[:-1])
    w = w.astype(a.dtype)
    new = lax.linalg.cholesky_update(r, w)
    outer = w[..., :, None] * w[..., None, :]
    return jnp.matmul(jnp.matrix_transpose(new), new, precision="highest"), a + outer


def symmetric_product(a):
    c = jnp.zeros((*a.shape[:-1], a.shape[-2]), a.dtype)
    product = lax.linalg.symmetric_product(a, c, symmetrize_output=True)
    return product, jnp.matmul(a, jnp.matrix_transpose(a), precision="highest")


def exponentials(a):
    """Of a matrix and of its negative, whose product is the identity."""
    a = a / 4
    return jnp.matmul(sla.expm(a), sla.expm(-a), precision="highest"), jnp.broadcast_to(
        jnp.eye(a.shape[-1], dtype=a.dtype), a.shape
    )


def frechet(a):
    """The derivative of the exponential along the matrix itself: A exp(A)."""
    value, slope = sla.expm_frechet(a / 4, a / 4)
    return slope, jnp.matmul(a / 4, value, precision="highest")


def sylvester(method):
    def call(a):
        b = jnp.matrix_transpose(a) / 3 + 5 * jnp.eye(a.shape[-1], dtype=a.dtype)
        x = sla.solve_sylvester(a, b, a @ a, method=method)
        product = partial(jnp.matmul, precision="highest")
        return product(a, x) + product(x, b), product(a, a)

    return call


def complex_schur(a):
    return sla.rsf2csf(*sla.schur(a, output="real"))


lin = jnp.linalg


def rows() -> Iterator[tuple[str, Row]]:
    for uplo, other in (("L", "upper"), ("U", "lower")):
        eigh, eigvalsh = partial(lin.eigh, UPLO=uplo), partial(lin.eigvalsh, UPLO=uplo)
        yield f"numpy.eigh {uplo}", Row("hermitian", lambda a, f=eigh: f(a), of_eigh)
        alone = partial(eigh, symmetrize_input=False)
        yield f"numpy.eigh {uplo} alone", Row("hermitian", lambda a, f=alone: f(a), of_eigh, other)
        alone = partial(eigvalsh, symmetrize_input=False)
        yield f"numpy.eigvalsh {uplo} alone", Row("hermitian", alone, of_eigvalsh, other)
    yield "numpy.eig", Row("square", lin.eig, of_eig)
    yield "numpy.eigvals", Row("square", lin.eigvals, of_eigenvalues_alone)
    yield "numpy.svd full", Row("any", lin.svd, of_svd)
    yield "numpy.svd thin", Row("any", partial(lin.svd, full_matrices=False), of_svd)
    yield "numpy.svd hermitian", Row("hermitian", partial(lin.svd, hermitian=True), of_svd)
    yield "numpy.svdvals", Row("any", lin.svdvals, of_singular_values)
    for mode in ("reduced", "complete"):
        yield f"numpy.qr {mode}", Row("any", partial(lin.qr, mode=mode), of_qr)
    yield "numpy.qr r", Row("any", partial(lin.qr, mode="r"), of_r)
    yield "numpy.qr raw", Row("any", householder, of_qr)
    yield "numpy.cholesky", Row("positive", lin.cholesky, of_cholesky)
    yield (
        "numpy.cholesky upper",
        Row("positive", partial(lin.cholesky, upper=True), of_upper_cholesky),
    )
    alone = partial(lin.cholesky, symmetrize_input=False)
    yield "numpy.cholesky alone", Row("positive", alone, of_cholesky, "upper")
    yield "numpy.inv", Row("regular", lin.inv, of_inverse)
    yield "numpy.pinv", Row("any", lin.pinv, of_pinv)
    yield "numpy.pinv hermitian", Row("hermitian", partial(lin.pinv, hermitian=True), of_pinv)
    yield "numpy.solve", Row("regular", solved(lin.solve), of_equal)

    for lower in (True, False):
        side = "lower" if lower else "upper"
        yield f"scipy.eigh {side}", Row("hermitian", partial(sla.eigh, lower=lower), of_eigh)
        cholesky = of_cholesky if lower else of_upper_cholesky
        yield (
            f"scipy.cholesky {side}",
            Row("positive", partial(sla.cholesky, lower=lower), cholesky),
        )
        solve = lambda a, b, lower=lower: sla.cho_solve(sla.cho_factor(a, lower=lower), b)
        yield f"scipy.cho_solve {side}", Row("positive", solved(solve), of_equal)
        solve = lambda a, b, lower=lower: sla.solve(a, b, lower=lower, assume_a="pos")
        yield f"scipy.solve {side}", Row("positive", solved(solve), of_equal)
        for trans in (0, 1, 2):
            for unit in (False, True):
                call = scipy_triangular(lower, trans, unit)
                yield f"scipy.solve_triangular {side} {trans} {unit}", Row("square", call, of_equal)
    yield (
        "scipy.eigh_tridiagonal",
        Row("hermitian, not empty", eigh_tridiagonal, of_eigh_tridiagonal),
    )
    yield "scipy.svd full", Row("any", sla.svd, of_svd)
    yield "scipy.svd thin", Row("any", partial(sla.svd, full_matrices=False), of_svd)
    for mode in ("full", "economic"):
        yield f"scipy.qr {mode}", Row("any", partial(sla.qr, mode=mode), of_qr)
        pivoted = partial(sla.qr, mode=mode, pivoting=True)
        yield f"scipy.qr {mode} pivoted", Row("any", pivoted, of_pivoted_qr)
    yield "scipy.qr r", Row("any", partial(sla.qr, mode="r"), of_r)
    yield "scipy.qr r pivoted", Row("any", partial(sla.qr, mode="r", pivoting=True), of_pivoted_r)
    yield "scipy.lu", Row("any", sla.lu, of_lu)
    yield "scipy.lu permuted", Row("any", partial(sla.lu, permute_l=True), of_permuted_lu)
    for trans in (0, 1, 2):
        solve = lambda a, b, trans=trans: sla.lu_solve(sla.lu_factor(a), b, trans=trans)
        yield f"scipy.lu_solve {trans}", Row("regular", solved(solve, trans), of_equal)
    for output in ("real", "complex"):
        yield f"scipy.schur {output}", Row("square", partial(sla.schur, output=output), of_schur)
    yield "scipy.rsf2csf", Row("square", complex_schur, of_schur)
    hessenberg = partial(sla.hessenberg, calc_q=True)
    yield "scipy.hessenberg", Row("square", hessenberg, of_hessenberg)
    for side in ("left", "right"):
        for method, kind in (("svd", "any"), ("qdwh", "regular")):
            call = partial(sla.polar, side=side, method=method)
            yield f"scipy.polar {side} {method}", Row(kind, call, partial(of_polar, side=side))
    yield "scipy.sqrtm", Row("positive, not empty", sla.sqrtm, of_sqrtm)
    yield "scipy.expm", Row("square", exponentials, of_equal)
    yield "scipy.expm_frechet", Row("single", frechet, of_equal)
    for method in ("schur", "eigen"):
        yield (
            f"scipy.solve_sylvester {method}",
            Row("positive, not empty", sylvester(method), of_equal),
        )

    for lower, other in ((True, "upper"), (False, "lower")):
        side = "lower" if lower else "upper"
        call = lambda a, lower=lower: lax.linalg.eigh(a, lower=lower, symmetrize_input=False)[::-1]
        yield f"lax.eigh {side} alone", Row("hermitian", call, of_eigh, other)
        call = lambda a, lower=lower: lax_tridiagonal(a, lower)
        yield (
            f"lax.tridiagonal {side} alone",
            Row("hermitian, not empty", call, of_tridiagonal, other),
        )
        for trans in (0, 1, 2):
            for unit in (False, True):
                for left in (False, True):
                    call = lax_triangular(lower, trans, unit, left)
                    name = f"lax.triangular_solve {side} {trans} {unit} {left}"
                    yield name, Row("square", call, of_equal)
    call = partial(lax.linalg.cholesky, symmetrize_input=False)
    yield "lax.cholesky alone", Row("positive", call, of_cholesky, "upper")
    yield "lax.cholesky_update", Row("real single", updated_cholesky, of_equal)
    yield "lax.symmetric_product", Row("real", symmetric_product, of_equal)
    yield "lax.eig", Row("square", lax.linalg.eig, of_two_sided_eig)
    yield "lax.hessenberg", Row("square", lax_hessenberg, of_hessenberg)
    yield "lax.lu", Row("any", lax.linalg.lu, of_packed_lu)
    for full in (False, True):
        pivoted = partial(lax.linalg.qr, pivoting=True, full_matrices=full)
        yield f"lax.qr {full}", Row("any", partial(lax.linalg.qr, full_matrices=full), of_qr)
        yield f"lax.qr {full} pivoted", Row("any", pivoted, of_pivoted_qr)
    svd = lax.linalg.SvdAlgorithm
    for algorithm in (svd.DEFAULT, svd.QR, svd.DIVIDE_AND_CONQUER):  # those of CPUs
        call = partial(lax.linalg.svd, full_matrices=False, algorithm=algorithm)
        yield f"lax.svd {algorithm.name}", Row("any", call, of_svd)
    yield "lax.schur", Row("square", lax.linalg.schur, of_schur)
    yield "lax.qdwh", Row("single", lambda a: lax.linalg.qdwh(a)[:2], of_polar)
    for left in (False, True):
        for transpose in (False, True):
            call = multiplied_by_reflectors(left, transpose)
            yield f"lax.ormqr {left} {transpose}", Row("any", call, of_equal)
    yield "lax.tridiagonal_solve", Row("square", solved_tridiagonal, of_equal)


ROWS = dict(rows())


# Matrices


def matrices(kind: str, dtype: str, seed: int) -> Iterator[Any]:
    """Arrays of matrices of a kind: a stack of those with structure, and other shapes."""
    random = np.random.default_rng(seed)
    kind, _, restriction = kind.partition(", ")
    symmetric = kind in ("hermitian", "positive", "real single")

    def normal(*shape):
        x = random.normal(size=shape)
        return x + 1j * random.normal(size=shape) if "complex" in dtype else x

    def of_kind(x):
        return x @ adjoint(x) + np.eye(x.shape[-1]) if symmetric else x

    def unitary():
        return np.linalg.qr(normal(SIZE, SIZE))[0]

    u, v = unitary(), unitary()
    spectra = [[1, 1, 1, 2], [3, 1 + 1e-6, 1, 0.5], [1, 2, 3, 4]]
    if kind in ("hermitian", "any", "square", "real"):
        spectra += [[2, 1, 0, 0], [0, 0, 0, 0]]
    if kind == "hermitian":
        spectra += [[1, -1, 2, -2], [1, 1, -1, -1]]
    right = adjoint(u) if symmetric else v
    stack = [of_kind(normal(SIZE, SIZE)), of_kind(unitary()), of_kind(np.diag(normal(SIZE)))]
    stack += [u * np.array(s) @ right for s in spectra]
    stack += [np.diag(s).astype(u.dtype) for s in spectra]
    yield stack[0]
    if "single" not in kind:
        yield np.stack(stack)
        yield np.zeros((0, SIZE, SIZE))
        if restriction != "not empty":
            yield np.zeros((0, 0))
    yield of_kind(normal(1, 1))
    if kind in ("any", "real"):
        yield normal(3, 5)
        yield np.stack([normal(5, 3), normal(5, 1) @ normal(1, 3), np.zeros((5, 3))])
        yield np.zeros((0, 3))
        yield np.zeros((3, 0))


def check(row: Row, call: Callable[..., Any], a: Any, dtype: str) -> None:
    """Check a row's equations on matrices, in the precision of a dtype."""
    a = a.astype(dtype)
    mask = {"upper": np.triu(np.ones(a.shape), 1), "lower": np.tril(np.ones(a.shape), -1)}
    results = call((a + 1e3 * mask[row.garbage]).astype(dtype) if row.garbage else a)
    wide = ricci.tree.map(lambda x: widened(np.asarray(x)), results)
    a, limit = widened(a), 200 * np.finfo(dtype).eps
    for i, (actual, expected) in enumerate(row.equations(a, wide)):
        assert np.shape(actual) == np.shape(expected), (i, a.shape)
        scale = max(np.abs(expected).max(initial=0), np.abs(a).max(initial=0), 1)
        error = np.abs(actual - expected).max(initial=0) / scale
        assert error < limit, f"equation {i} of shape {a.shape} is off by {error:.1e}"


def widened(x: Any) -> Any:
    """An array in 64-bit parts, so that the check itself does not round."""
    return x.astype({"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64", "complex128"])
@pytest.mark.parametrize("name", ROWS)
def test_factors_satisfy_their_defining_equations(name, dtype):
    row = ROWS[name]
    if row.kind.startswith("real") and "complex" in dtype:
        pytest.skip("defined for real matrices only")
    with ricci.enable_x64(dtype in ("float64", "complex128")):
        call = ricci.jit(row.call)
        for a in matrices(row.kind, dtype, zlib.crc32(name.encode())):
            check(row, call, a, dtype)
