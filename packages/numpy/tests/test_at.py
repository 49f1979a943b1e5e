"""Updated copies, ``x.at[index]``: jaxprs as JAX prints them, values as NumPy's assignment."""

import numpy as np
import pytest

import ricci_numpy as jnp
from ricci_ir import ShapeDtypeStruct, make_jaxpr

M = np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4)
IV = np.array([0, 2])

INDICES = [
    0,
    (1, -1),
    (slice(None), 1),
    (slice(1, 3), slice(None, None, 2)),
    (slice(None, None, -1), 0),
    Ellipsis,
    (),
    (None, 0),
    (slice(0, 2), None, 1),
    IV,
    (IV, slice(None, None, -1)),
    (IV[:, None], IV),
    (np.array([True, False, True]), 1),
    M > 4,
    np.zeros(0, int),
    True,
]
OPERATIONS = {
    "set": lambda x, v: v,
    "add": lambda x, v: x + v,
    "subtract": lambda x, v: x - v,
    "multiply": lambda x, v: x * v,
    "mul": lambda x, v: x * v,
    "divide": lambda x, v: x / v,
    "power": lambda x, v: x**v,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_jaxpr_prints_as_jaxs(program, printed):
    expression, expected = program
    assert printed(expression) == expected


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_set_is_numpys_assignment(index, backend):
    expected = M.copy()
    values = np.arange(expected[index].size, dtype=np.float32).reshape(expected[index].shape)
    expected[index] = values
    np.testing.assert_array_equal(jnp.asarray(M).at[index].set(values), expected)


@pytest.mark.parametrize("name", OPERATIONS)
def test_at_operations_update_the_indexed_elements(name, backend):
    expected = M.copy()
    expected[1:, ::2] = OPERATIONS[name](expected[1:, ::2], np.float32(3))
    found = getattr(jnp.asarray(M).at[1:, ::2], name)(3.0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == M.dtype


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("shape", [(), (0,)], ids=str)
def test_at_operations_update_scalars_and_empty_arrays(name, shape, backend):
    x = np.full(shape, 5, np.float32)
    found = getattr(jnp.asarray(x).at[()], name)(3.0)
    np.testing.assert_allclose(found, OPERATIONS[name](x, np.full(shape, 3, np.float32)), rtol=1e-6)
    scalar = getattr(jnp.asarray(5.0).at[()], name)(3.0)  # weakly typed
    assert float(scalar) == pytest.approx(OPERATIONS[name](5.0, 3.0))


def test_repeated_indices_add_up(backend):
    found = jnp.zeros(3).at[jnp.asarray([1, 1, 2])].add(jnp.asarray([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(found, [0, 3, 4])


def test_apply(backend):
    found = jnp.asarray(M).at[IV].apply(jnp.square)
    expected = M.copy()
    expected[IV] **= 2
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(None, [0, 0, 9]), ("drop", [0, 0, 9]), ("fill", [0, 0, 9]), ("clip", [9, 0, 9])],
)
def test_set_out_of_bounds(mode, expected, backend):
    found = jnp.zeros(3).at[jnp.asarray([5, -7, -1])].set(9.0, mode=mode)
    assert found.tolist()[1:] == expected[1:]
    if mode == "clip":
        assert found.tolist()[0] == 9.0


@pytest.mark.parametrize(
    ("dtype", "fill"), [("float32", np.nan), ("int8", -128), ("uint8", 255), ("bool", True)]
)
def test_get_fills_with_the_extreme_value(dtype, fill, backend):
    x = jnp.asarray(np.zeros(3, dtype))
    found = x.at[jnp.asarray([0, 7])].get(mode="fill")
    np.testing.assert_array_equal(found, np.array([0, fill], dtype))
    assert x.at[jnp.asarray([7])].get(mode="fill", fill_value=1).tolist() == [1]


def test_negative_indices_can_be_out_of_bounds(backend):
    found = jnp.zeros(3).at[-1].set(1.0, wrap_negative_indices=False)
    assert found.tolist() == [0, 0, 0]


def test_values_that_do_not_fit_the_dtype_warn(backend):
    expected = "^scatter inputs have incompatible types: cannot safely cast .*float32 to .*int32"
    with pytest.warns(FutureWarning, match=expected):
        found = jnp.arange(3).at[0].set(np.float32(2.7))
    assert found.dtype == np.int32
    assert found.tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("update", "error", "says"),
    [
        (lambda x: x.at[0].set(x), ValueError, "does not broadcast"),
        (lambda x: x.at[0].set(1.0, mode="foo"), ValueError, "unknown mode"),
        (lambda x: x.at[0].set("a"), TypeError, "numbers"),
        (lambda x: x.at[[0, 1]].set(0.0), TypeError, "jnp.array"),
        (lambda x: x.at[0, 0, 0].set(0.0), IndexError, "dimensions was given to an array of"),
        (lambda x: x.at[0].foo, AttributeError, "foo"),
    ],
)
def test_invalid_update_raises(update, error, says):
    x = ShapeDtypeStruct((3, 4), np.dtype("float32"))
    with pytest.raises(error, match=says):
        make_jaxpr(update)(x)


@pytest.mark.parametrize("index", [slice(0, 0), np.zeros(0, int), (slice(3, 0), 0)], ids=repr)
def test_apply_to_an_empty_selection(index, backend):
    x = jnp.ones((3, 4))
    np.testing.assert_array_equal(x.at[index].apply(lambda e: e > 1), x)


@pytest.mark.parametrize("func", [lambda e: e > 1, lambda e: jnp.ones(3), lambda e: 0])
def test_apply_needs_a_scalar_of_the_dtype(func, backend):
    with pytest.raises(ValueError, match="func must return a scalar of the operand's dtype"):
        jnp.ones(3).at[0].apply(func)


@pytest.mark.parametrize(
    "update",
    [
        lambda x: x.at[0].set(1.0),
        lambda x: x.at[jnp.int32(1), 1:].add(1.0),
        lambda x: x.at[None, -1].apply(jnp.negative),
        lambda x: x.at[1].get(),
    ],
)
def test_single_positions_in_an_empty_dimension_raise(update, backend):
    x = jnp.zeros((0, 3))
    with pytest.raises(IndexError, match="axis 0 has size 0"):
        update(x)
    assert x.at[jnp.array([1])].set(1.0).shape == (0, 3)


STRATEGIES = {
    "gather": INDICES,
    "static_slice": [0, (1, -1), (slice(1, 3), slice(None, None, 2)), (None, 0), Ellipsis],
    "dynamic_slice": [0, (1, -1), (slice(None, None, -1), 0), slice(1, 3), (None, 0)],
}


@pytest.mark.parametrize(
    ("strategy", "index"), [(name, i) for name, indices in STRATEGIES.items() for i in indices]
)
def test_strategy_does_not_change_the_elements(strategy, index, backend):
    elements = jnp.asarray(M).at[index].get(strategy=strategy)
    np.testing.assert_array_equal(elements, M[index])


@pytest.mark.parametrize(
    ("strategy", "operation"),
    [("gather", "gather"), ("static_slice", "slice"), ("dynamic_slice", "dynamic_slice")],
)
def test_strategy_selects_the_operation(strategy, operation):
    jaxpr = make_jaxpr(lambda x: x.at[1].get(strategy=strategy))(jnp.asarray(M))
    assert operation in [equation.primitive.name for equation in jaxpr.eqns]


@pytest.mark.parametrize(
    ("index", "options", "error"),
    [
        (0, {"strategy": "x"}, ValueError),
        (0, {"strategy": "static_slice", "mode": "fill"}, ValueError),
        (0, {"strategy": "dynamic_slice", "mode": "fill"}, ValueError),
        (9, {"strategy": "static_slice"}, IndexError),
        (IV, {"strategy": "static_slice"}, TypeError),
        (IV, {"strategy": "dynamic_slice"}, TypeError),
        (slice(None, None, 2), {"strategy": "dynamic_slice"}, TypeError),
    ],
)
def test_strategy_refuses_what_it_cannot_read(index, options, error, backend):
    with pytest.raises(error):
        jnp.asarray(M).at[index].get(**options)
