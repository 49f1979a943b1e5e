"""The lowerings of decompositions: kernels of LAPACK, GPUs and TPUs."""

import re
from functools import partial

import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr
from ricci_lax import linalg
from ricci_lax.elementwise._arithmetic import mul
from ricci_lax.structure._broadcasting import reduce_sum
from ricci_lax.structure._operand_types import shape_of
from ricci_stablehlo import lower_jaxpr

QR, JACOBI, QDWH = linalg.EighImplementation
SVD = linalg.SvdAlgorithm


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def total(x):
    return reduce_sum(x, tuple(range(len(shape_of(x)))))


def lowered(fun, *avals, platform="cpu"):
    return lower_jaxpr(make_jaxpr(fun)(*avals), "f", platform=platform)


def kernels(text):
    """Each call of a kernel: its name, its attributes and the types of its results."""
    found = []
    for line in text.splitlines():
        if "custom_call" in line:
            name = re.search(r'call_target_name = "(\w+)"', line)
            attributes = re.search(r" backend_config = (\{.*?\}|\".*?\")", line)
            assert name is not None
            found.append((name[1], attributes[1] if attributes else "", line.rsplit("-> ", 1)[1]))
    return found


X, SQUARE, VECTOR = of(4, 3), of(3, 3), of(3)
CPLX = of(3, 4, dtype="complex64")
eigh = partial(linalg.eigh, symmetrize_input=False)
econ = partial(linalg.svd, full_matrices=False)
values_only = partial(linalg.svd, compute_uv=False)


@pytest.mark.parametrize(
    ("fun", "avals", "platform", "expected"),
    [
        (linalg.qr, [X], "cpu", ["lapack_sgeqrf_ffi {}", "lapack_sorgqr_ffi {}"]),
        (linalg.qr, [CPLX], "cpu", ["lapack_cgeqrf_ffi {}", "lapack_cungqr_ffi {}"]),
        (linalg.qr, [X], "cuda", ["cusolver_geqrf_ffi {}", "cusolver_orgqr_ffi {}"]),
        (linalg.qr, [X], "rocm", ["hipsolver_geqrf_ffi {}", "hipsolver_orgqr_ffi {}"]),
        (linalg.qr, [X], "tpu", ["Qr ", "ProductOfElementaryHouseholderReflectors "]),
        (
            partial(linalg.qr, pivoting=True),
            [X],
            "cuda",
            ['cuhybrid_geqp3 {magma = "auto"}', "cusolver_orgqr_ffi {}"],
        ),
        (
            partial(linalg.qr, pivoting=True, use_magma=True),
            [X],
            "rocm",
            ['hiphybrid_geqp3 {magma = "on"}', "hipsolver_orgqr_ffi {}"],
        ),
        (
            linalg.ormqr,
            [X, VECTOR, of(4, 5)],
            "cpu",
            ["lapack_sormqr_ffi {left = true, transpose = false}"],
        ),
        (
            linalg.ormqr,
            [X, VECTOR, of(4, 5)],
            "cuda",
            ["cusolver_ormqr_ffi {left = true, transpose = false}"],
        ),
        (linalg.ormqr, [X, VECTOR, of(4, 5)], "tpu", ["ProductOfElementaryHouseholderReflectors "]),
        (eigh, [SQUARE], "cpu", ["lapack_ssyevd_ffi {mode = 86 : ui8, uplo = 76 : ui8}"]),
        (
            eigh,
            [of(3, 3, dtype="complex64")],
            "cpu",
            ["lapack_cheevd_ffi {mode = 86 : ui8, uplo = 76 : ui8}"],
        ),
        (eigh, [SQUARE], "cuda", ["cusolver_syevd_ffi {algorithm = 0 : ui8, lower = true}"]),
        (
            partial(eigh, implementation=JACOBI, lower=False),
            [SQUARE],
            "rocm",
            ["hipsolver_syevd_ffi {algorithm = 2 : ui8, lower = false}"],
        ),
        (eigh, [SQUARE], "tpu", ['Eigh "1,1,100,1e-6"']),
        (partial(eigh, subset_by_index=(1, 3)), [SQUARE], "tpu", ['Eigh "1,1,100,1e-6"']),
        (
            partial(eigh, lower=False, sort_eigenvalues=False),
            [SQUARE],
            "tpu",
            ['Eigh "0,0,100,1e-6"'],
        ),
        (linalg.tridiagonal, [SQUARE], "cuda", ["cusolver_sytrd_ffi {lower = true}"]),
        (
            linalg.tridiagonal,
            [of(3, 3, dtype="complex64")],
            "cpu",
            ["lapack_chetrd_ffi {uplo = 76 : ui8}"],
        ),
        (linalg.svd, [X], "cpu", ["lapack_sgesdd_ffi {mode = 65 : ui8}"]),
        (econ, [X], "cpu", ["lapack_sgesdd_ffi {mode = 83 : ui8}"]),
        (values_only, [X], "cpu", ["lapack_sgesdd_ffi {mode = 78 : ui8}"]),
        (partial(econ, algorithm=SVD.QR), [X], "cpu", ["lapack_sgesvd_ffi {mode = 83 : ui8}"]),
        (econ, [X], "cuda", ["cusolver_gesvdj_ffi {compute_uv = true, full_matrices = true}"]),
        (
            econ,
            [of(34, 33)],
            "cuda",
            ["cusolver_gesvdj_ffi {compute_uv = true, full_matrices = false}"],
        ),
        (
            econ,
            [of(3, 1025)],
            "cuda",
            ["cusolver_gesvd_ffi {compute_uv = true, full_matrices = false, transposed = true}"],
        ),
        (
            values_only,
            [of(2, 1025, 3)],
            "rocm",
            ["hipsolver_gesvd_ffi {compute_uv = false, full_matrices = true, transposed = false}"],
        ),
        (
            partial(econ, algorithm=SVD.POLAR),
            [CPLX],
            "cuda",
            ["cusolver_gesvdp_ffi {compute_uv = true, full_matrices = false}"],
        ),
        (
            partial(econ, algorithm=SVD.DIVIDE_AND_CONQUER),
            [X],
            "rocm",
            ["hipsolver_gesdd_ffi {compute_uv = true, full_matrices = false, transposed = false}"],
        ),
    ],
)
def test_kernels(fun, avals, platform, expected):
    found = kernels(lowered(fun, *avals, platform=platform))
    assert [f"{name} {attributes}" for name, attributes, _ in found] == expected


