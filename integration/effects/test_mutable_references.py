"""Programs with references do what JAX's do.

Each line of `data/mutable_references.txt` is evaluated by both sides, with 64-bit types off and on,
and the programs of `data/mutable_reference_programs.txt` are printed. A run takes a sample; with
RICCI_ORACLE_CASES=all, as `nox -s oracle-full` sets it, it takes all.
"""

import gc
import os
import random
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="programs are compiled")

from oracle_programs import disagreements

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.debug import find_nan
from ricci.experimental import checkify
from ricci_ir import live_program
from ricci_testing import Oracle, Request, evaluate_with, ricci_namespace, shared_oracle

EVERYTHING = os.environ.get("RICCI_ORACLE_CASES") == "all"
DATA = Path(__file__).parents[1] / "data"
LINES = (DATA / "mutable_references.txt").read_text().splitlines()[1:]
PROGRAMS = (DATA / "mutable_reference_programs.txt").read_text().splitlines()[1:]
START = "new = jax.new_ref\nA = jnp.arange(4.)\n"

needs_oracle = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)


def new(x):
    return ricci.new_ref(x)


@needs_oracle
@pytest.mark.parametrize("wide", [False, True], ids=["32", "64"])
def test_programs_with_references_agree_with_jax(wide):
    lines = LINES if EVERYTHING else random.Random(f"{wide}").sample(LINES, 12)
    programs = {line: START + line.replace(" ;; ", "\n") for line in lines}
    wrong = disagreements(programs, {"jax_enable_x64": wide})
    assert not wrong, "\n\n".join(wrong)


@needs_oracle
def test_programs_are_printed_as_jax_prints_them():
    show = "def show(f, *args): return str(jax.make_jaxpr(f)(*args))\n"
    codes = [f"{START}{show}show({line})" for line in PROGRAMS]
    theirs = shared_oracle().run_many([Request(code, {}) for code in codes], timeout=900.0)
    wrong = []
    for line, code, their in zip(PROGRAMS, codes, theirs, strict=True):
        our = evaluate_with(ricci_namespace(), code, {})
        if our.error or our.value != their.value:
            wrong.append(f"{line}\nours:   {our}\ntheirs: {their}")
    assert not wrong, "\n\n".join(wrong)


# Programs that are kept


def test_a_program_is_the_same_after_the_caches_were_cleared():
    r = new(jnp.zeros(3))
    f = ricci.jit(lambda x: r.addupdate(x, 1))
    f(1.0)
    ricci.clear_caches()
    f(2.0)
    assert r[...].tolist() == [0, 3, 0]


@pytest.mark.parametrize(
    "transform", [ricci.grad, lambda f: ricci.vmap(f, axis_size=2, in_axes=None, out_axes=None)]
)
def test_reads_of_references_under_transformations_are_not_constants(transform):
    r = new(jnp.array([1.0, 2.0]))
    f = ricci.jit(transform(lambda x: x * r[1]))
    first = f(1.0)
    r[1] = 5.0
    assert (first, f(1.0)) == (2, 5)
    mapped = new(jnp.arange(4.0).reshape(2, 2))
    ricci.vmap(lambda r, x: ricci.jit(ricci.grad(lambda x: x * r[1]))(x))(mapped, jnp.ones(2))
    program = ricci.make_jaxpr(transform(lambda x: x * r[1]))(1.0)
    assert [v.aval.str_short() for v in program.constvars] == ["Ref{float32[2]}"]


def test_a_composite_uses_references_inside():
    f = lax.composite(_written_inside, "my.square")
    assert f(3.0) == 9 and ricci.jit(f)(3.0) == 9


def test_dead_code_elimination_keeps_writes_and_drops_local_references():
    r = new(0.0)

    @ricci.jit
    def writes(x):
        r[...] = x
        return x

    def inside(x):
        own = ricci.new_ref(x)
        own[...] = own[...] * 2
        return own[...]

    def f(x):
        writes(x)  # nobody needs the result
        ricci.jit(inside)(x)
        return x + 1

    assert ricci.jit(f)(2.0) == 3 and r[...] == 2
    program = ricci.make_jaxpr(f)(2.0)
    assert [e.primitive.name for e in program.eqns] == ["jit", "jit", "add"]
    live = live_program(program).jaxpr
    assert [e.params.get("name") for e in live.eqns] == ["writes", None]
    assert {str(e) for e in ricci.make_jaxpr(inside)(1.0).effects} == {"Inside<Ref>"}


def test_two_threads_lose_no_update():
    r = new(jnp.zeros(2))
    add = ricci.jit(lambda r, i: r.addupdate(1.0, i))

    def work(i):
        for _ in range(50):
            add(r, i)
            r[i] = r[i] + 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert r[...].tolist() == [100, 100]


