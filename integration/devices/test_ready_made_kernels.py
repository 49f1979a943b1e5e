"""Each kernel of ``pallas.ops`` in the text for TPUs and for GPUs, evaluated with NumPy.

The results are those of the interpreter. `nox -s integration-tpu` and `kernels-gpu` compile them.
"""

import sys

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="compiled programs need the runtime")

from kernel_cases import Kernel, kernel_texts
from kernel_cases.ops import SMALL
from kernel_cases.triton_machine import launches
from kernel_cases.triton_machine import run as run_launch

import ricci

FOLDS, TARGETS = "ricci_kernels.ops._folds", "ricci_kernels.ops._targets"


def operand(random, struct):
    if np.dtype(struct.dtype) == np.int32:
        return random.integers(0, 3, struct.shape).astype(np.int32)
    return random.standard_normal(struct.shape).astype(struct.dtype)


def evaluated(platform, call, arrays, results):
    """The results of a kernel's text."""
    lowered = ricci.jit(call).trace(*arrays).lower(lowering_platforms=(platform,)).as_text()
    if platform == "cuda":
        (launch,) = launches(lowered)
        return run_launch(launch, arrays, results)
    (text,) = kernel_texts(lowered)
    return Kernel(text).run(arrays, [(x.shape, x.dtype) for x in results], {})


# The number of kernels of a function and its gradients.
COUNTS = {
    "flash attention": 3,
    "flash attention, bias, mask, segments": 4,
    "paged attention": 1,
    "matmul": 3,
    "grouped matmul": 3,
    "layer norm": 2,
    "softmax": 2,
}


@pytest.fixture
def calls(monkeypatch):
    """The calls of kernels that are run: the compiled kernel, its name, operands and results."""
    original, calls = sys.modules[FOLDS].pallas_call, []

    def recorded(kernel, out_shape, **options):
        interpreted, compiled = (
            original(kernel, out_shape, **{**options, "interpret": flag}) for flag in (True, False)
        )

        def call(*arrays):
            results = interpreted(*arrays)
            note = lambda *xs: calls.append((compiled, options["name"], *xs))
            ricci.debug.callback(note, arrays, results)
            return results

        return call

    monkeypatch.setattr(sys.modules[FOLDS], "pallas_call", recorded)
    return calls


@pytest.mark.sampled(2)
@pytest.mark.parametrize("platform", ["tpu", "cuda"])
@pytest.mark.parametrize("name", SMALL)
def test_the_text_of_each_kernel_computes_what_the_interpreter_does(calls, name, platform):
    target = sys.modules[TARGETS].Target(platform == "cuda")
    function, structs = SMALL[name]
    random = np.random.default_rng(0)
    function(*[operand(random, struct) for struct in structs], interpret=target)
    ricci.effects_barrier()
    assert len(calls) == COUNTS[name]
    for compiled, kernel, operands, expected in calls:
        arrays = [np.asarray(x) for x in operands]
        for x, y in zip(evaluated(platform, compiled, arrays, expected), expected, strict=True):
            wide = [np.asarray(v).astype(np.float64) for v in (x, y)]
            np.testing.assert_allclose(*wide, rtol=2e-2, atol=2e-3, err_msg=kernel)
