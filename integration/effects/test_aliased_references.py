"""References that a function has several names for, and references that were freed.

Both are a ``ValueError``. JAX accepts aliases in ``checkpoint``, and in ``custom_vjp`` under
``jit``; the results are wrong there if the function writes the reference.
"""

from collections.abc import Callable
from typing import Any

import pytest

import ricci
import ricci.numpy as jnp
from ricci import P, lax


def _custom_vjp(f, *refs):
    function = ricci.custom_vjp(f)
    function.defvjp(lambda *xs: (f(*xs), None), lambda _, ct: (None,) * len(refs))
    return function(*refs)


def _custom_jvp(f, *refs):
    function = ricci.custom_jvp(f)
    function.defjvp(lambda primals, tangents: (f(*primals), jnp.zeros(2)))
    return function(*refs)


def _shard_map(f, *refs):
    mesh = ricci.make_mesh((1,), ("x",), devices=ricci.devices()[:1])
    return ricci.shard_map(f, mesh=mesh, in_specs=P(), out_specs=P())(*refs)


def _scanned_carry(f, *refs):
    return lax.scan(lambda c, _: ((f(*c[1]), c[1]), None), (jnp.zeros(2), refs), None, length=1)[0]


def _jitted(f: Callable[..., Any]) -> Any:
    return ricci.jit(f)


Transformation = Callable[..., Any]

# Transformations that take references as arguments, and those that map arguments passed twice.
TRANSFORMATIONS: dict[str, Transformation] = {
    "checkpoint": lambda f, *refs: ricci.checkpoint(f)(*refs),
    "cond": lambda f, *refs: lax.cond(True, f, f, *refs),
    "cond, traced": lambda f, *refs: lax.cond(jnp.array(True), f, f, *refs),
    "eval_shape": lambda f, *refs: ricci.eval_shape(f, *refs),
    "eval_shape of jit": lambda f, *refs: ricci.eval_shape(ricci.jit(f), *refs),
    "jit": lambda f, *refs: ricci.jit(f)(*refs),
    "jit, lowered": lambda f, *refs: _jitted(f).lower(*refs),
    "jit, traced": lambda f, *refs: _jitted(f).trace(*refs),
    "make_jaxpr": lambda f, *refs: ricci.make_jaxpr(f)(*refs),
    "map": lambda f, *refs: lax.map(lambda xs: f(*xs), refs),
    "scan": lambda f, *refs: lax.scan(lambda c, xs: (c, f(*xs)), None, refs)[1],
    "scan, carried": _scanned_carry,
    "shard_map": _shard_map,
    "switch": lambda f, *refs: lax.switch(0, [f, f], *refs),
}
ALIASED_ONLY: dict[str, Transformation] = {
    "custom_vjp": _custom_vjp,
    "vmap": lambda f, *refs: ricci.vmap(f)(*refs),
}
PLACES: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "eager": lambda use: use(ricci.new_ref(jnp.arange(2.0))),
    "jit": lambda use: ricci.jit(lambda x: (use(ricci.new_ref(x)), x)[1])(jnp.arange(2.0)),
    "grad": lambda use: ricci.grad(lambda x: (use(ricci.new_ref(x)), x.sum())[1])(jnp.arange(2.0)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [*TRANSFORMATIONS, *ALIASED_ONLY])
def test_reference_is_not_passed_twice(name, place):
    transform = {**TRANSFORMATIONS, **ALIASED_ONLY}[name]
    with pytest.raises(ValueError, match="Only one of a function's names|returned a reference"):
        PLACES[place](lambda ref: transform(lambda a, b: a[...] + b[...], ref, ref))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [*TRANSFORMATIONS, *ALIASED_ONLY])
def test_distinct_references_are_accepted(name, place):
    if name == "scan, carried" or (name, place) == ("custom_vjp", "grad"):
        return  # references are not carried; those of derivatives are not for rules of one's own
    transform = {**TRANSFORMATIONS, **ALIASED_ONLY}[name]
    read = lambda a, b: a[...] + b[...]
    PLACES[place](lambda ref: transform(read, ref, ricci.new_ref(ref[...])))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_reference_is_not_passed_and_closed_over(name, place):
    transform = TRANSFORMATIONS[name]
    with pytest.raises(ValueError, match="Only one of a function's names|returned a reference"):
        PLACES[place](lambda ref: transform(lambda a: a[...] + ref[...].sum(), ref))


@pytest.mark.parametrize("place", ["eager", "jit"])
@pytest.mark.parametrize(
    "name", ["cond", "eval_shape", "jit", "make_jaxpr", "map", "scan", "switch", "vmap"]
)
def test_unused_reference_is_not_passed_twice(name, place):
    transform = {**TRANSFORMATIONS, **ALIASED_ONLY}[name]
    with pytest.raises(ValueError, match="is passed twice, as arguments "):
        PLACES[place](lambda ref: transform(lambda a, b: jnp.ones(2), ref, ref))


@pytest.mark.parametrize("place", ["eager", "jit"])
@pytest.mark.parametrize("name", ["cond", "custom_vjp", "jit", "make_jaxpr", "switch", "vmap"])
def test_message_names_the_arguments(name, place):
    transform = {**TRANSFORMATIONS, **ALIASED_ONLY}[name]

    def total(first, others):
        return first[...] + others["second"][...]

    with pytest.raises(ValueError, match=r"as arguments first and others\['second'\]\."):
        PLACES[place](lambda ref: transform(total, ref, {"second": ref}))