def test_a_reference_is_freed_with_its_last_name():
    r = new(jnp.zeros(3))
    ricci.jit(lambda r: r.__setitem__(0, 1.0))(r)
    gone = weakref.ref(r)
    del r
    assert gone() is None or gc.collect() is None and gone() is None


# Where Ricci goes further than JAX


def test_a_condition_reads_and_writes_references():
    r = new(0)
    lax.while_loop(lambda i: r[...] < 4, lambda i: (r.addupdate(1), i + 1)[1], 0)
    assert r[...] == 4
    lax.while_loop(lambda i: (r.addupdate(1), i < 3)[1], lambda i: i + 1, 0)
    assert r[...] == 8  # the condition is evaluated four times


def test_a_mapped_branch_writes_for_each_example():
    def f(p):
        r = ricci.new_ref(jnp.zeros(2))
        lax.cond(p, lambda: r.__setitem__(0, 3.0), lambda: r.__setitem__(1, 4.0))
        return r[...]

    assert ricci.vmap(f)(jnp.array([True, False])).tolist() == [[3, 0], [0, 4]]


def test_checkpoint_differentiates_references_that_it_makes():
    def f(x):
        r = ricci.new_ref(0.0)
        r[...] = jnp.sin(x)
        return r[...] * x

    expected = np.cos(1.0) + np.sin(1.0)
    for g in (ricci.grad(ricci.checkpoint(f)), ricci.jit(ricci.grad(ricci.checkpoint(f)))):
        np.testing.assert_allclose(g(1.0), expected, rtol=1e-6)


def test_a_linear_function_that_uses_references_is_transposed():
    def f(x):
        r = ricci.new_ref(0.0)
        r[...] = x
        return r[...] * 3

    assert ricci.linear_transpose(f, 1.0)(2.0)[0] == 6


def test_a_backward_rule_in_a_branch_adds_to_a_reference():
    r = new(0.0)

    @ricci.custom_vjp
    def f(x, r):
        return x * 2

    f.defvjp(lambda x, r: (x * 2, r), lambda r, g: (r.addupdate(g), (g * 2, None))[1])
    g = ricci.grad(lambda x: lax.cond(x > 0, lambda x: f(x, r), lambda x: x, x))
    assert g(1.0) == 2 and g(-1.0) == 1 and ricci.jit(g)(1.0) == 2
    assert r[...] == 2


def test_custom_rules_read_references_and_refuse_to_lose_writes():
    r = new(2.0)

    @ricci.custom_jvp
    def reads(x):
        return x * r[...]

    reads.defjvp(lambda p, t: (p[0] * r[...], t[0] * 10))
    for g in (ricci.grad(ricci.jit(reads)), ricci.jit(ricci.grad(reads))):
        assert g(1.0) == 10

    @ricci.custom_vjp
    def writes(x):
        r[...] = x
        return x * 2

    writes.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 2,))
    assert ricci.jit(writes)(3.0) == 6 and r[...] == 3
    with pytest.raises(NotImplementedError, match="writes references"):
        ricci.grad(ricci.jit(writes))(1.0)


# Tools that look at programs


def _written_inside(x):
    r = ricci.new_ref(0.0)
    r[...] = x * x
    return r[...]


@pytest.mark.parametrize(
    "setting", [ricci.checking_leaks, ricci.enable_checks, ricci.debug_nans, ricci.disable_jit]
)
def test_strict_settings_hold_for_references(setting):
    r = new(jnp.zeros(3))
    with setting(True) if setting is not ricci.checking_leaks else setting():
        ricci.jit(lambda r, x: r.__setitem__(0, x * 2))(r, 2.0)
        assert ricci.grad(_written_inside)(3.0) == 6
        assert ricci.jit(ricci.vmap(ricci.grad(_written_inside)))(jnp.ones(2)).tolist() == [2, 2]
    assert r[...].tolist() == [4, 0, 0]


def test_a_plan_of_memory_counts_a_written_reference_once():
    f = ricci.jit(lambda r, x: r.__setitem__(0, x * 2))
    plan = str(ricci.memory_plan(f, new(jnp.zeros(300)), 2.0))
    assert "donated argument" in plan and "f32[300]" in plan


def test_checkify_and_find_nan_follow_writes_to_references():
    def f(x):
        r = ricci.new_ref(jnp.zeros(2))
        r[0] = jnp.log(x)
        return r[...]

    error, _ = checkify.checkify(ricci.jit(f), errors=checkify.nan_checks)(-1.0)
    assert "log" in error.get()
    assert find_nan(f, -1.0).operation == "log"
    outside = new(0.0)

    def h(ref, x):
        ref[...] = jnp.log(x)

    for fun in (h, ricci.jit(h)):
        assert find_nan(fun, outside, -1.0).operation == "log"
        assert outside[...] == 0

    def g(x):
        outside[...] = x
        checkify.check(x > 0, "negative")
        return x

    assert "negative" in checkify.checkify(ricci.jit(g))(-2.0)[0].get()
    assert outside[...] == -2


