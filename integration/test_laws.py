"""The laws that need a compiler: XLA computes what NumPy does, and accepts what is lowered."""

import numpy as np
import pytest

from ricci_ir import primitives, use_backend
from ricci_reference import reference_backend
from ricci_testing import assert_results_close, check_programs, examples
from ricci_xla import default_backend, jit

ir = pytest.importorskip("jaxlib.mlir.ir", reason="jaxlib without MLIR's Python bindings")
dialects = pytest.importorskip("jaxlib.mlir.dialects.stablehlo", reason="as above")
chlo = pytest.importorskip("jaxlib.mlir.dialects.chlo", reason="as above")

NAMES = sorted(examples())

# By primitive: in how many roundings' multiples the results may differ, and why.
LOOSE = {}


@pytest.fixture(scope="module")
def context():
    with ir.Context() as context:
        dialects.register_dialect(context)
        chlo.register_dialect(context)
        yield context


@pytest.mark.parametrize("name", NAMES)
def test_xla_computes_what_the_reference_does(name):
    # All examples of a primitive in one program: compiling is what takes time.
    primitive, found = primitives[name], examples()[name]

    @jit
    def run(operands):
        return [e.bind(primitive, *args) for e, args in zip(found, operands, strict=True)]

    computed = run([e.args for e in found])
    with use_backend(reference_backend):
        expected = [e.bind(primitive, *e.args) for e in found]
    for example, ours, theirs in zip(found, computed, expected, strict=True):
        for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            what = f"{name}{example}, result {i}"
            assert_results_close(np.asarray(x), np.asarray(y), what, LOOSE.get(name, 1))


@pytest.mark.parametrize("name", NAMES)
def test_programs_and_their_derivatives_parse(name, context):
    for example in examples()[name]:
        for kind, text in check_programs(primitives[name], example):
            try:
                ir.Module.parse(text, context)
            except ir.MLIRError as error:
                pytest.fail(f"the {kind} of {name}{example}: {error}\n{text}")
