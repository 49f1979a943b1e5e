"""Kernels lowered for NVIDIA GPUs: MLIR accepts their Triton IR, and NumPy evaluates it.

The results are those of the interpreter of kernels. `nox -s kernels-gpu` compiles the same kernels.
"""

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="kernels are interpreted by compiled programs")

from kernel_cases.gpu_kernels import KERNELS
from kernel_cases.gpu_operations import OPERATIONS, operation_call
from kernel_cases.triton_machine import launches, run

import ricci
from ricci.experimental.pallas import tpu as pltpu

# Operations that no CPU computes, so that there is nothing to compare with.
ONLY_ON_GPUS = {"matmul, float32 (tf32x3)"}
# Operations that are refused, with a word of the reason.
REFUSED = {
    "bessel_i1e": "no Triton operation",
    "cholesky": "no Triton operation",
    "conv": "no Triton operation",
    "digamma": "no Triton operation",
    "fft": "complex64",
    "linspace": "powers of 2",
    "roll": "powers of 2",
}
# Further operands of the Triton kernel: what the kernel closes over.
CAPTURED = {"captured": [np.arange(32, dtype=np.float32)]}


def value(struct, random):
    dtype = np.dtype(struct.dtype)
    if dtype.kind in "iub":
        return random.integers(0, 4, struct.shape).astype(dtype)
    return random.standard_normal(struct.shape).astype(dtype)


def lowered(call, structs):
    program = ricci.jit(lambda *xs: call(*xs)).trace(*structs).lower(lowering_platforms=("cuda",))
    (launch,) = launches(program.as_text())
    return launch


def check(call, structs, captured=()):
    """Compare a kernel's Triton IR with the interpreted kernel."""
    random = np.random.default_rng(0)
    operands = [value(struct, random) for struct in structs]
    launch = lowered(call, structs)
    with pltpu.force_tpu_interpret_mode():
        expected = ricci.tree.leaves(ricci.jit(call)(*operands))
    results = run(launch, [*operands, *captured], expected)
    narrow = any(np.dtype(x.dtype).itemsize < 4 for x in (*structs, *expected))
    tolerance = 3e-2 if narrow else 1e-4
    for result, array in zip(results, expected, strict=True):
        wide = [np.asarray(x).astype(np.float64) for x in (result, array)]
        # Partial sums of narrow floats are rounded in another order: in units of the largest.
        largest = np.abs(wide[1]).max(initial=1.0, where=np.isfinite(wide[1]))
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance * max(1.0, largest / 8))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ONLY_ON_GPUS])
def test_triton_ir_of_a_kernel_computes_what_the_interpreter_does(name):
    with ricci.enable_x64("float64" in name):
        check(*KERNELS[name](), CAPTURED.get(name, ()))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name not in REFUSED])
def test_triton_ir_of_an_operation_computes_what_the_interpreter_does(name):
    with ricci.enable_x64(True):
        for dtype in OPERATIONS[name][1]:
            check(*operation_call(name, dtype))


@pytest.mark.parametrize("name", REFUSED)
def test_an_operation_without_a_rule_is_refused_with_its_line(name):
    call, structs = operation_call(name, "float32")
    with pytest.raises(NotImplementedError, match=REFUSED[name]) as caught:
        lowered(call, structs)
    assert "gpu_operations.py" in str(caught.value) or name == "fft"


def test_a_precision_that_no_cpu_has_is_lowered():
    for name in ONLY_ON_GPUS:
        assert "inputPrecision = tf32x3" in lowered(*KERNELS[name]()).text.replace(
            "1 : i32", "tf32x3"
        )


def test_a_kernel_lies_in_a_program_with_other_operations():
    call, structs = KERNELS["vector_add"]()
    program = ricci.jit(lambda x, y: ricci.numpy.sum(call(x * 2, y)))
    text = program.trace(*structs).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("__gpu$xla.gpu.triton") == 1
    assert "stablehlo.multiply" in text
