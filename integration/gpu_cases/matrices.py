"""Programs of linear algebra and Fourier transforms, by what does not depend on signs."""

from functools import partial

import numpy as np

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from gpu_cases.case import BATCH, COMPLEX, SQUARE, SYMMETRIC, TALL, VECTOR, Table, normal
from jax import lax

PRODUCT = partial(jnp.matmul, precision="highest")
DEFINITE = BATCH @ BATCH.transpose(0, 2, 1) + 10 * np.eye(10, dtype=np.float32)


def _eigh(a):
    w, v = jnp.linalg.eigh(a)
    return w, PRODUCT(v * w, v.T.conj())


def _svd(a):
    u, s, v = jnp.linalg.svd(a, full_matrices=False)
    return s, PRODUCT(u * s, v)


def _qr(a):
    q, r = jnp.linalg.qr(a)
    return PRODUCT(q, r), jnp.abs(r)


def _symmetric(table: Table) -> None:
    add = table.add
    add("cholesky", jnp.linalg.cholesky, SYMMETRIC, reference=np.linalg.cholesky)
    add("cholesky.batched", jnp.linalg.cholesky, DEFINITE, reference=np.linalg.cholesky)
    add("cholesky.nan", jnp.linalg.cholesky, -SYMMETRIC)
    add("cholesky.grad", jax.grad(lambda a: jnp.linalg.cholesky(a).sum()), SYMMETRIC)
    add("eigh", _eigh, SYMMETRIC, reference=lambda a: (np.linalg.eigvalsh(a), a), tolerance=1e-4)
    add("eigh.c64", lambda a: _eigh(a + a.T.conj()), COMPLEX, tolerance=1e-4)
    add("eigh.batched", jnp.linalg.eigvalsh, DEFINITE, reference=np.linalg.eigvalsh, tolerance=1e-4)
    weighted = lambda a: (jnp.linalg.eigh(a)[1] ** 2 * jnp.arange(10.0)).sum()
    add("eigh.grad", jax.grad(weighted), SYMMETRIC, tolerance=1e-3)
    for name in ("QR", "JACOBI"):
        method = getattr(lax.linalg.EighImplementation, name)
        values = lambda a, method=method: lax.linalg.eigh(a, implementation=method)[1]
        add(f"eigh.{name}", values, SYMMETRIC, tolerance=1e-4)
    add("tridiagonal", lambda a: lax.linalg.tridiagonal(a)[1], SYMMETRIC, tolerance=1e-4)
    factor = np.linalg.cholesky(SYMMETRIC).T.astype(np.float32)
    add("cholesky_update", lax.linalg.cholesky_update, factor, VECTOR[:10], tolerance=1e-4)
    product = partial(lax.linalg.symmetric_product, symmetrize_output=True)
    add("symmetric_product", product, SQUARE, SYMMETRIC, tolerance=5e-3)
    solve = lambda a, b: jsp.linalg.cho_solve(jsp.linalg.cho_factor(a), b)
    add("cho_solve", solve, SYMMETRIC, SQUARE, tolerance=1e-3)