# Several devices


@pytest.mark.parametrize("jitted", [False, True])
def test_a_divided_reference_stays_divided(eight_devices, jitted):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))
    spec = ricci.P("i")
    sharding = ricci.NamedSharding(mesh, spec)
    r = new(ricci.device_put(jnp.arange(8.0), sharding))
    f = ricci.shard_map(
        lambda a: a.__setitem__(..., a[...] + lax.axis_index("i")),
        mesh=mesh,
        in_specs=spec,
        out_specs=None,
    )
    (ricci.jit(f) if jitted else f)(r)
    assert r[...].tolist() == [2.0 * i for i in range(8)]
    g = ricci.jit(lambda r: r.__setitem__(slice(2), r[:2] + 10))
    g(r), g(r)
    assert r[...].tolist()[:3] == [20, 22, 4]
    assert r[...].sharding.is_equivalent_to(sharding, 1)
    large = new(ricci.device_put(jnp.zeros(32000), sharding))
    for turn in range(2):
        large[4000 + turn] = 3.0
        large.addupdate(jnp.ones(2), np.array([turn, 31999]))
        assert large.read().sharding.is_equivalent_to(sharding, 1)
    assert large[...][np.array([0, 1, 4000, 4001, 31999])].tolist() == [1, 1, 3, 3, 2]


def test_a_reference_made_on_shards(eight_devices):
    mesh = ricci.make_mesh((8,), ("i",), axis_types=(ricci.sharding.AxisType.Auto,))

    def f(x):
        r = ricci.new_ref(jnp.zeros(1))
        r[...] = x * 2
        return r[...]

    on_shards = ricci.shard_map(f, mesh=mesh, in_specs=ricci.P("i"), out_specs=ricci.P("i"))
    for g in (on_shards, ricci.jit(on_shards)):
        assert g(jnp.arange(8.0)).tolist() == [2.0 * i for i in range(8)]


# Errors


def test_an_error_leaves_a_reference_as_it_was():
    r = new(jnp.arange(3.0))

    @ricci.jit
    def f(r, x):
        r[0] = x
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        f(r, 9.0)
    with pytest.raises(ValueError, match="returned a reference"):
        ricci.jit(lambda r: r)(r)
    with pytest.raises(ValueError, match="passed twice"):
        ricci.jit(lambda a, b: a[...] + b[...])(r, r)
    assert r[...].tolist() == [0, 1, 2]
    ricci.jit(lambda r: r.__setitem__(0, 5.0))(r)
    assert r[0] == 5


def test_a_reference_of_a_program_is_not_used_after_it():
    kept = []
    ricci.jit(kept.append)(new(1.0))
    for use in (
        lambda: kept[0][...],
        lambda: kept[0].__setitem__(..., 2.0),
        lambda: ricci.jit(lambda x: kept[0].addupdate(x))(1.0),
        lambda: ricci.grad(lambda x: x * kept[0][...])(1.0),
    ):
        with pytest.raises(ricci.errors.UnexpectedTracerError, match="escaped"):
            use()


def test_a_freed_reference_is_refused():
    r = new(1.0)
    ricci.free_ref(r)
    for use in (
        lambda: r[...],
        lambda: ricci.jit(lambda r: r[...])(r),
        lambda: r.__setitem__(..., 2.0),
    ):
        with pytest.raises(ValueError, match="free_ref"):
            use()


NO_FUNCTIONS_OF_REFERENCES = [
    *(lambda r: r + 1, lambda r: jnp.ones(3) @ r, jnp.sum, lax.sin),
    *(jnp.asarray, jnp.clip, jnp.imag, jnp.atleast_1d, ricci.nn.identity),  # give x as it is
    *(lambda r: jnp.reshape(r, 3), lambda r: jnp.concatenate([r]), lambda r: jnp.diff(r, 0)),
]


@pytest.mark.parametrize("f", NO_FUNCTIONS_OF_REFERENCES)
def test_arithmetic_on_a_reference_raises_type_error(f):
    for g in (f, ricci.jit(f)):
        with pytest.raises(TypeError, match=r"ref\[\.\.\.\]|unsupported operand"):
            g(new(jnp.ones(3)))


def test_typed_keys_and_extended_types():
    r = new(ricci.random.key(0))
    draw = ricci.jit(lambda r: r.__setitem__(..., ricci.random.split(r[...])[0]))
    draw(r)
    expected = ricci.random.split(ricci.random.key(0))[0]
    assert (ricci.random.key_data(r[...]) == ricci.random.key_data(expected)).all()
