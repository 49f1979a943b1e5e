"""Arguments that JAX accepts are accepted, and those that it refuses are refused."""

import collections

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci.example_libraries import optimizers
from ricci.experimental import random as stateful
from ricci.sharding import NamedSharding
from ricci.sharding import PartitionSpec as P


class Boxed:
    """An object that converts to an array, without its attributes."""

    def __init__(self, value):
        self.value = jnp.asarray(value)

    def __jax_array__(self):
        return self.value


class Reflected(collections.namedtuple("Reflected", "a")):
    def __rmul__(self, other):
        return "reflected"


VECTOR, MATRIX = Boxed(np.array([-1.0, 2.0, 3.0])), Boxed(np.eye(2))
BOXED = {
    "tril_indices_from": (lambda: jnp.tril_indices_from(MATRIX), ([0, 1, 1], [0, 0, 1])),
    "triu_indices_from": (lambda: jnp.triu_indices_from(MATRIX), ([0, 0, 1], [0, 1, 1])),
    "diag_indices_from": (lambda: jnp.diag_indices_from(MATRIX), ([0, 1], [0, 1])),
    "piecewise": (
        lambda: jnp.piecewise(VECTOR, [Boxed(np.array([True, False, False]))], [lambda x: x, 0.0]),
        [-1.0, 0.0, 0.0],
    ),
    "convolve": (lambda: jnp.convolve(VECTOR, VECTOR), [1.0, -4.0, -2.0, 12.0, 9.0]),
    "correlate": (lambda: jnp.correlate(VECTOR, VECTOR), [14.0]),
    "array of scalars": (lambda: jnp.array([Boxed(1), Boxed(2)]), [1, 2]),
    "array of vectors": (lambda: jnp.array([VECTOR, VECTOR]), [[-1.0, 2.0, 3.0]] * 2),
}


@pytest.mark.parametrize("name", BOXED)
def test_functions_accept_objects_with_jax_array(name):
    call, expected = BOXED[name]
    for result in (call(), ricci.jit(call)()):
        np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))


def test_top_k_takes_the_smallest_booleans():
    values, places = jnp.top_k(jnp.array([True, False, True]), 2, mode="smallest")
    assert (values.tolist(), places.tolist()) == ([False, True], [1, 0])


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 4, 5), 0), ((3, 5), 1), ((3, 4, 4), 2), ((2, 1, 1), 0)]
)
def test_trapezoid_takes_steps_of_several_dimensions(shape, axis):
    y = np.arange(60.0, dtype="float32").reshape(3, 4, 5)
    dx = 1 + np.arange(np.prod(shape), dtype="float32").reshape(shape)
    np.testing.assert_allclose(
        jnp.trapezoid(y, dx=dx, axis=axis), np.trapezoid(y, dx=dx, axis=axis), rtol=1e-5
    )


def test_ravel_multi_index_can_ignore_bounds():
    i = jnp.array([0, 1])
    assert jnp.ravel_multi_index((i, i), (2, 3), mode="ignore").tolist() == [0, 4]
    traced = ricci.jit(lambda i: jnp.ravel_multi_index((i, i), (2, 3), mode="ignore"))
    assert traced(i).tolist() == [0, 4]


def test_operators_defer_to_subclasses_of_tuple():
    assert jnp.ones(3) * Reflected(1) == "reflected"
    with pytest.raises(TypeError, match="Make an array of it"):
        jnp.ones(3) * (1, 2, 3)


def test_padtype_to_pads_gives_python_ints():
    pads = lax.padtype_to_pads(np.array((4, 4)), np.array((2, 2)), np.array((1, 1)), "SAME")
    assert {type(side) for pad in pads for side in pad} == {int}


def test_sm3_takes_scalars():
    init, update, params = optimizers.sm3(0.1)
    state = init(jnp.float32(1.0))
    for step in range(3):
        state = update(step, jnp.float32(0.5), state)
    assert float(params(state)) == pytest.approx(0.9536915)


def test_stateful_generators_give_arrays_of_keys():
    keys = stateful.stateful_rng(0).key((2,))
    words = [[4165894930, 804218099], [1353695780, 2116000888]]
    assert ricci.random.key_data(keys).tolist() == words


def test_process_local_data_go_to_a_device_or_a_spec():
    device, mesh = ricci.devices()[-1], ricci.make_mesh((2,), ("x",))
    rows = np.arange(4.0)
    assert ricci.make_array_from_process_local_data(device, rows).devices() == {device}
    tree = ricci.make_array_from_process_local_data(
        NamedSharding(mesh, P("x")), {"a": rows, "b": rows}, (4,)
    )
    assert {x.shape for x in tree.values()} == {(4,)}
    with ricci.set_mesh(mesh):
        assert ricci.make_array_from_process_local_data(P("x"), rows).sharding.spec == P("x")


def test_symbolic_specs_may_be_a_list_for_a_tuple():
    specs = ricci.export.symbolic_args_specs((np.ones((2, 3)),) * 2, ["2, a", "2, a"])
    assert [str(spec.shape) for spec in specs] == ["(2, a)"] * 2


def test_struct_like_an_uncommitted_array_has_no_sharding():
    assert ricci.ShapeDtypeStruct.like(jnp.ones(3)).sharding is None
    placed = ricci.device_put(jnp.ones(3), ricci.devices()[1])
    assert ricci.ShapeDtypeStruct.like(placed).sharding == placed.sharding


def test_settings_have_global_values():
    context = ricci.make_user_context("fast")
    with context("exact"):
        assert (context.value, context.get_global()) == ("exact", "fast")
    context.set_global("exact")
    assert context.value == "exact"
    context.set_global("fast")
    assert context.value == "fast"
    assert ricci.numpy_rank_promotion.get_global() == "allow"


REFUSED = {
    "in a scalar": (lambda: 1 in jnp.array(1), ValueError),
    "a vector in": (lambda: jnp.arange(2) in jnp.arange(2), ValueError),
    "size of repeated axes": (lambda: jnp.size(jnp.zeros((2, 3)), (0, 0)), ValueError),
    "size of one axis, twice": (lambda: jnp.size(jnp.zeros((2, 3)), (1, -1)), ValueError),
    "impl and dtype": (
        lambda: ricci.random.wrap_key_data(
            np.zeros(2, "uint32"), impl="threefry2x32", dtype=ricci.random.key(0).dtype
        ),
        ValueError,
    ),
    "None as a size": (lambda: ricci.ShapeDtypeStruct((None, 2), "int32"), ValueError),
    "vmap of a boolean axis": (lambda: ricci.vmap(jnp.sin, in_axes=False), TypeError),
    "pmap of a boolean axis": (lambda: ricci.pmap(jnp.sin, in_axes=False), TypeError),
    "a seed under jit": (lambda: ricci.jit(lambda: stateful.stateful_rng().random())(), TypeError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_jax_refuses_are_refused(name):
    call, error = REFUSED[name]
    with pytest.raises(error):
        call()
