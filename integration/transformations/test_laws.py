"""The laws that need a compiler: XLA's values are NumPy's, and it accepts the lowered modules."""

import importlib
import random

import pytest

import ricci_parallel  # noqa: F401  (defines the collectives)
from ricci_ir import primitives
from ricci_reference import reference_backend
from ricci_testing import cases, check_compiled, check_programs, examples
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
    for dialect in ("stablehlo", "chlo", "sdy"):
        importlib.import_module(f"jaxlib.mlir.dialects.{dialect}").register_dialect(context)
    return context


@pytest.mark.sampled(25)
@pytest.mark.parametrize("name", NAMES)
def test_xla_agrees_with_the_reference(name):
    check_compiled(primitives[name], examples()[name], jit=jit, reference=reference_backend)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", NAMES)
def test_xla_agrees_with_the_reference_on_other_dtypes_and_shapes(name):
    variants = cases(name)[len(examples()[name]) :]
    check_compiled(primitives[name], variants, jit=jit, reference=reference_backend)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", NAMES)
def test_xla_agrees_with_the_reference_on_transformed_programs(name):
    # Of one example, always the same; `nox -s laws-full` takes all.
    smooth = [e for e in examples()[name] if e.smooth and e.differentiable()]
    example = random.Random(name).choice(smooth or examples()[name])
    options = {"jit": jit, "reference": reference_backend}
    check_compiled(primitives[name], [example], derived=True, **options)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("name", NAMES)
def test_programs_and_their_derivatives_parse(name, context):
    for case in cases(name):
        for kind, text in check_programs(primitives[name], case):
            try:
                ir.Module.parse(text, context)
            except ir.MLIRError as error:
                pytest.fail(f"the {kind} of {name}{case}: {error}\n{text}")
