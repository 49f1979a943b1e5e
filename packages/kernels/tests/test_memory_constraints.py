"""Declared memory spaces of arrays, which kernels on the cores of a mesh get them in."""

import gc

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are run")

import ricci_ir as ir
import ricci_kernels as pl
from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_kernels import tpu as pltpu
from ricci_kernels.primitives import _memory_constraints
from ricci_xla import jit

MESH = pltpu.TensorCoreMesh(axis_name="core", num_cores=1)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def spaces_in_kernel(out_type=None, **declared):
    """The memory spaces of the references that a kernel of some arrays gets, and of its output."""
    seen = []

    def body(*refs):
        seen.extend([ref.aval.memory_space for ref in refs])
        refs[-1][...] = refs[0][...]

    out = ir.ShapeDtypeStruct(X.shape, X.dtype) if out_type is None else out_type
    run = pl.kernel(body, out, mesh=MESH, interpret=True)

    def f(*xs):
        constrain = pltpu.with_memory_space_constraint
        return run(*[constrain(x, space) for x, space in zip(xs, declared.values(), strict=True)])

    np.testing.assert_array_equal(jit(f)(*[X] * len(declared)), X)
    return seen


def test_a_kernel_gets_arrays_in_their_declared_memory_spaces():
    declared = {"x": pltpu.SMEM, "y": pl.ANY, "z": pltpu.HBM}
    assert spaces_in_kernel(**declared) == [pltpu.SMEM, pl.ANY, pltpu.HBM, pl.ANY]


def test_the_type_of_a_result_has_its_memory_space():
    out = pltpu.VMEM(X.shape, X.dtype)
    assert spaces_in_kernel(out, x=pltpu.VMEM) == [pltpu.VMEM, pltpu.VMEM]


def test_a_result_of_an_operation_has_no_declared_memory_space():
    def f(x):
        return pltpu.with_memory_space_constraint(x, pltpu.SMEM) + 0

    seen = []

    def body(x, out):
        seen.append(x.aval.memory_space)
        out[...] = x[...]

    run = pl.kernel(body, ir.ShapeDtypeStruct(X.shape, X.dtype), mesh=MESH, interpret=True)
    jit(lambda x: run(f(x)))(X)
    assert seen == [pl.ANY]


def test_a_declaration_ends_with_its_array():
    count = len(_memory_constraints._declared)
    x = pltpu.with_memory_space_constraint(X, pltpu.SMEM)
    assert len(_memory_constraints._declared) == count + 1
    del x
    gc.collect()
    assert len(_memory_constraints._declared) == count


def test_a_declaration_is_the_identity_under_transformations():
    f = lambda x: pltpu.with_memory_space_constraint(x, pltpu.SMEM)
    np.testing.assert_array_equal(vmap(f)(X), X)
    np.testing.assert_array_equal(grad(lambda x: (f(x) * X).sum())(X), X)
    assert f(np.zeros((0, 3), np.int8)).shape == (0, 3)
    assert "with_memory_space_constraint[memory_space=smem]" in str(ir.make_jaxpr(f)(X))


@pytest.mark.parametrize("space", [pltpu.SEMAPHORE, pltpu.CMEM, None, "smem"])
def test_other_memory_spaces_are_refused(space):
    with pytest.raises(NotImplementedError, match="only supports HBM, VMEM, SMEM, and HOST"):
        pltpu.with_memory_space_constraint(X, space)


def test_an_interpreted_array_anywhere_is_in_the_main_memory():
    def body(x, out):
        out[0] = pltpu.has_memory_space(x, pltpu.HBM)
        out[1] = pltpu.has_memory_space(x.at[0], pltpu.VMEM)

    out = ir.ShapeDtypeStruct((2,), np.bool_)
    f = lambda space: pl.pallas_call(
        body, out, in_specs=[pl.BlockSpec(memory_space=space)], interpret=True
    )(X)
    assert f(pl.ANY).tolist() == [True, False]
    with pytest.raises(ValueError, match="must have pl.ANY memory space, but got vmem"):
        f(pltpu.VMEM)
