"""Eigenvalues without symmetry, Schur and Hessenberg forms."""

import re

import numpy as np
import pytest

from ricci_autodiff import jvp, vjp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, make_jaxpr
from ricci_lax import linalg
from ricci_lax.linalg._eig import _paired_vectors
from ricci_stablehlo import lower_jaxpr


def of(*shape, dtype="float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


def eig_of(left, right, derivs=False, **options):
    return lambda x: linalg.eig(
        x,
        compute_left_eigenvectors=left,
        compute_right_eigenvectors=right,
        enable_eigvec_derivs=derivs,
        **options,
    )


CHOICES = [(False, False), (False, True), (True, False), (True, True)]
FUNCTIONS = [linalg.eig, linalg.schur, linalg.hessenberg]
BATCHES = [(), (5,), (2, 0)]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("left", "right"), CHOICES)
def test_types_of_eig(left, right, dtype, batch):
    outs = make_jaxpr(eig_of(left, right))(of(*batch, 3, 3, dtype=dtype)).out_avals
    shapes = [(*batch, 3), *[(*batch, 3, 3)] * (left + right)]
    assert [(a.shape, a.dtype.name) for a in outs] == [(s, "complex64") for s in shapes]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (linalg.schur, [(3, 3), (3, 3)]),
        (lambda x: linalg.schur(x, compute_schur_vectors=False), [(3, 3)]),
        (linalg.hessenberg, [(3, 3), (2,)]),
    ],
)
def test_types_of_forms(function, shapes, dtype, batch):
    outs = make_jaxpr(function)(of(*batch, 3, 3, dtype=dtype)).out_avals
    assert [(a.shape, a.dtype.name) for a in outs] == [((*batch, *s), dtype) for s in shapes]


def test_a_matrix_without_elements_has_no_reflections():
    assert [a.shape for a in make_jaxpr(linalg.hessenberg)(of(0, 0)).out_avals] == [(0, 0), (0,)]


PROGRAMS = {
    "eig": (
        linalg.eig,
        """\
{ lambda ; a:f32[3,5,3]. let
    b:f32[5,3,3] = transpose[permutation=(1, 0, 2)] a
    c:c64[5,3] d:c64[5,3,3] e:c64[5,3,3] = eig[
      compute_left_eigenvectors=True
      compute_right_eigenvectors=True
      enable_eigvec_derivs=False
      implementation=None
    ] b
  in (c, d, e) }""",
    ),
    "schur": (
        linalg.schur,
        """\
{ lambda ; a:f32[3,5,3]. let
    b:f32[5,3,3] = transpose[permutation=(1, 0, 2)] a
    c:f32[5,3,3] d:f32[5,3,3] = schur[
      compute_schur_vectors=True
      select_callable=None
      sort_eig_vals=False
    ] b
  in (c, d) }""",
    ),
    "hessenberg": (
        linalg.hessenberg,
        """\
{ lambda ; a:f32[3,5,3]. let
    b:f32[5,3,3] = transpose[permutation=(1, 0, 2)] a
    c:f32[5,3,3] d:f32[5,2] = hessenberg b
  in (c, d) }""",
    ),
}


@pytest.mark.parametrize(("function", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_batched_programs_print_as_in_jax(function, expected):
    assert str(make_jaxpr(vmap(function, 1))(of(3, 5, 3))) == expected


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (0, 3, 3), (0, 0)])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("left", "right"), CHOICES)
def test_derivatives_of_eig_check(left, right, dtype, shape):
    function = eig_of(left, right, derivs=True)

    def pulled(x):
        result, pull = vjp(function, x)
        return pull(result)[0]

    x = of(*shape, dtype=dtype)
    for program in (pulled, lambda x: jvp(pulled, (x,), (x,))[1]):
        jaxpr = make_jaxpr(program)(x)
        check_jaxpr(jaxpr)
        assert (jaxpr.out_avals[0].shape, jaxpr.out_avals[0].dtype) == (x.shape, x.dtype)