def _rectangular(table: Table) -> None:
    add = table.add
    values = lambda a: np.linalg.svd(a, compute_uv=False)
    both = lambda a: (values(a), a)
    add("svd", _svd, TALL, reference=both, tolerance=1e-4)
    add("svd.wide", _svd, TALL.T.copy(), reference=both, tolerance=1e-4)
    add("svd.c64", _svd, COMPLEX, tolerance=1e-4)
    add("svd.batched", jnp.linalg.svdvals, BATCH, reference=values, tolerance=1e-4)
    add("svd.big", jnp.linalg.svdvals, normal(600, 1100), reference=values, tolerance=1e-3)
    add("svd.grad", jax.grad(lambda a: _svd(a)[0].sum()), TALL, tolerance=1e-4)
    for name in ("QR", "JACOBI", "POLAR"):
        method = getattr(lax.linalg.SvdAlgorithm, name)
        part = lambda a, method=method: lax.linalg.svd(a, full_matrices=False, algorithm=method)[1]
        add(f"svd.{name}", part, TALL, tolerance=1e-4)
    add("qr", _qr, TALL, reference=lambda a: (a, np.abs(np.linalg.qr(a)[1])), tolerance=1e-4)
    add("qr.c64", _qr, COMPLEX, tolerance=1e-4)
    add("qr.full", lambda a: jnp.abs(jnp.linalg.qr(a, mode="complete")[1]), TALL, tolerance=1e-4)
    add("qr.grad", jax.grad(lambda a: jnp.linalg.qr(a)[1].sum()), TALL, tolerance=1e-3)
    pivoted = partial(jsp.linalg.qr, pivoting=True, mode="economic")
    add("qr.pivoted", lambda a: jnp.abs(pivoted(a)[1]), TALL, tolerance=1e-3)
    add("pinv", jnp.linalg.pinv, TALL, reference=np.linalg.pinv, tolerance=1e-3)
    add("lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], TALL, TALL[:, :2].copy(), tolerance=1e-3)
    add("matrix_rank", jnp.linalg.matrix_rank, TALL, reference=np.linalg.matrix_rank)


def _square(table: Table) -> None:
    add = table.add
    add("lu", jsp.linalg.lu, SQUARE, tolerance=1e-4)
    add("lu.batched", lax.linalg.lu, BATCH, tolerance=1e-4)
    columns = SQUARE[:, :3].copy()
    add("solve", jnp.linalg.solve, SQUARE, columns, reference=np.linalg.solve, tolerance=1e-3)
    add("inv.batched", jnp.linalg.inv, BATCH, reference=np.linalg.inv, tolerance=1e-3)
    add("det", jnp.linalg.det, BATCH, reference=np.linalg.det, tolerance=1e-3)
    slogdet = lambda a: tuple(np.linalg.slogdet(a))
    add("slogdet", jnp.linalg.slogdet, BATCH, reference=slogdet, tolerance=1e-4)
    lower = (np.tril(SQUARE) + 5 * np.eye(10)).astype(np.float32)
    upper = (np.triu(COMPLEX) + 5 * np.eye(10)).astype(np.complex64)
    transposed = partial(jsp.linalg.solve_triangular, lower=True, trans=1)
    add("triangular_solve", transposed, lower, SQUARE, tolerance=1e-4)
    options = {"left_side": True, "conjugate_a": True, "transpose_a": True}
    conjugated = partial(lax.linalg.triangular_solve, **options)
    add("triangular_solve.c64", conjugated, upper, COMPLEX, tolerance=1e-4)

    def bands(a, **options):
        return lax.linalg.tridiagonal_solve(a, a + 5, a, a[:, None], **options)

    add("tridiagonal_solve", bands, VECTOR, tolerance=1e-4)
    perturbed = partial(bands, perturb_singular=True)
    add("tridiagonal_solve.perturbed", perturbed, VECTOR, tolerance=1e-4)
    eigenvalues = lambda a: jnp.sort_complex(jnp.linalg.eigvals(a))
    reference = lambda a: np.sort_complex(np.linalg.eigvals(a))
    add("eigvals", eigenvalues, SQUARE, reference=reference, tolerance=1e-3)
    add("eigvals.c64", eigenvalues, COMPLEX, reference=reference, tolerance=1e-3)
    add("eig", lambda a: jnp.sort(jnp.abs(jnp.linalg.eig(a)[0])), SQUARE, tolerance=1e-3)
    add("expm", jsp.linalg.expm, SQUARE / 4, tolerance=1e-3)
    add("polar", lambda a: jsp.linalg.polar(a)[0], SQUARE, tolerance=1e-3)
    add("cg", lambda a, b: jsp.sparse.linalg.cg(a, b)[0], SYMMETRIC, VECTOR[:10], tolerance=1e-2)


def _transforms(table: Table) -> None:
    for name in ("fft", "ifft", "fft2", "fftn"):
        table.add(f"fft.{name}", getattr(jnp.fft, name), COMPLEX, reference=getattr(np.fft, name))
    for name in ("rfft", "rfft2", "rfftn"):
        table.add(f"fft.{name}", getattr(jnp.fft, name), SQUARE, reference=getattr(np.fft, name))
    inverse = partial(np.fft.irfft, n=18)
    table.add("fft.irfft", partial(jnp.fft.irfft, n=18), COMPLEX, reference=inverse)
    magnitude = jax.grad(lambda a: jnp.abs(jnp.fft.rfft(a)).sum())
    table.add("fft.grad", magnitude, SQUARE, tolerance=1e-4)
    prime = normal(3, 509).astype(np.complex64)
    table.add("fft.prime", jnp.fft.fft, prime, reference=np.fft.fft, tolerance=1e-4)
    convolve = jsp.signal.fftconvolve
    table.add("fftconvolve", convolve, VECTOR, VECTOR[:9], reference=np.convolve, tolerance=1e-4)


def add_programs(table: Table) -> None:
    """Add the programs of this module."""
    for add in (_symmetric, _rectangular, _square, _transforms):
        add(table)
