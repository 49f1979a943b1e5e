"""``vmap`` over values of a library's class, which is not a pytree: ``register_vmappable``."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import jax
import jax.numpy as jnp
from jax.extend import linear_util as lu
from jax.interpreters import batching


class Batch:
    """Holds an array; the class defines how it is mapped over."""

    def __init__(self, data):
        self.data = data


@dataclass(frozen=True)
class Spec:
    axis: int


def plain(spec):
    return spec.axis if isinstance(spec, Spec) else spec


class Protocol:
    """The two functions of the class, which record their arguments."""

    def __init__(self):
        self.asked = []

    def to_elt(self, cont, example_index, batch, spec):
        self.asked.append(("to", plain(spec)))
        return Batch(cont(batch.data, plain(spec)))

    def from_elt(self, cont, axis_size, element, spec):
        self.asked.append(("from", axis_size, plain(spec)))
        return Batch(cont(axis_size, element.data, plain(spec)))


@pytest.fixture
def asked():
    protocol = Protocol()
    functions = protocol.to_elt, protocol.from_elt, None
    batching.register_vmappable(Batch, Spec, int, *functions)
    yield protocol.asked
    batching.unregister_vmappable(Batch)


DATA = np.arange(6, dtype=np.float32).reshape(3, 2)
double = lambda x: Batch(x.data * 2)

# The options of vmap, and what comes of twice the data: a function of it.
AXES = {
    "a spec": ({"in_axes": (Spec(0),), "axis_size": 3}, lambda d: d),
    "a spec for all arguments": ({"in_axes": Spec(0), "axis_size": 3}, lambda d: d),
    "specs": ({"in_axes": (Spec(0),), "out_axes": Spec(0), "axis_size": 3}, lambda d: d),
    "another axis": ({"in_axes": (Spec(1),), "out_axes": Spec(1), "axis_size": 2}, lambda d: d),
    "out at another axis": ({"in_axes": 0, "out_axes": Spec(1), "axis_size": 3}, lambda d: d.T),
    "integers": ({"in_axes": 1, "out_axes": 0, "axis_size": 2}, lambda d: d.T),
    "not mapped": ({"in_axes": (None,), "axis_size": 4}, lambda d: np.stack([d] * 4)),
    "a name": ({"in_axes": (Spec(0),), "axis_size": 3, "axis_name": "i"}, lambda d: d),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("case", AXES)
def test_axes(case, x64, asked):
    options, expected = AXES[case]
    with jax.enable_x64(x64):
        for _ in range(2):
            result = jax.vmap(double, **options)(Batch(jnp.asarray(DATA)))
            np.testing.assert_array_equal(result.data, expected(2 * DATA))
    assert [kind for kind, *_ in asked] == ["to", "from"] * 2


SPECS = {"in_axes": (Spec(0),), "out_axes": Spec(0), "axis_size": 3}
INSIDE = {
    "a derivative": (lambda x: Batch(jax.grad(lambda d: jnp.sum(d**2))(x.data)), 2 * DATA),
    "a constant": (lambda x: Batch(jnp.ones(2)), np.ones((3, 2))),
    "a jitted function": (lambda x: Batch(jax.jit(jnp.negative)(x.data)), -DATA),
    "a mapped function": (lambda x: jax.vmap(double, **{**SPECS, "axis_size": 2})(x), 2 * DATA),
    "a cond": (lambda x: Batch(jax.lax.cond(x.data[0] > 1, jnp.sin, jnp.cos, x.data)), None),
}


@pytest.mark.parametrize("case", INSIDE)
def test_mapped_functions_of_user_classes(case, asked):
    fun, expected = INSIDE[case]
    if expected is None:
        expected = np.stack([np.sin(r) if r[0] > 1 else np.cos(r) for r in DATA])
    result = jax.vmap(fun, **SPECS)(Batch(jnp.asarray(DATA)))
    np.testing.assert_allclose(result.data, expected, rtol=1e-6)


def through(data):
    return jax.vmap(double, **SPECS)(Batch(data)).data


def test_transformations_around_it(asked):
    jax.clear_caches()
    for _ in range(2):
        np.testing.assert_array_equal(jax.jit(through)(DATA), 2 * DATA)
        slope = jax.grad(lambda d: jnp.sum(through(d) ** 2))(DATA)
        np.testing.assert_array_equal(slope, 8 * DATA)
        np.testing.assert_array_equal(jax.vmap(through)(DATA[None])[0], 2 * DATA)
        np.testing.assert_array_equal(jax.jvp(through, (DATA,), (DATA,))[1], 2 * DATA)


def test_beside_arrays_and_inside_of_pytrees(asked):
    data, scale = Batch(jnp.asarray(DATA)), jnp.arange(3.0)
    fun = lambda tree, *, shift: {"c": Batch(tree["a"].data * tree["b"] + shift), "b": tree["b"]}
    axes = {"in_axes": ({"a": Spec(0), "b": 0},), "out_axes": {"c": Spec(1), "b": 0}}
    result = jax.vmap(fun, **axes)({"a": data, "b": scale}, shift=jnp.ones(3))
    np.testing.assert_array_equal(result["c"].data, (DATA * np.arange(3.0)[:, None] + 1).T)
    np.testing.assert_array_equal(result["b"], scale)


def test_collectives_over_the_axis(asked):
    centred = lambda x: Batch(x.data - jax.lax.pmean(x.data, "i"))
    result = jax.vmap(centred, **SPECS, axis_name="i")(Batch(jnp.asarray(DATA)))
    np.testing.assert_array_equal(result.data, DATA - DATA.mean(0))


def test_arrays_as_ever_while_a_class_is_registered(asked):
    np.testing.assert_array_equal(jax.vmap(lambda x, y: x + y, (0, None))(DATA, 1.0), DATA + 1)
    keys = jax.random.split(jax.random.key(0), 3)
    assert jax.vmap(lambda k: jax.random.bits(k))(keys).shape == (3,)
    assert jax.vmap(lambda x: {"a": x, "n": None}, out_axes={"a": 0, "n": None})(DATA)["n"] is None
    with pytest.raises(ValueError, match="mapped axes must have the same size"):
        jax.vmap(jnp.add)(DATA, DATA[:2])


WRONG = {
    "no size": ({"in_axes": (Spec(0),)}, double, ValueError, "no argument is mapped"),
    "another size": (
        {**SPECS, "axis_size": 5},
        double,
        ValueError,
        r"size 5, but a batch of shape \(3, 2\)",
    ),
    "out_axes=None": ({**SPECS, "out_axes": None}, double, ValueError, "out_axes=None"),
    "a spec for an array": (SPECS, lambda x: x.data, ValueError, "That is for values of a reg"),
    "no array": (SPECS, lambda x: "text", TypeError, "not a valid array type"),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_mapped_values_are_refused(case, asked):
    options, fun, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        jax.vmap(fun, **options)(Batch(jnp.asarray(DATA)))
    np.testing.assert_array_equal(through(jnp.asarray(DATA)), 2 * DATA)


def test_messages_name_arguments_and_results_beside_user_classes(asked):
    batch = Batch(jnp.asarray(DATA))
    with pytest.raises(ValueError, match=r"  scale\['k'\] has size 2 along axis 0"):
        jax.vmap(lambda x, scale: x, (Spec(0), 0), axis_size=3)(batch, {"k": jnp.ones(2)})
    with pytest.raises(ValueError, match=r"out_axes=None for output\['k'\]"):
        jax.vmap(lambda x: {"k": x}, Spec(0), None, axis_size=3)(batch)
    with pytest.raises(ValueError, match=r"in_axes\[0\] does not match argument x"):
        jax.vmap(lambda x: x, ({"a": 0},), axis_size=3)({"b": batch})


def test_vmap_refuses_unregistered_classes():
    batching.unregister_vmappable(Batch)
    with pytest.raises(TypeError, match="in_axes"):
        jax.vmap(double, **SPECS)(Batch(DATA))
    with pytest.raises(TypeError, match="not a valid array type"):
        jax.vmap(double)(Batch(DATA))


class Rows:
    """A size of a class other than int."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