def test_eigenvalues_have_a_derivative_without_asking_for_one():
    check_jaxpr(make_jaxpr(lambda x: jvp(eig_of(False, False), (x,), (x,)))(of(3, 3)))


@pytest.mark.parametrize(("left", "right"), CHOICES[1:])
def test_derivatives_of_eigenvectors_must_be_enabled(left, right):
    with pytest.raises(NotImplementedError, match="Pass enable_eigvec_derivs=True"):
        make_jaxpr(lambda x: jvp(eig_of(left, right), (x,), (x,)))(of(3, 3))


@pytest.mark.parametrize("function", [linalg.schur, linalg.hessenberg])
def test_forms_have_no_derivative(function):
    with pytest.raises(NotImplementedError, match="form is not unique, so it has no derivative"):
        make_jaxpr(lambda x: jvp(function, (x,), (x,)))(of(3, 3))


# text


def text_of(function, x, platform):
    return lower_jaxpr(make_jaxpr(function)(x), "f", platform=platform)


ON_CPU = [
    (linalg.eig, "float32", "lapack_sgeev_ffi", "compute_left = 86 : ui8, compute_right = 86"),
    (eig_of(False, True), "complex64", "lapack_cgeev_ffi", "compute_left = 78 : ui8"),
    (linalg.schur, "float32", "lapack_sgees_ffi", "mode = 86 : ui8, sort = 78 : ui8"),
    (linalg.schur, "complex64", "lapack_cgees_ffi", "mode = 86 : ui8, sort = 78 : ui8"),
    (
        lambda x: linalg.schur(x, compute_schur_vectors=False),
        "float32",
        "lapack_sgees_ffi",
        "mode = 78 : ui8",
    ),
    (linalg.hessenberg, "float32", "lapack_sgehrd_ffi", "high = 3 : i32, low = 1 : i32"),
    (linalg.hessenberg, "complex64", "lapack_cgehrd_ffi", "high = 3 : i32, low = 1 : i32"),
]


@pytest.mark.parametrize(("function", "dtype", "target", "attributes"), ON_CPU)
def test_text_on_cpu(function, dtype, target, attributes):
    text = text_of(function, of(2, 3, 3, dtype=dtype), "cpu")
    assert f'call_target_name = "{target}"' in text
    assert attributes in text
    assert 'num_batch_dims = "1"' in text


IMPLEMENTATIONS = linalg.EigImplementation


@pytest.mark.parametrize(
    ("implementation", "magma"),
    [(None, "auto"), (IMPLEMENTATIONS.MAGMA, "on"), (IMPLEMENTATIONS.LAPACK, "off")],
)
@pytest.mark.parametrize(("dtype", "kind"), [("float32", "real"), ("complex64", "comp")])
@pytest.mark.parametrize(("platform", "prefix"), [("cuda", "cu"), ("rocm", "hip")])
def test_text_of_eig_on_gpu(platform, prefix, dtype, kind, implementation, magma):
    function = eig_of(True, True, implementation=implementation)
    text = text_of(function, of(2, 3, 3, dtype=dtype), platform)
    assert f'call_target_name = "{prefix}hybrid_eig_{kind}"' in text
    assert f'backend_config = {{left = true, magma = "{magma}", right = true}}' in text


@pytest.mark.parametrize("implementation", [None, IMPLEMENTATIONS.CUSOLVER])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_eig_without_left_eigenvectors_is_cusolvers_on_nvidia_gpus(dtype, right, implementation):
    function = eig_of(False, right, implementation=implementation)
    text = text_of(function, of(2, 3, 3, dtype=dtype), "cuda")
    assert 'call_target_name = "cusolver_geev_ffi"' in text
    assert f"backend_config = {{left = false, right = {str(right).lower()}}}" in text


