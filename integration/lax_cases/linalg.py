"""Decompositions and solvers of jax.lax.linalg."""

import numpy as np

from .case import DTYPES, Table

# fmt: off
TABLE = Table()
each = TABLE.each
LAPACK = "f32 f64 c64 c128"
LOOSE = 2e-4


def matrix(dtype: str, *shape: int, definite: bool = False) -> np.ndarray:
    """Return a well-conditioned matrix, or a definite (and symmetric) one."""
    generator = np.random.default_rng(7)
    values = generator.uniform(-1, 1, shape)
    if dtype.startswith("c"):
        values = values + 1j * generator.uniform(-1, 1, shape)
    if definite:
        values = values @ np.conj(np.swapaxes(values, -1, -2)) + 2 * np.eye(shape[-1])
    else:
        values = values + 2 * np.eye(shape[-2], shape[-1])
    return values.astype(DTYPES[dtype])


def over(names: str, source: str, *shape: int, definite: bool = False, dtypes: str = LAPACK,
         **more: object) -> None:
    """Add a case for each dtype with a matrix `x`."""
    for dtype in dtypes.split():
        loose = {"f32": LOOSE, "c64": LOOSE}.get(dtype, 1e-9)
        options = {"rtol": loose, **more}
        each(names, source, dtypes=dtype, x=matrix(dtype, *shape, definite=definite), **options)  # type: ignore[arg-type]


over("linalg.cholesky", "lax.linalg.cholesky(x)", 3, 3, definite=True)
over("linalg.cholesky", "lax.linalg.cholesky(x, symmetrize_input=False)", 2, 3, 3, definite=True,
     dtypes="f32")
over("linalg.cholesky", "lax.linalg.cholesky(x)", 0, 0, definite=True, dtypes="f32")
over("linalg.cholesky", "lax.linalg.cholesky(-x)", 3, 3, definite=True, dtypes="f32",
     probes="value")
over("linalg.lu", "lax.linalg.lu(x)", 3, 3)
over("linalg.lu", "lax.linalg.lu(x)", 2, 4, 3, dtypes="f32")
over("linalg.lu", "lax.linalg.lu(x)", 3, 4, dtypes="f32")
over("linalg.qr", "lax.linalg.qr(x, full_matrices=False)", 4, 3)
over("linalg.qr", "lax.linalg.qr(x)", 3, 3, dtypes="f32 c64")
over("linalg.qr", "lax.linalg.qr(x, full_matrices=True)", 4, 2, dtypes="f32", probes="value vmap")
over("linalg.qr", "lax.linalg.qr(x, pivoting=True)", 3, 3, dtypes="f32", probes="value vmap")
over("linalg.svd", "lax.linalg.svd(x, full_matrices=False)", 4, 3)
over("linalg.svd", "lax.linalg.svd(x, compute_uv=False)", 2, 3, 4, dtypes="f32 c64")
over("linalg.svd", "lax.linalg.svd(x, full_matrices=True)", 3, 4, dtypes="f32", probes="value vmap")
over("linalg.svd", "lax.linalg.svd(x, full_matrices=False, algorithm=lax.linalg.SvdAlgorithm.QR)",
     3, 3, dtypes="f32", probes="value")
over("linalg.eigh", "lax.linalg.eigh(x)", 3, 3, definite=True)
over("linalg.eigh", "lax.linalg.eigh(x, lower=False, symmetrize_input=False)", 3, 3, definite=True,
     dtypes="f32", probes="value vmap")
over("linalg.eigh", "lax.linalg.eigh(x)", 2, 0, 0, definite=True, dtypes="f32", probes="value")
over("linalg.eig", "lax.linalg.eig(x, compute_left_eigenvectors=False)", 3, 3)
over("linalg.eig", "lax.linalg.eig(x)", 2, 3, 3, dtypes="f32", probes="value vmap")
over("linalg.eig", "lax.linalg.eig(x, compute_left_eigenvectors=False, "
     "compute_right_eigenvectors=False)", 3, 3, dtypes="f32 c64")
