"""The laws that need a compiler: XLA computes what NumPy does, and accepts what is lowered."""

import importlib

import numpy as np
import pytest

from ricci_ir import primitives, use_backend
from ricci_reference import reference_backend
from ricci_testing import assert_results_close, check_programs, examples
from ricci_xla import jit

ir = pytest.importorskip("jaxlib.mlir.ir", reason="this jaxlib has no Python bindings of MLIR")
extension = pytest.importorskip("jaxlib.mlir._mlir_libs._jax_mlir_ext", reason="as above")

NAMES = sorted(examples())


@pytest.fixture(scope="module")
def context():
    registry = ir.DialectRegistry()
    extension.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in ("stablehlo", "chlo"):
        importlib.import_module(f"jaxlib.mlir.dialects.{dialect}").register_dialect(context)
    return context


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
            assert_results_close(np.asarray(x), np.asarray(y), what)


@pytest.mark.parametrize("name", NAMES)
def test_programs_and_their_derivatives_parse(name, context):
    for example in examples()[name]:
        for kind, text in check_programs(primitives[name], example):
            try:
                ir.Module.parse(text, context)
            except ir.MLIRError as error:
                pytest.fail(f"the {kind} of {name}{example}: {error}\n{text}")