def test_a_wide_matrix_goes_to_gesvd_transposed():
    line = next(
        line
        for line in lowered(econ, of(3, 1025), platform="cuda").splitlines()
        if "custom_call" in line
    )
    assert "operand_layouts = [dense<[1, 0]>" in line
    assert line.endswith(
        "(tensor<3x1025xf32>, tensor<3xf32>, tensor<3x1025xf32>, tensor<3x3xf32>, tensor<i32>)"
    )


def test_vectors_that_are_not_computed_have_no_buffers():
    (call,) = kernels(lowered(values_only, of(2, 1025, 3), platform="cuda"))
    assert call[2] == (
        "(tensor<2x1025x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<2xi32>)"
    )


@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)])
def test_svd_on_tpu_is_made_of_its_kernels(shape, full_matrices):
    fun = partial(linalg.svd, full_matrices=full_matrices)
    names = {name for name, *_ in kernels(lowered(fun, of(*shape), platform="tpu"))}
    assert names == {"Qr", "ProductOfElementaryHouseholderReflectors", "Eigh"}


@pytest.mark.parametrize(
    ("fun", "platform"),
    [
        (partial(eigh, implementation=QDWH), "cpu"),
        (partial(eigh, implementation=QDWH), "cuda"),
        (partial(eigh, implementation=JACOBI), "cpu"),
        (partial(eigh, implementation=QR), "tpu"),
        (partial(eigh, subset_by_index=(0, 2)), "cpu"),
        (partial(eigh, subset_by_index=(0, 2)), "cuda"),
        (partial(econ, algorithm=SVD.JACOBI), "cpu"),
        (partial(econ, algorithm=SVD.POLAR), "cpu"),
        (partial(econ, algorithm=SVD.DIVIDE_AND_CONQUER), "cuda"),
        (partial(econ, algorithm=SVD.QR), "tpu"),
        (partial(econ, subset_by_index=(0, 2)), "cpu"),
        (partial(linalg.qr, pivoting=True), "tpu"),
        (linalg.tridiagonal, "tpu"),
    ],
)
def test_unsupported_platforms_raise(fun, platform):
    with pytest.raises(NotImplementedError, match=platform if platform != "tpu" else "tpu|TPU"):
        lowered(fun, SQUARE, platform=platform)


@pytest.mark.parametrize("subset", [(0, 4), (1, 1), (-1, 2)])
@pytest.mark.parametrize("fun", [eigh, econ])
def test_a_subset_out_of_bounds(fun, subset):
    with pytest.raises(ValueError, match="subset_by_index"):
        lowered(partial(fun, subset_by_index=subset), SQUARE, platform="tpu")


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_the_gradient_of_a_batch_is_well_formed(platform):
    loss = lambda x: total(mul(econ(x)[0], econ(x)[0]))
    jaxpr = make_jaxpr(vmap(grad(loss)))(of(2, 4, 3))
    check_jaxpr(jaxpr)
    assert "custom_call" in lower_jaxpr(jaxpr, "f", platform=platform)
