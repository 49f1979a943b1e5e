"""The text of kernels for TPUs, evaluated with NumPy, beside the interpreter; no TPU is needed."""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

from kernel_cases import KERNELS, OPERATIONS, Kernel, kernel_texts, operation_kernel

import ricci
from ricci.experimental import pallas as pl
from ricci.experimental.pallas import tpu as pltpu

X = ricci.ShapeDtypeStruct((8, 128), np.float32)
# The operands of a kernel, where they are not those of the function around it.
OPERANDS = {
    "captured array": lambda x: [x, np.arange(128, dtype=np.float32).reshape(1, 128)],
    "dropout by a hash": lambda seed, x: [seed.reshape(1), x],
    "halo of neighbours": lambda x: [x, x, x],
}
# The evaluator rounds to bfloat16 after each operation; XLA's CPU compiler after some.
TOLERANCES = {"bfloat16": 1e-2}


def lower(function, *types):
    return ricci.jit(function).trace(*types).lower(lowering_platforms=("tpu",)).as_text()


def tolerance(name):
    return next((value for word, value in TOLERANCES.items() if word in name), 2e-3)


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_computes_what_it_computes_outside_of_kernels(name):
    function = OPERATIONS[name]
    x = np.random.default_rng(0).uniform(0.05, 0.9, X.shape).astype(X.dtype)
    (text,) = kernel_texts(lower(operation_kernel(function), X))
    expected = np.asarray(ricci.jit(function)(x))
    (result,) = Kernel(text).run([x], [(expected.shape, expected.dtype)], {})
    rtol = tolerance(name)
    np.testing.assert_allclose(result, expected, rtol, rtol * 1e-2)


def operand(generator, aval):
    """An array of a type; integers are a permutation, so that they are positions as well."""
    if aval.dtype == np.int32:
        values = generator.permutation(aval.size) if aval.shape else 2
        return np.asarray(values, np.int32).reshape(aval.shape)
    if aval.dtype in (np.bool_, np.int8):
        return generator.integers(0, 2, aval.shape).astype(aval.dtype)
    return generator.uniform(0.05, 1.9, aval.shape).astype(aval.dtype)


@pytest.mark.sampled(26)
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_computes_what_the_interpreter_computes(name):
    function, types = KERNELS[name]
    generator = np.random.default_rng(0)
    args = [operand(generator, aval) for aval in types]
    module = lower(lambda *xs: function(*xs), *types)
    (text,) = kernel_texts(module)
    with pltpu.force_tpu_interpret_mode():
        results = ricci.tree.leaves(ricci.jit(function)(*args))
    expected = [np.asarray(x) for x in results]
    operands = OPERANDS.get(name, lambda *xs: xs)(*args)
    stored = [x.astype(np.int32) if x.dtype == bool else x for x in operands]
    outs = [(x.shape, np.int32 if x.dtype == bool else x.dtype) for x in expected]
    aliases = {0: 0} if "output_operand_alias<" in module else {}
    for result, value in zip(Kernel(text).run(stored, outs, aliases), expected, strict=True):
        wide = np.float64
        rtol = tolerance(name)
        np.testing.assert_allclose(result.astype(wide), value.astype(wide), rtol, rtol * 1e-2)


@pytest.mark.parametrize("decrement", [True, False])
def test_a_wait_for_more_than_was_signalled_does_not_end(decrement):
    def body(x, out, sem):
        pl.semaphore_signal(sem, 1)
        pl.semaphore_wait(sem, 2, decrement=decrement)
        out[...] = x[...]

    call = pl.pallas_call(body, X, scratch_shapes=[pltpu.SemaphoreType.REGULAR])
    (text,) = kernel_texts(lower(call, X))
    with pytest.raises(AssertionError, match="waits for ever"):
        Kernel(text).run([np.zeros(X.shape, X.dtype)], [(X.shape, X.dtype)], {})
