"""Recomputation under `checkpoint`: as often as in real JAX, with every policy.

The operations in the printed programs of gradients are counted, inside and outside of loops and
branches. A run takes some of the programs; with RICCI_ORACLE_CASES=all, as `nox -s oracle-full`
sets it, all.
"""

import os
import random
import re

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci_lax import saved_residuals
from ricci_testing import evaluate_with, ricci_namespace
from ricci_testing.pytest_plugin import oracle as oracle

MATRIX = np.arange(9, dtype=np.float32).reshape(3, 3) / 9
VECTOR = np.array([0.5, -1.2, 2.0], np.float32)
PREAMBLE = """
from jax.ad_checkpoint import checkpoint_name as name
sin, cos, tanh, exp, policies = jnp.sin, jnp.cos, jnp.tanh, jnp.exp, jax.checkpoint_policies
A = np.arange(9, dtype=np.float32).reshape(3, 3) / 9
X = np.array([0.5, -1.2, 2.0], np.float32)
XS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
def layer(x): return name(sin(name(jnp.dot(A, cos(x)), "a")), "b")
def chain(x): return layer(sin(layer(x)))
@jax.custom_jvp
def cj(x): return sin(x) * 2
cj.defjvp(lambda p, t: (cj(*p), 2 * cos(p[0]) * t[0]))
@jax.custom_vjp
def cv(x): return sin(cos(x))
cv.defvjp(lambda x: (cv(x), cos(x)), lambda r, g: (g * exp(r),))
def loop(f, x): return lax.scan(lambda c, a: (f(c * a), None), x, XS)[0]
def scanned(x):
    c, ys = lax.scan(lambda c, a: (layer(c * a), sin(c)), x, XS)
    return c + ys.sum(0)
def branch(x): return lax.cond(x[0] > 0, lambda y: layer(sin(y)), lambda y: cos(y) * y, x)
def three(x):
    return lax.switch((x[0] > 0).astype("int32"),
                      [layer, lambda y: jnp.dot(A, sin(y)), lambda y: y], x)
def stopped(x):
    count, y = lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, sin(c[1])), (0, lax.stop_gradient(x)))
    return sin(x) * y
programs = {
    "sin": sin,
    "two": lambda x: sin(x) + layer(x) * layer(x + 1),
    "chain": chain,
    "named": lambda x: (lambda y: y * name(sin(y), "a") + name(exp(y), "b"))(tanh(x)),
    "jit": jax.jit(chain),
    "nested jit": jax.jit(lambda x: jax.jit(layer)(sin(x))),
    "custom_jvp": lambda x: sin(cj(sin(x))),
    "custom_vjp": lambda x: sin(cv(sin(x))),
    "scan": scanned,
    "scan, then more": lambda x: sin(scanned(cos(x))),
    "scan of custom_jvp": lambda x: loop(lambda c: cj(sin(c)), x),
    "scan of custom_vjp": lambda x: loop(lambda c: cv(sin(c)), x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: sin(c) * c, x),
    "while_loop": stopped,
    "cond": branch,
    "cond, then more": lambda x: sin(branch(sin(x))),
    "switch": three,
    "scan in cond": lambda x: lax.cond(x[0] > 0, scanned, sin, x),
    "cond in scan": lambda x: loop(branch, x),
    "checkpoint": lambda x: sin(jax.checkpoint(layer)(sin(x))),
    "checkpoint twice": jax.checkpoint(lambda y: sin(jax.checkpoint(sin)(sin(y)))),
    "checkpoint of another policy":
        lambda x: sin(jax.checkpoint(chain, policy=policies.dots_saveable)(sin(x))),
    "checkpoint in scan": lambda x: loop(jax.checkpoint(chain), x),
    "batched product":
        lambda x: sin(jnp.einsum("bi,bij->bj", sin(x)[:, None] * A, jnp.ones((3, 3, 3))).sum(0)),
    "vmap": lambda x: jax.vmap(lambda a: sin(jnp.dot(a, sin(x))))(A),
    "vmap of cond": jax.vmap(lambda a: lax.cond(a > 0, sin, cos, a)),
    "solve": lambda x: jnp.linalg.solve(A + jnp.eye(3) * 2, sin(x)),
    "relu": lambda x: jax.nn.relu(jnp.dot(A, x)),
    "gelu": lambda x: jax.nn.gelu(jnp.dot(A, x)),
    "logsumexp": lambda x: jax.nn.logsumexp(sin(x)) * x,
}
choices = [
    None,
    policies.nothing_saveable,
    policies.everything_saveable,
    policies.dots_saveable,
    policies.dots_with_no_batch_dims_saveable,
    policies.save_only_these_names("a"),
    policies.save_only_these_names("a", "b"),
    policies.save_anything_except_these_names("a"),
    policies.save_any_names_but_these("a"),
    policies.offload_dot_with_no_batch_dims("device", "pinned_host"),
    policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["b"], names_which_can_be_offloaded=["a"],
        offload_src="device", offload_dst="pinned_host"),
    policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("b")),
    lambda primitive, *_, **__: primitive.name == "sin",
]
places = {
    "alone": lambda f: f,
    "in the middle": lambda f: lambda x: sin(f(sin(x))),
    "in scan": lambda f: lambda x: loop(f, x),
    "in cond": lambda f: lambda x: lax.cond(x[0] > 0, f, lambda y: y, x),
    "in jit": jax.jit,
    "in checkpoint": lambda f: jax.checkpoint(lambda y: f(sin(y))),
    "in vmap": lambda f: lambda x: jax.vmap(f)(x * XS),
}
counted = ["sin", "cos", "tanh", "exp", "dot_general", "scan", "while", "cond", "device_put"]
def tally(jaxpr, counts):
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if eqn.primitive.name in counted:
            counts[counted.index(eqn.primitive.name)] += 1
        for value in eqn.params.values():
            for inner in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(getattr(inner, "jaxpr", inner), "eqns"):
                    tally(inner, counts)
    return counts
def counts(program, place):
    found = []
    for policy in choices:
        f = places[place](jax.checkpoint(programs[program], policy=policy))
        jaxpr = jax.make_jaxpr(jax.grad(lambda x: f(x).sum()))(X)
        found.append(tally(jaxpr, [0] * len(counted)))
    return np.array(found)
def values(program, place):
    found = []
    for policy in choices:
        f = places[place](jax.checkpoint(programs[program], policy=policy))
        g = jax.grad(lambda x: f(x).sum())
        found.append([g(X), jax.jit(g)(X)])
    return found
"""


