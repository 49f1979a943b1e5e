"""Sharded types are the same in whatever order programs are run.

The programs are those of `device_cases/transformed.txt`, which are compared with the oracle by
`test_device_programs.py`.
"""

import random
from dataclasses import replace

import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

from device_cases import cases, plain
from device_cases.agreement import differences

import ricci
import ricci.numpy as jnp
from ricci import P, lax
from ricci_testing import ricci_namespace

CASES = [c for c in cases() if c.topic == "transformed" and "descriptions" not in c.title]
SAMPLE = random.Random("transformed").sample(CASES, 12)


def observed(case, *probes):
    found = plain(replace(case, probes=probes).observed(ricci_namespace()))
    return {path: value for path, value in found.items() if "collectives" not in path}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("first", ["eager", "compiled"])
@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.title)
def test_results_are_the_same_in_any_order(eight_devices, case, first):
    ricci.clear_caches()
    second = "compiled" if first == "eager" else "eager"
    before = observed(case, first)
    assert not any("error" in path for path in before), before
    after = observed(case, second, first)
    for name in (first, second):
        as_first = {p.replace(f"['{name}']", f"['{first}']"): v for p, v in after.items()}
        part = {p: v for p, v in as_first.items() if p in before}
        assert part.keys() == before.keys()
        assert differences(part, before) == {}


@pytest.fixture
def grid(eight_devices):
    kinds = (ricci.sharding.AxisType.Explicit,) * 2
    mesh = ricci.make_mesh((4, 2), ("x", "y"), axis_types=kinds)
    with ricci.set_mesh(mesh):
        yield mesh


BODIES = {
    "sin": jnp.sin,
    "jit": ricci.jit(jnp.sin),
    "checkpoint": ricci.checkpoint(lambda a: jnp.sin(jnp.cos(a))),
    "scan": lambda a: lax.scan(lambda c, _: (jnp.sin(c) * a, None), a, None, length=2)[0],
    "while": lambda a: lax.fori_loop(0, 2, lambda i, c: jnp.sin(c) + a, a),
    "cond": lambda a: lax.cond(True, jnp.sin, jnp.cos, a),
    "vmap": ricci.vmap(jnp.sin),
    "shard_map": lambda a: ricci.shard_map(jnp.sin, out_specs=P(*ricci.typeof(a).sharding.spec))(a),
    "reshard": lambda a: ricci.reshard(jnp.sin(ricci.reshard(a, P())), ricci.typeof(a).sharding),
}


@pytest.mark.sampled(18)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("spec", [P("x", "y"), P(None, "x"), P()], ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_tangents_and_cotangents_have_the_type_of_their_primal(grid, name, spec, wide):
    if name == "shard_map" and wide:
        pytest.skip("its types are those of the narrow one")
    body = BODIES[name]
    with ricci.enable_x64(wide):
        x = ricci.reshard(jnp.arange(64.0).reshape(8, 8) / 64, spec)
        expected = ricci.typeof(x)
        assert ("float64" in str(expected)) == wide

        def all_of(x):
            y, tangent = ricci.jvp(body, (x,), (x,))
            gradient = ricci.grad(lambda x: jnp.sum(body(x)))(x)
            return y, tangent, gradient

        assert ricci.make_jaxpr(all_of)(x).out_avals == [expected] * 3
        assert [str(ricci.typeof(y)) for y in ricci.jit(all_of)(x)] == [str(expected)] * 3
