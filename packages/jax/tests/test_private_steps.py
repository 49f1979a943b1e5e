"""Private functions that libraries build their own transformations with."""

from functools import partial

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax._src import ad_util, api, api_util, core, source_info_util, util
from jax._src import linear_util as lu
from jax._src.array import ArrayImpl
from jax._src.dispatch import runtime_tokens
from jax._src.interpreters import ad
from jax._src.interpreters.batching import AxisData, is_vmappable
from jax._src.lax.control_flow.loops import _batch_and_remainder
from jax._src.xla_bridge import backends_are_initialized
from jax.experimental import io_callback
from jax.interpreters import batching
from jax.interpreters.partial_eval import JaxprTracer

POINT = {"a": jnp.array([0.5, 2.0]), "b": jnp.array([[1.5]])}


def fun(tree):
    return {"y": jnp.sin(tree["a"]) * tree["b"][0, 0], "z": tree["a"][0] * tree["b"]}


def forward(tree):
    push = partial(api._jvp, fun, (tree,))
    y, jac = jax.vmap(push, out_axes=(None, -1))(api._std_basis((tree,)))
    return jax.tree.map(partial(api._jacfwd_unravel, tree), y, jac)


def reverse(tree):
    y, pull = jax.vjp(fun, tree)
    (jac,) = jax.vmap(pull)(api._std_basis(y))
    split = jax.tree.map(partial(api._jacrev_unravel, y), tree, jac)
    return jax.tree.transpose(jax.tree.structure(tree), jax.tree.structure(y), split)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize(("steps", "whole"), [(forward, jax.jacfwd), (reverse, jax.jacrev)])
def test_steps_of_a_jacobian_give_the_jacobian(steps, whole, x64):
    with jax.enable_x64(x64):
        point = jax.tree.map(lambda x: jnp.asarray(np.asarray(x, float)), POINT)
        expected = whole(fun)(point)
        for call in (steps, jax.jit(steps), steps):
            jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-6), call(point), expected)


def test_standard_basis_has_the_types_of_the_arrays():
    basis = api._std_basis({"a": jnp.ones(2), "b": jnp.ones((1, 2), jnp.float16), "c": 1.0})
    assert [x.shape for x in basis.values()] == [(5, 2), (5, 1, 2), (5,)]
    assert [(str(x.dtype), x.weak_type) for x in basis.values()] == [
        ("float32", False),
        ("float16", False),
        ("float32", True),
    ]
    flat = np.concatenate([np.reshape(x, (5, -1)) for x in basis.values()], 1)
    np.testing.assert_array_equal(flat, np.eye(5))
    assert api._std_basis(jnp.zeros((0, 2))).shape == (0, 0, 2)
    with pytest.raises(ValueError, match="without arrays"):
        api._std_basis(())


# The dtypes that each check accepts, by holomorphic; JAX accepts the same.
KINDS = {"float16": "f", "int32": "i", "bool": "b", "complex64": "c"}
CHECKS = {
    "input_dtype_jacfwd": ((), "f", "c"),
    "input_dtype_jacrev": ((False,), "fc", "c"),
    "input_dtype_jacrev of integers": ((True,), "fibc", "c"),
    "output_dtype_jacfwd": ((), "fibc", "c"),
    "output_dtype_jacrev": ((), "f", "c"),
}


@pytest.mark.parametrize("holomorphic", [False, True])
@pytest.mark.parametrize("check", CHECKS)
def test_dtypes_of_jacobians_are_checked(check, holomorphic):
    options, *accepted = CHECKS[check]
    call = partial(getattr(api, f"_check_{check.split()[0]}"), holomorphic, *options)
    for dtype, kind in KINDS.items():
        if kind in accepted[holomorphic]:
            assert call(jnp.zeros((), dtype)) is None
        else:
            with pytest.raises(TypeError, match=f"puts with dtypes .* but got {dtype}"):
                call(jnp.zeros((), dtype))
    with pytest.raises(TypeError, match="not a valid array type"):
        call("text")


@pytest.mark.parametrize(
    ("length", "size", "shapes"),
    [(5, 2, ((2, 2), (1,))), (4, 2, ((2, 2), None)), (4, 5, (None, (4,))), (4, 0, (None, (4,)))],
)
def test_batches_and_remainder(length, size, shapes):
    parts = _batch_and_remainder({"x": jnp.arange(length)}, size)
    assert tuple(part and part["x"].shape for part in parts) == shapes
    joined = [np.ravel(part["x"]) for part in parts if part]
    np.testing.assert_array_equal(np.concatenate(joined), np.arange(length))
    assert _batch_and_remainder((), 2) == ((), None)


