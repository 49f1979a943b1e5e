"""Programs print as JAX prints them, character for character."""

import ast
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import ricci_autodiff as ad
import ricci_ir as ir
import ricci_lax as lax
from ricci_batching import vmap
from ricci_pytree import tree_flatten, tree_unflatten

GOLDEN = Path(__file__).parents[2] / "ir" / "tests" / "data" / "printed_jaxprs.txt"
# Intended differences.
_CONSTANTS = "the staged call takes constants as arguments, so that programs are shared"
EXPECTED_FAILURES = {
    "without the rules of single primitives": "an accuracy that was not asked for is no parameter",
    "jit that donates": "the staged call has no donation: that is the outermost jit's",
    "jit with a constant": _CONSTANTS,
    "constants shared by two jits": _CONSTANTS,
    "gradient of cond": "branches share results for residuals, and fill those they lack with zeros",
}
# JAX writes how a scan's operands are grouped with objects of its own; here it is two numbers.
_GROUPING = ("ft_in=", "ft_out=", "num_carry=", "num_consts=")


def cases():
    found = []
    for part in GOLDEN.read_text().split("\n### ")[1:]:
        title, _, rest = part.partition("\n")
        source, _, text = rest.partition("\n--->\n")
        lines = [line[:-1] for line in text.split("\n") if line.endswith("|")]
        reason = EXPECTED_FAILURES.get(title)
        marks = [pytest.mark.xfail(reason=reason)] if reason else []
        found.append(pytest.param(source, "\n".join(lines), id=title, marks=marks))
    return found


def jit(fun=None, **options):
    """The staged call of a function, traced once for each structure and types."""
    if fun is None:
        return partial(jit, **options)
    programs = {}

    def jitted(*args):
        leaves, tree = tree_flatten(args)
        avals = tuple(map(ir.get_aval, leaves))
        if (tree, avals) not in programs:
            found = SimpleNamespace()

            def flat(*xs):
                out, found.tree = tree_flatten(fun(*tree_unflatten(tree, xs)))
                return out

            jaxpr = ir.trace_to_jaxpr(flat, avals)
            found.program, found.consts = ir.convert_constvars(jaxpr), jaxpr.consts
            programs[tree, avals] = found
        found = programs[tree, avals]
        outs = ir.staged_call.bind(found.program, fun.__name__, [*found.consts, *leaves])
        return tree_unflatten(found.tree, outs)

    return jitted


def evaluate(source):
    jax = SimpleNamespace(
        make_jaxpr=ir.make_jaxpr,
        ShapeDtypeStruct=ir.ShapeDtypeStruct,
        named_scope=ir.named_scope,
        jit=jit,
        grad=ad.grad,
        jvp=ad.jvp,
        vmap=vmap,
        checkpoint=getattr(lax, "checkpoint", None),
        custom_jvp=lax.custom_jvp,
        custom_vjp=lax.custom_vjp,
    )
    jnp = SimpleNamespace(bfloat16=ml_dtypes.bfloat16, ones=np.ones, asarray=np.asarray)
    namespace = {"jax": jax, "jnp": jnp, "lax": lax, "np": np}
    *body, last = ast.parse(source).body
    exec(compile(ast.Module(body, []), "<case>", "exec"), namespace)
    return eval(ast.unparse(last), namespace)


def without_grouping(text):
    return "\n".join(line for line in text.split("\n") if not line.strip().startswith(_GROUPING))


@pytest.mark.parametrize(("source", "expected"), cases())
def test_text(source, expected):
    assert without_grouping(str(evaluate(source))) == without_grouping(expected)
