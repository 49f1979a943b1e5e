"""Calls of compiled functions: their modules, and the errors, as in JAX."""

import re
from functools import cache

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="calls of compiled functions need the runtime")

from ffi.cases import LOWERING_RULES, PROGRAMS, REFUSED
from ffi.comparing import M, X, both
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import sdy, stablehlo

import jax
import jax.numpy as jnp
from jax.ffi import ffi_call
from ricci_testing.pytest_plugin import oracle as oracle

CAPSULE = jax.ffi.pycapsule(1)


def S(shape=(3,), dtype=np.float32):
    return jax.ShapeDtypeStruct(shape, np.dtype(dtype))


# Programs


@cache
def context():
    """A context of MLIR that knows the dialects of programs."""
    registry, made = ir.DialectRegistry(), ir.Context()
    _jax_mlir_ext.register_dialects(registry)
    made.append_dialect_registry(registry)
    for dialect in (stablehlo, sdy):
        dialect.register_dialect(made)
    made.load_all_available_dialects()
    return made


def calls_in(text: str) -> list[str]:
    """The calls in a program, written alike on both sides.

    JAX writes the attributes of a typed call beside those that StableHLO has for them.
    """
    with context():
        text = str(ir.Module.parse(text))
    found = []
    for line in re.findall(r"stablehlo.custom_call.*", text):
        line = re.sub(r"\((%\w+(?:#\d)?(?:, )?)*\)", "()", line)
        line = line.replace('backend_config = "", ', "", "mhlo.backend_config" in line)
        line = line.replace("mhlo.backend_config", "backend_config")
        line = line.replace("api_version = 4 : i32, ", "")
        head, fields, types = re.fullmatch(r"(.*?) \{(.*)\} : (.*)", line).groups()
        fields = re.split(r", (?=\w+ = )(?![^{]*\})", fields)
        found.append(f"{head} {sorted(fields)} {types}")
    return found


def lowered(source: str) -> str:
    if "vmap" not in source:
        return f"jax.jit({source}).lower(x).as_text()"
    return f"jax.jit({source}).lower(jnp.ones((3, 3)), jnp.ones((3, 3))).as_text()"


def test_programs_are_those_of_jax(oracle):
    different = [
        (source, ours, theirs)
        for source, ours, theirs in both([lowered(source) for source in PROGRAMS])
        if calls_in(ours.value) != calls_in(theirs.value)
    ]
    assert not different


def test_printed_programs_are_those_of_jax(oracle):
    sources = [
        "lambda x: call(x, b=1, a=(1, 2.0), d={'z': 1}, c=np.arange(2))",
        "lambda x: ffi_call('t', [S()], input_output_aliases={0: 0}, has_side_effect=True)(x)",
        "lambda x: ffi_call('t', [], has_side_effect=True)(x)",
        "jax.vmap(lambda x: ffi_call('t', S(()), vmap_method='broadcast_all')(x))",
        "lambda x: ffi_call('t', jax.ffi.abstract_token)(lax.create_token(x))",
    ]
    found = [f"str(jax.make_jaxpr({source})(x))" for source in sources]
    for source, ours, theirs in both(found):
        assert ours.value == theirs.value, source


def test_lowering_rules_that_build_mlir(oracle):
    sources = [
        "from jax.extend.core import Primitive\nfrom jax.interpreters import mlir\n"
        "p = Primitive('p')\n"
        "p.def_abstract_eval(lambda x, **_: jax.core.ShapedArray(x.shape, x.dtype))\n"
        f"mlir.register_lowering(p, {rule})\n"
        "jax.jit(lambda x: p.bind(x, k=1, b='a')).lower(m).as_text()"
        for rule in LOWERING_RULES
    ]
    for source, ours, theirs in both(sources):
        assert ours.error is None, source
        assert calls_in(ours.value) == calls_in(theirs.value), source


# Bad input


def test_refused_as_by_jax(oracle):
    wrong = []
    for source, ours, theirs in both(REFUSED):
        found, expected = (result.error and result.error.name for result in (ours, theirs))
        if found is None or found != expected:
            wrong.append((source, found, expected))
    assert not wrong


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ffi_call("t", 3), "must have a shape and a dtype, got 3 at position 0"),
        (lambda: ffi_call("t", S())(X, a=None), "'a' of 't' cannot be written .* NoneType"),
        (lambda: ffi_call("t", S())(X, a=jnp.ones(2)), "is an array of a device. Pass it as"),
        (
            lambda: jax.jit(lambda s: ffi_call("t", S())(a=s))(1.0),
            "traced value, float32.* operand",
        ),
        (lambda: ffi_call("t", S())(X, None), "operand 1 is None, .* by keyword"),
        (lambda: ffi_call("t", S(), vmap_method="all"), "'all' is none of 'sequential'"),
        (lambda: jax.vmap(ffi_call("t", S()))(M), "'t' has no vmap_method.*'broadcast_all'"),
        (lambda: ffi_call("t", S(), input_layouts=[(0, 1)])(X), r"input_layouts\[0\] is \(0, 1\)"),
        (lambda: jax.jvp(ffi_call("t", S()), (X,), (X,)), "FFI call to 't'.* custom_vjp"),
        (lambda: jax.ffi.pycapsule("abc"), "got 'abc' of type str"),
        (lambda: jax.ffi.register_ffi_target("t", 3), "'t' \\(execute\\) must be a capsule, got 3"),
        (lambda: jax.ffi.register_ffi_target("t", {}), "must have the stage 'execute'"),
        (lambda: jax.ffi.register_ffi_target("t", {"execute": 3}), "must be a capsule, got 3"),
        (lambda: jax.ffi.register_ffi_target("t", CAPSULE, api_version=7), "api_version=7"),
        (
            lambda: jax.ffi.register_ffi_target("t", CAPSULE, platform=3),
            "platform must be a string",
        ),
        (lambda: jax.ffi.register_ffi_type("T", {"id": CAPSULE}), "capsules with 'type_id'"),
    ],
)
def test_messages_name_the_remedy(make, said):
    with pytest.raises((TypeError, ValueError, RuntimeError, NotImplementedError), match=said) as e:
        make()
    assert len(str(e.value).splitlines()) < 12