def _keys(name: str) -> list[str]:
    """The keys of a dictionary of the preamble."""
    text = PREAMBLE.split(f"\n{name} = {{")[1].split("\n}")[0]
    return re.findall(r'^    "(.+?)":', text, re.MULTILINE)


PROGRAMS, PLACES = _keys("programs"), _keys("places")
CASES = [(program, place) for program in PROGRAMS for place in PLACES]
CHOSEN = (
    CASES
    if os.environ.get("RICCI_ORACLE_CASES") == "all"
    else random.Random(0).sample(CASES, len(CASES) // 6)
)

# Where JAX computes more again than is needed: what Ricci has fewer of, and why.
FEWER = {
    # A policy that saves all results of a loop or branch spares its second run.
    "scan": "saved as a whole",
    "cond": "saved as a whole",
    "while": "saved as a whole",
    # A policy that saves sines saves also those in a while loop that nothing differentiates.
    "sin": "saved in while_loop",
    # A value moved to another memory for an outer checkpoint serves the inner one.
    "device_put": "moved once",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("program", "place"), CHOSEN)
def test_checkpoint_recomputes_the_same_operations_as_jax(oracle, program, place):
    source = f"{PREAMBLE}\ncounts({program!r}, {place!r})"
    ours = np.asarray(evaluate_with(ricci_namespace(), source, {}).value)
    theirs = np.asarray(oracle.run(source).value)
    counted = ["sin", "cos", "tanh", "exp", "dot_general", "scan", "while", "cond", "device_put"]
    for column, name in enumerate(counted):
        fewer = name in FEWER and (name != "sin" or program == "while_loop")
        compare = np.testing.assert_array_less if fewer else np.testing.assert_array_equal
        compare(ours[:, column] - fewer, theirs[:, column], err_msg=f"{name}, by policy")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("program", [p for p, place in CHOSEN if place == "alone"])
def test_policies_change_no_gradient(program):
    source = f"{PREAMBLE}\nvalues({program!r}, 'in the middle')"
    leaves = evaluate_with(ricci_namespace(), source, {}).leaves
    for leaf in leaves[1:]:
        np.testing.assert_allclose(leaf.value, leaves[0].value, rtol=1e-5, atol=1e-6)


RESIDUALS = {
    "lambda x: sin(x) * cos(x) * 2.0": "X",
    "lambda x, W: tanh(name(jnp.dot(W, sin(x)), 'z')).sum()": "X, A",
    "jax.checkpoint(lambda x, W: tanh(jnp.dot(W, sin(x))).sum())": "X, A",
    "jax.checkpoint(lambda x: chain(x).sum(), policy=policies.dots_saveable)": "X",
    "jax.checkpoint(lambda x: chain(x).sum(), policy=policies.save_only_these_names('b'))": "X",
    "lambda p: tanh(jnp.dot(p['W'], sin(p['x']))).sum()": "{'x': X, 'W': A}",
    "lambda x: x * jnp.array([1.0, 2.0, 3.0]) * A[0]": "X",
    "lambda x: jax.checkpoint(lambda y: sin(y) * A[0])(x)": "X",
    "lambda x: lax.cond(x[0] > 0, sin, cos, x)": "X",
    "lambda x: x * 2.0 * 3.0": "X",
    "lambda *a, **k: a[0] * a[1] * k['s']": "X, X, s=X",
    "jax.nn.softmax": "X",
    "lambda x, y: sin(x) * cos(y)": "1.0, X",
}


@pytest.mark.parametrize("source", RESIDUALS)
@pytest.mark.parametrize("wide", [False, True])
def test_residuals_are_listed_as_in_jax(oracle, source, wide):
    source = f"""{PREAMBLE}
import contextlib, io, re
out = io.StringIO()
with contextlib.redirect_stdout(out):
    jax.ad_checkpoint.print_saved_residuals({source}, {RESIDUALS[source]})
re.sub("(output of .*?|named .*?) from .*", "\\\\1", out.getvalue())
"""
    config = {"jax_enable_x64": wide}
    ours = evaluate_with(ricci_namespace(), source, {}, config=config).value
    assert ours == oracle.run(source, config=config).value


def described_residuals(fun, *args):
    """The residuals among the results of operations."""
    found = saved_residuals(fun, *args)
    return [what for _, what in found if what.startswith("output of")]


@pytest.mark.parametrize("wrap", [lambda f: f, ricci.jit])
@pytest.mark.parametrize(("policy", "count"), [("everything_saveable", 4), ("dots_saveable", 1)])
def test_residuals_of_called_programs_keep_their_lines(wrap, policy, count):
    """The program is inlined for the policy; each operation stays where its function has it."""

    def outside(x):
        return called(jnp.cos(jnp.dot(MATRIX, x))).sum()

    @ricci.jit
    def called(x):
        return jnp.sin(x) * x

    policy = getattr(ricci.checkpoint_policies, policy)
    found = described_residuals(ricci.checkpoint(wrap(outside), policy=policy), VECTOR)
    assert len(found) == count
    assert all(what.endswith(("outside)", "called)")) for what in found)


def test_offloaded_residuals_name_the_line_of_their_computation():
    policy = ricci.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")

    def layer(x):
        return jnp.sin(jnp.dot(x, MATRIX)).sum()

    (found,) = described_residuals(ricci.checkpoint(layer, policy=policy), VECTOR)
    assert found.startswith("output of device_put from") and found.endswith("layer)")