def test_message_names_the_argument_that_is_closed_over():
    ref = ricci.new_ref(1.0)

    def total(first):
        return first[...] + ref[...]

    with pytest.raises(ValueError, match="total: .* is passed as argument first, and closed over"):
        ricci.jit(total)(ref)


def test_custom_jvp_under_jit_refuses_a_reference_twice():
    with pytest.raises(ValueError, match="passed twice"):
        PLACES["jit"](lambda ref: _custom_jvp(lambda a, b: a[...] + b[...], ref, ref))


def test_loop_reads_one_reference_in_its_condition_and_its_body():
    ref = ricci.new_ref(3.0)
    count = lax.while_loop(lambda i: i < ref[...], lambda i: i + 0.5 * ref[...], 0.0)
    assert float(count) == 3.0


# Freed references

USES: dict[str, Callable[[Any], Any]] = {
    "addupdate": lambda ref: ricci.ref.addupdate(ref, 0, 2.0),
    "checkpoint": lambda ref: ricci.checkpoint(lambda: ref[...])(),
    "cond": lambda ref: lax.cond(True, lambda r: r[0], lambda r: 0.0, ref),
    "free": ricci.free_ref,
    "freeze": ricci.freeze,
    "grad": lambda ref: ricci.grad(lambda x: x * ref[0])(1.0),
    "jit": lambda ref: ricci.jit(lambda r: r[...])(ref),
    "jit of a closure": lambda ref: ricci.jit(lambda: ref[...])(),
    "part": lambda ref: ref[0],
    "read": lambda ref: ref[...],
    "scan": lambda ref: lax.scan(lambda c, _: (c + ref[0], None), 0.0, None, length=2)[0],
    "swap": lambda ref: ricci.ref.swap(ref, 0, 2.0),
    "view": lambda ref: ref.at[0][...],
    "vmap": lambda ref: ricci.vmap(lambda i: ref[i])(jnp.arange(2)),
    "while_loop": lambda ref: lax.while_loop(lambda i: i < ref[0], lambda i: i + 1, 0),
    "write": lambda ref: ricci.ref.set(ref, ..., jnp.ones(2)),
}
FREEING: dict[str, Callable[[Any], Any]] = {
    "branch": lambda ref: lax.cond(True, ricci.free_ref, lambda r: None, ref),
    "checkpoint": lambda ref: ricci.checkpoint(lambda: ricci.free_ref(ref))(),
    "free_ref": ricci.free_ref,
    "jit": lambda ref: ricci.jit(ricci.free_ref)(ref),
    "jit of a closure": lambda ref: ricci.jit(lambda: ricci.free_ref(ref))(),
    "loop": lambda ref: lax.scan(lambda c, _: (c, ricci.free_ref(ref)), 0.0, None, length=1),
}
SURROUNDINGS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "eager": lambda f, x: f(x),
    "checkpoint": lambda f, x: ricci.checkpoint(f)(x),
    "cond": lambda f, x: lax.cond(True, f, f, x),
    "jit": lambda f, x: ricci.jit(f)(x),
    "jit of vmap": lambda f, x: ricci.jit(ricci.vmap(f))(x[None]),
    "jvp": lambda f, x: ricci.jvp(f, (x,), (x,)),
    "scan": lambda f, x: lax.scan(lambda c, y: (c, f(y)), 0.0, x[None])[1],
    "vmap": lambda f, x: ricci.vmap(f)(x[None]),
}


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("use", USES)
def test_freed_reference_is_not_used(use, around):
    def program(x):
        ref = ricci.new_ref(x)
        ricci.free_ref(ref)
        return USES[use](ref)

    with pytest.raises(ValueError, match="after free_ref"):
        SURROUNDINGS[around](program, jnp.arange(2.0))


@pytest.mark.parametrize("around", ["eager", "jit", "vmap"])
@pytest.mark.parametrize("freeing", FREEING)
@pytest.mark.parametrize("use", ["read", "write", "free", "jit"])
def test_reference_freed_by_a_transformed_function_is_not_used(use, freeing, around):
    def program(x):
        ref = ricci.new_ref(x)
        FREEING[freeing](ref)
        return USES[use](ref)

    for _ in range(2):  # the second time with programs from the caches
        with pytest.raises(ValueError, match="after free_ref"):
            SURROUNDINGS[around](program, jnp.arange(2.0))


@pytest.mark.parametrize("freeing", FREEING)
@pytest.mark.parametrize("around", ["eager", "jit", "vmap", "jvp", "scan"])
def test_reference_is_freed_after_its_last_use(freeing, around):
    def program(x):
        ref = ricci.new_ref(x)
        ref[0] = 5.0
        result = ref[...]
        FREEING[freeing](ref)
        return result

    for _ in range(2):
        out = SURROUNDINGS[around](program, jnp.arange(2.0))
        out = out[0] if around in ("jvp", "vmap", "scan") else out
        assert out.tolist() == [5.0, 1.0]


def test_error_names_the_line_of_the_operation():
    def program(x):
        ref = ricci.new_ref(x)
        ricci.free_ref(ref)
        return ref[...]

    line = program.__code__.co_firstlineno + 3
    with pytest.raises(ValueError, match=rf"after free_ref, at .*test_aliased_refer\S*:{line}:"):
        ricci.jit(program)(1.0)
