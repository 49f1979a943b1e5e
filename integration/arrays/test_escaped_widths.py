"""Arrays that leave a block of ``enable_x64`` for one of the other width, in every function.

An array keeps its dtype outside of the block. What functions make of it there, types, values and
refusals, is compared with JAX for calls of all functions that the tables of calls know. A run takes
a sample; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, it takes all.
"""

import os
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
from lax_cases import by_function as lax_functions
from library_cases import LINES, MODULES, operands
from numpy_cases import by_function as numpy_functions

import ricci.experimental.sparse.linalg  # noqa: F401 - its import is what calls need
import ricci.scipy as jsp
from ricci_testing import Oracle, Request, Result, evaluate_with, ricci_namespace, shared_oracle

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
WIDER = {"float32": "float64", "int32": "int64", "uint32": "uint64", "complex64": "complex128"}
NARROWER = {wide: narrow for narrow, wide in WIDER.items()}
IMPORTS = "import jax.scipy as jsp\n" + "".join(f"import jax.{name}\n" for name in MODULES)
OPERANDS = operands()


@dataclass(frozen=True)
class Use:
    """A call of a function, with its operands of default dtypes."""

    function: str
    source: str
    inputs: dict[str, Any]


def _table_uses() -> list[Use]:
    """The first call of each function of the tables for each set of its operands' dtypes."""
    uses = []
    for functions in (numpy_functions(), lax_functions()):
        for name, calls in functions.items():
            seen = set()
            for call in calls:
                inputs = {k: _narrow(v) for k, v in call.inputs.items()}
                kinds = tuple(str(getattr(v, "dtype", type(v))) for v in inputs.values())
                if getattr(call, "bad", False) or kinds in seen or not WIDER.keys() & set(kinds):
                    continue
                seen.add(kinds)
                uses.append(Use(name, call.source, inputs))
    return uses


def _narrow(value: Any) -> Any:
    return value.astype(NARROWER.get(str(value.dtype), value.dtype)) if _is_array(value) else value


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _library_uses() -> list[Use]:
    uses = []
    for line in LINES:
        words = set("".join(c if c.isalnum() or c == "_" else " " for c in line).split())
        uses.append(
            Use(line.partition("(")[0], line, {k: OPERANDS[k] for k in OPERANDS if k in words})
        )
    return uses


USES = _table_uses() + _library_uses()


def _request(use: Use) -> Request:
    """The call with operands that left a wide block; the result, and the warnings of dtypes."""
    leaving = "".join(
        f"    {name} = {name}.astype({WIDER[str(value.dtype)]!r})\n"
        for name, value in use.inputs.items()
        if _is_array(value) and str(value.dtype) in WIDER
    )
    source = f"""
import warnings
K = random.key(0)
with jax.enable_x64(True):
    pass
{leaving}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = {use.source}
result, [str(w.message) for w in caught if "dtype" in str(w.message)]
"""
    return Request(source, use.inputs, {"jax_enable_x64": False})


def _dtypes(result: Result) -> list[str]:
    return [leaf.dtype for leaf in result.leaves if leaf.kind == "array"]


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
def test_functions_take_wide_arrays_that_left_a_block_and_do_not_warn():
    """Types are JAX's, or the wide ones where JAX narrows an operand's dtype that it warns of."""
    uses = USES if EVERYTHING else random.Random(0).sample(USES, 20)
    requests = [_request(use) for use in uses]
    space = {**ricci_namespace(), "jsp": jsp}
    ours = [evaluate_with(space, r.source, r.inputs, config=r.config) for r in requests]
    imported = [Request(IMPORTS + r.source, r.inputs, r.config) for r in requests]
    theirs = shared_oracle().run_many(imported, timeout=3000.0)
    wrong = []
    for use, our, their in zip(uses, ours, theirs, strict=True):
        if their.error:
            continue
        pairs = list(zip(_dtypes(our), _dtypes(their), strict=False))
        warned = [leaf.value for leaf in our.leaves if "asked for" in str(leaf.value)]
        if our.error or warned or any(o not in (t, WIDER.get(t)) for o, t in pairs):
            wrong.append(f"{use.source}\n  {our.error or warned or pairs}")
    assert not wrong, "\n\n".join(wrong)


# Programs with an escaped value V: weak scalars w and k, arrays x and n.
PROGRAMS = """
V + V
jnp.stack([V])
jax.jit(lambda a: a + V)(1.0)
jax.vmap(lambda a: a * V)(y)
lax.scan(lambda c, a: (c, a * V), 1.0, y)
lax.scan(lambda c, _: (c * 2, c), V, None, length=2)
lax.fori_loop(0, 2, lambda i, c: c + c, V)
lax.while_loop(lambda c: jnp.all(c < 9), lambda c: c + c, V)
lax.cond(True, lambda a: a * 2, lambda a: a, V)
jax.checkpoint(lambda a: jnp.sin(a) * 2)(V)
jax.jit(jnp.zeros_like)(V)
""".strip().splitlines()
GRADIENTS = """
jax.grad(lambda a: jnp.sum(a * V))(1.0)
jax.grad(lambda a: jnp.sum(lax.scan(lambda c, _: (c * jnp.sin(a), c), a, None, length=2)[0]))(V)
jax.vmap(jax.grad(lambda a: lax.scan(lambda c, b: (c * jnp.sin(a) * b, c), a, y)[0]))(jnp.ravel(V))
jax.grad(lambda a: jnp.sum(jax.checkpoint(lambda b: jnp.sin(b) * V)(a)))(1.0)
jax.hessian(lambda a: jnp.sum(a * a * a))(V)
""".strip().splitlines()
ESCAPED = """
y = jnp.array([1.0, 2.0, 3.0], "float32")
with jax.enable_x64(True):
    w, k = jnp.asarray(1.5), jnp.asarray(2)
    x, n = jnp.array([1.0, 2.0, 3.0]), jnp.array([1, 2, 3])
"""


@pytest.mark.skipif(not Oracle.available(), reason="oracle environment missing: run nox -s oracle")
@pytest.mark.sampled(1)
@pytest.mark.parametrize("checks", [False, True])
def test_transformations_of_escaped_values_have_the_types_of_jax(checks):
    programs = [p.replace("V", v) for p in PROGRAMS for v in "wkxn"]
    programs += [p.replace("V", v) for p in GRADIENTS for v in "wx"]
    config = {"jax_enable_x64": False, "jax_enable_checks": checks}
    requests = [Request(f"{ESCAPED}\n{p}", {}, config) for p in programs]
    ours = [evaluate_with(ricci_namespace(), r.source, {}, config=config) for r in requests]
    theirs = shared_oracle().run_many(requests, timeout=600.0)
    wrong = [
        f"{p}: {our.error or _dtypes(our)}, JAX {_dtypes(their)}"
        for p, our, their in zip(programs, ours, theirs, strict=True)
        if not their.error and (our.error or _dtypes(our) != _dtypes(their))
    ]
    assert not wrong, "\n".join(wrong)