def test_user_defined_axis_sizes():
    sizes = []

    def to_elt(cont, example_index, batch, spec):
        return Batch(cont(batch.data, plain(spec)) + example_index())

    def from_elt(cont, axis_size, element, spec):
        sizes.append(axis_size)
        return Batch(cont(axis_size, element.data, plain(spec)))

    iota = lambda size: 10 * jnp.arange(size.number)
    batching.register_vmappable(Batch, Spec, Rows, to_elt, from_elt, iota)
    try:
        rows = Rows(3)
        result = jax.vmap(double, **{**SPECS, "axis_size": rows})(Batch(jnp.asarray(DATA)))
        np.testing.assert_array_equal(result.data, 2 * (DATA + 10 * np.arange(3)[:, None]))
        assert sizes == [rows]
        batching.register_vmappable(Batch, Spec, str, to_elt, from_elt, None)
        with pytest.raises(TypeError, match="__index__"):
            jax.vmap(double, **{**SPECS, "axis_size": "3"})(Batch(DATA))
    finally:
        batching.unregister_vmappable(Batch)


AxisData = namedtuple("AxisData", "name size spmd_name")
JAXPR = jax.make_jaxpr(lambda x, y: (jnp.sin(x), jnp.cos(y) * x))(1.0, 2.0)
BATCHED = {
    "as it comes": ([None, 0], [batching.zero_if_mapped] * 2, [False, True], [(), (3,)]),
    "all of it": ([None, 0], [0, 0], [True, True], [(3,), (3,)]),
}


@pytest.mark.parametrize("case", BATCHED)
def test_programs_of_batches(case):
    axes, targets, batched, shapes = BATCHED[case]
    jaxpr, found = batching.batch_jaxpr_axes(JAXPR, AxisData(None, 3, None), axes, targets)
    assert (found, [aval.shape for aval in jaxpr.out_avals]) == (batched, shapes)


def test_functions_of_batches():
    axis = AxisData(None, 3, None)
    wrapped = lu.wrap_init(lambda x, y: (x * y, y))
    fun, dims = batching.batch_subtrace(wrapped, None, axis, (0, None))
    assert fun.call_wrapped(jnp.arange(3.0), 2.0)[0].tolist() == [0.0, 2.0, 4.0]
    assert dims() == [0, None]