over("linalg.hessenberg", "lax.linalg.hessenberg(x)", 4, 4, probes="value vmap")
over("linalg.schur", "lax.linalg.schur(x)", 3, 3, probes="value vmap")
over("linalg.schur", "lax.linalg.schur(x, compute_schur_vectors=False)", 3, 3, dtypes="f32",
     probes="value vmap")
over("linalg.tridiagonal", "lax.linalg.tridiagonal(x)", 4, 4, definite=True, probes="value vmap")
over("linalg.tridiagonal", "lax.linalg.tridiagonal(x, lower=False)", 3, 3, definite=True,
     dtypes="f32", probes="value")
over("linalg.qdwh", "lax.linalg.qdwh(x)[:2]", 4, 3, dtypes="f32 f64", probes="value")
over("linalg.qdwh", "lax.linalg.qdwh(x, is_hermitian=True, max_iterations=8)[0]", 3, 3,
     definite=True, dtypes="f32", probes="value")
over("linalg.householder_product", "lax.linalg.householder_product(x, t)", 4, 3, dtypes="f32",
     t=matrix("f32", 1, 3)[0], probes="value vmap")
over("linalg.householder_product", "lax.linalg.householder_product(x, t)", 4, 3, dtypes="c128",
     t=matrix("c128", 1, 3)[0], probes="value vmap")
over("linalg.ormqr", "lax.linalg.ormqr(x, t, c)", 4, 3, dtypes="f32", t=matrix("f32", 1, 3)[0],
     c=matrix("f32", 4, 2), probes="value vmap")
over("linalg.ormqr", "lax.linalg.ormqr(x, t, c, left=False, transpose=True)", 4, 3, dtypes="f32",
     t=matrix("f32", 1, 3)[0], c=matrix("f32", 2, 4), probes="value vmap")
SOLVE = "lax.linalg.triangular_solve(x, b, "
for dtype in LAPACK.split():
    over("linalg.triangular_solve", SOLVE + "left_side=True, lower=True)", 3, 3, dtypes=dtype,
         b=matrix(dtype, 3, 2))
over("linalg.triangular_solve", "lax.linalg.triangular_solve(x, b)", 3, 3, dtypes="f32",
     b=matrix("f32", 2, 3))
over("linalg.triangular_solve", SOLVE + "left_side=True, transpose_a=True, unit_diagonal=True)",
     3, 3, dtypes="f32", b=matrix("f32", 3, 2))
over("linalg.triangular_solve", SOLVE + "left_side=True, lower=True, transpose_a=True, "
     "conjugate_a=True)", 3, 3, dtypes="c64", b=matrix("c64", 3, 2))
each("linalg.tridiagonal_solve", "lax.linalg.tridiagonal_solve(l, d, u, b)", dtypes="f32 f64 c64",
     l="@[4] in 0 1", d="@[4] in 3 4", u="@[4] in 0 1", b="@[4,2]", rtol=LOOSE)
each("linalg.cholesky_update", "lax.linalg.cholesky_update(r, w)", dtypes="f32 f64",
     r="@[3,3] in 1 2", w="@[3] in 0 1", probes="value vmap", rtol=LOOSE)
each("linalg.symmetric_product", "lax.linalg.symmetric_product(a, c)", dtypes="f32 f64",
     a="@[3,2]", c="@[3,3]", probes="value vmap")
each("linalg.symmetric_product", "lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5, "
     "symmetrize_output=True)", a="f32[3,2]", c="f32[3,3]", probes="value")
each("linalg.lu_pivots_to_permutation", "lax.linalg.lu_pivots_to_permutation(p, 4)",
     p=np.array([2, 2, 3], np.int32))
each("linalg.lu_pivots_to_permutation", "lax.linalg.lu_pivots_to_permutation(p, 3)",
     p="i32[2,2] in 1 2")