@pytest.mark.parametrize(
    ("error", "message", "function", "platform"),
    [
        (NotImplementedError, "eig: tpu is not supported", linalg.eig, "tpu"),
        (NotImplementedError, "schur: cuda is not supported", linalg.schur, "cuda"),
        (NotImplementedError, "schur: tpu is not supported", linalg.schur, "tpu"),
        (NotImplementedError, "hessenberg: rocm is not supported", linalg.hessenberg, "rocm"),
        (
            NotImplementedError,
            "cuSOLVER computes no left eigenvectors",
            eig_of(True, True, implementation=IMPLEMENTATIONS.CUSOLVER),
            "cuda",
        ),
        (
            NotImplementedError,
            "and is for NVIDIA GPUs only",
            eig_of(False, True, implementation=IMPLEMENTATIONS.CUSOLVER),
            "rocm",
        ),
        (
            ValueError,
            "EigImplementation.MAGMA is for GPUs",
            eig_of(True, True, implementation=IMPLEMENTATIONS.MAGMA),
            "cpu",
        ),
    ],
)
def test_unsupported_platforms_are_named(error, message, function, platform):
    with pytest.raises(error, match=re.escape(message)):
        text_of(function, of(3, 3), platform)


# refusals


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("error", "message", "x"),
    [
        (TypeError, "must be float32, float64, complex64", of(3, 3, dtype="int32")),
        (TypeError, "must be float32, float64, complex64", of(3, 3, dtype="bool")),
        (TypeError, "must be float32, float64, complex64", of(3, 3, dtype="float16")),
        (TypeError, "must be float32, float64, complex64", of(3, 3, dtype="bfloat16")),
        (TypeError, "at least two dimensions", of(3)),
        (TypeError, "at least two dimensions", of()),
        (ValueError, "must be square", of(3, 4)),
        (ValueError, "must be square", of(2, 4, 3)),
    ],
)
def test_errors_name_the_rule_that_is_broken(function, error, message, x):
    with pytest.raises(error, match=f"^{function.__name__}: .*{message}"):
        make_jaxpr(function)(x)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [None, "a", [[1.0, 2.0], [3.0, 4.0]]])
def test_values_that_are_not_arrays_are_refused(function, x):
    with pytest.raises(TypeError, match="is not a valid array"):
        make_jaxpr(lambda: function(x))()


@pytest.mark.parametrize("implementation", ["lapack", 1])
def test_an_implementation_must_be_one(implementation):
    with pytest.raises(ValueError, match="is not an EigImplementation; those are CUSOLVER, MAGMA"):
        make_jaxpr(lambda x: linalg.eig(x, implementation=implementation))(of(3, 3))


@pytest.mark.parametrize("select", [None, lambda *parts: True])
def test_sorting_is_refused(select):
    with pytest.raises(NotImplementedError, match="sort_eig_vals is not supported"):
        make_jaxpr(lambda x: linalg.schur(x, sort_eig_vals=True, select_callable=select))(of(3, 3))


@pytest.mark.parametrize(
    ("use_magma", "expected"), [(True, IMPLEMENTATIONS.MAGMA), (False, IMPLEMENTATIONS.LAPACK)]
)
def test_use_magma_is_deprecated(use_magma, expected):
    with pytest.warns(DeprecationWarning, match="give implementation="):
        jaxpr = make_jaxpr(lambda x: linalg.eig(x, use_magma=use_magma))(of(3, 3))
    assert jaxpr.eqns[0].params["implementation"] is expected


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize("shape", [(6, 6), (2, 3, 7, 7), (1, 1), (0, 0)])
def test_eigenvectors_of_conjugate_eigenvalues_share_two_columns(shape):
    # As LAPACK and cuSOLVER return those of real matrices.
    matrices = np.random.RandomState(3).randn(*shape).astype(np.float32)
    values, vectors = (x.astype(np.complex64) for x in np.linalg.eig(matrices))
    second = (values.imag < 0)[..., None, :]
    packed = np.where(second, -vectors.imag, vectors.real).astype(np.float32)
    np.testing.assert_array_equal(_paired_vectors(values, packed), vectors)