def test_lists_axes_and_shapes():
    assert util.split_list((1, 2, 3), [1, 0]) == [[1], [], [2, 3]]
    assert util.split_list([1], [2]) == [[1], []]
    assert util.concatenate([[1], (2, 3)]) == [1, 2, 3]
    assert [api_util._ensure_index(x) for x in (1, [1], (1, np.int64(2)))] == [1, (1,), (1, 2)]
    assert util.canonicalize_axis(-1, 3) == 2
    assert core.canonicalize_shape([2, np.int32(3)]) == (2, 3)
    assert core.definitely_equal_shape((2,), (2,))
    assert not core.definitely_equal_shape((2,), (2, 3))
    assert core.dimension_as_value(3) == 3
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        util.canonicalize_axis(3, 3)
    with pytest.raises(TypeError, match=r"of x.* invalid shape"):
        core.canonicalize_shape((1.5,), "of x:")


def generator():
    yield 1


def test_what_is_not_a_function_to_transform():
    assert api_util.check_callable(jnp.sin) is None
    for wrong, message in (
        (3, "callable value"),
        (generator, "generator"),
        (staticmethod(jnp.sin), "staticmethod"),
    ):
        with pytest.raises(TypeError, match=message):
            api_util.check_callable(wrong)


def test_wrapped_functions_take_name_and_docstring():
    @util.wraps(jnp.sin, namestr="bla_{fun}", docstr="Of {fun}: {x}.", x="3")
    def renamed(a):
        return a

    @util.wraps(partial(pow, 2))
    def of_partial(a):
        return a

    assert (renamed.__name__, renamed.__doc__, renamed(3)) == ("bla_sin", "Of sin: 3.", 3)
    assert of_partial.__name__ == "pow"


def test_cached_results_depend_on_settings():
    calls = []

    @util.cache()
    def dtype_of(x):
        calls.append(x)
        return None if x is None else jnp.asarray(x).dtype

    for x64, dtype in ((False, "float32"), (True, "float64"), (False, "float32")):
        with jax.enable_x64(x64):
            assert dtype_of(1.0) == dtype_of(1.0) == dtype
    assert dtype_of(None) is None is dtype_of(None)
    assert calls == [1.0, 1.0, None]
    dtype_of.cache_clear()
    dtype_of(1.0)
    assert calls == [1.0, 1.0, None, 1.0]


def test_frame_of_an_equation_is_the_users_line():
    (equation,) = jax.make_jaxpr(lambda x: jnp.sin(x))(1.0).eqns
    frame = source_info_util.user_frame(equation.source_info)
    assert frame.file_name == __file__
    assert frame.function_name.endswith("<lambda>")
    first_line = test_frame_of_an_equation_is_the_users_line.__code__.co_firstlineno
    assert (frame.start_line, frame.end_line) == (first_line + 1, first_line + 1)
    assert frame == source_info_util.Frame(*frame)
    assert source_info_util.user_frame(None) is None


def test_classes_are_those_of_values():
    assert type(jnp.ones(1)) is ArrayImpl
    assert backends_are_initialized()
    axis = AxisData("i", 3, None, None)
    assert (axis.name, axis.size) == ("i", 3)
    jax.make_jaxpr(lambda x: [x, isinstance(x, JaxprTracer) or pytest.fail()][0])(1.0)
    assert not isinstance(jnp.ones(1), JaxprTracer)
    is_linearized = lambda x: isinstance(x, ad.LinearizeTracer) or pytest.fail()
    jax.vjp(lambda x: [x, is_linearized(x)][0], 1.0)
    assert not isinstance(jnp.ones(1), ad.LinearizeTracer)
    assert str(ad_util.p2tz(jnp.arange(3)).aval) == "float0[3]"
    assert lu.wrap_init(jnp.sin).call_wrapped(0.0) == 0


def test_vmappable_values_are_those_of_registered_classes():
    class Pair:
        pass

    nothing = lambda *args: None
    batching.register_vmappable(Pair, int, int, nothing, nothing, None)
    assert is_vmappable(Pair())
    batching.unregister_vmappable(Pair)
    assert not is_vmappable(Pair())


def test_ordered_effects_go_on_after_all_arrays_were_deleted():
    seen = []

    @jax.jit
    def log(x):
        io_callback(lambda v: seen.append(float(v)), None, x, ordered=True)

    log(1.0)
    runtime_tokens.block_until_ready()
    for token in runtime_tokens.chain.ordered.values():
        token.delete()
    log(2.0)
    runtime_tokens.block_until_ready()
    runtime_tokens.clear()
    log(3.0)
    jax.effects_barrier()
    assert seen == [1.0, 2.0, 3.0]
