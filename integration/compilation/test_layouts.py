"""The order in which the elements of arrays lie in memory: layouts and formats."""

import pickle

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="layouts need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci.experimental.layout import Format, Layout, with_layout_constraint
from ricci.sharding import Mesh, NamedSharding, SingleDeviceSharding
from ricci.sharding import PartitionSpec as P

pytestmark = pytest.mark.usefixtures("eight_devices")
X = np.arange(12, dtype=np.float32).reshape(3, 4)
COLUMNS = Layout((1, 0))


def here() -> SingleDeviceSharding:
    return SingleDeviceSharding(jax.devices()[0])


def order(x) -> tuple[int, ...]:
    return x.format.layout.major_to_minor


@pytest.fixture
def columns():
    return jax.device_put(X, Format(COLUMNS, here()))


def test_one_function_takes_both_layouts_in_turn(columns):
    rows = jax.device_put(X, here())
    f = jax.jit(lambda x: x * 2 + jnp.arange(4.0))
    for x in (rows, columns, rows, columns, columns, rows):
        np.testing.assert_array_equal(f(x), X * 2 + np.arange(4))
        np.testing.assert_array_equal(x + 1, X + 1)
        np.testing.assert_array_equal(x[1:, 2], X[1:, 2])
        np.testing.assert_array_equal(jnp.square(x), np.square(X), strict=True)
        assert order(x + 1) == (0, 1)
    jax.clear_caches()
    np.testing.assert_array_equal(f(columns), X * 2 + np.arange(4))


def test_result_in_a_layout_is_an_argument_like_others():
    f = jax.jit(lambda x: x * 2, out_shardings=Format(COLUMNS, here()))
    y = f(f(f(X)))
    assert order(y) == (1, 0)
    np.testing.assert_array_equal(y, X * 8)


def test_derivatives_and_batches(columns):
    f = lambda x: (with_layout_constraint(jnp.sin(x), COLUMNS) ** 2).sum()
    expected = 2 * np.sin(X) * np.cos(X)
    np.testing.assert_allclose(jax.grad(f)(columns), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(f))(X), expected, rtol=1e-5, atol=1e-6)
    stacked = jnp.stack([columns, X])
    g = jax.vmap(lambda x: with_layout_constraint(x * 2, COLUMNS), in_axes=1, out_axes=1)
    for h in (g, jax.jit(g)):
        np.testing.assert_array_equal(h(stacked.transpose(1, 0, 2))[:, 1], 2 * X)


def test_parts_of_a_divided_array():
    line = NamedSharding(Mesh(np.array(jax.devices()[:8]), "x"), P("x"))
    full = np.arange(64, dtype=np.float32).reshape(16, 4)
    x = jax.device_put(full, Format(COLUMNS, line))
    assert order(x) == order(x.addressable_shards[3].data) == (1, 0)
    y = jax.jit(lambda x: x + 1, out_shardings=Format(COLUMNS, line))(x)
    assert order(y) == (1, 0) and y.sharding == line
    np.testing.assert_array_equal(y, full + 1)
    np.testing.assert_array_equal(y.addressable_shards[3].data, full[6:8] + 1)


def test_random_keys():
    keys = jax.random.split(jax.random.key(0), (2, 3))
    moved = jax.device_put(keys, Format(COLUMNS, here()))
    assert moved.dtype == keys.dtype
    np.testing.assert_array_equal(jax.random.key_data(moved), jax.random.key_data(keys))
    draw = jax.jit(lambda k: jax.random.bits(k[1, 2]))
    assert draw(moved) == draw(keys)


def test_donated_arguments(columns):
    f = jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=Format(COLUMNS, here()))
    for _ in range(2):
        np.testing.assert_array_equal(f(jax.device_put(X, Format(COLUMNS, here()))), X + 1)
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1, donate_argnums=0)(columns), X + 1)


def test_compiler_chooses():
    auto = Format(Layout.AUTO)
    compiled = (
        jax.jit(lambda x: x.T + 1, in_shardings=auto, out_shardings=auto)
        .lower(jax.ShapeDtypeStruct((3, 4), np.float32))
        .compile()
    )
    ((wanted,), _) = compiled.input_formats
    y = compiled(jax.device_put(X, wanted))
    assert y.format == compiled.output_formats
    np.testing.assert_array_equal(y, X.T + 1)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda x: Format(COLUMNS), ValueError, "needs a sharding"),
        (lambda x: Format(3), TypeError, "layout must be a Layout"),
        (lambda x: Format(COLUMNS, P("x")), TypeError, "sharding must be a Sharding"),
        (lambda x: jax.device_put(x, Format(Layout((0,)), here())), ValueError, r"\(3, 4\)"),
        (lambda x: jax.device_put(x, Format(Layout((0, 0)), here())), ValueError, "once"),
        (lambda x: jax.device_put(x, Format(Layout.AUTO, here())), ValueError, "compiler"),
        (lambda x: jax.device_put(x, COLUMNS), ValueError, "device must be"),
        (lambda x: jax.jit(jnp.sin, out_shardings=COLUMNS)(x), ValueError, "needs a sharding"),
        (
            lambda x: jax.jit(lambda row: row, in_shardings=Format(COLUMNS, here()))(
                jax.device_put(x, here())
            ),
            ValueError,
            "argument row .* committed in another layout",
        ),
        (
            lambda x: (
                jax.jit(jnp.sin).lower(x).compile()(jax.device_put(x, Format(COLUMNS, here())))
            ),
            ValueError,
            "argument x .*\n *compiled for the usual layout",
        ),
        (lambda x: with_layout_constraint({"w": x}, COLUMNS), ValueError, r"x\['w'\] is a ndarray"),
        (
            lambda x: with_layout_constraint(jnp.asarray(x), Layout((0, 1, 2))),
            ValueError,
            "3 dimensions",
        ),
        (lambda x: with_layout_constraint(jnp.asarray(x), None), ValueError, "expected a Layout"),
    ],
)
def test_mistakes_are_explained(make, error, text):
    with pytest.raises(error, match=text) as caught:
        make(X)
    assert str(caught.value).count("\n") < 12
    np.testing.assert_array_equal(jnp.asarray(X) * 2, X * 2)


def test_a_layout_is_made_of_another():
    assert COLUMNS.update(tiling=((8,),)) == Layout(COLUMNS.major_to_minor, ((8,),))
    found = jax.device_put(X, Format(COLUMNS, here()))._pjrt_layout
    assert Layout.from_pjrt_layout(found).major_to_minor == COLUMNS.major_to_minor


def test_descriptions_have_formats():
    where = Format(COLUMNS, here())
    described = jax.ShapeDtypeStruct((3, 4), np.float32, sharding=where)
    assert (described.sharding, described.format) == (where.sharding, where)
    assert described.update(weak_type=True).format == where
    assert described == pickle.loads(pickle.dumps(described))
    assert described != jax.ShapeDtypeStruct((3, 4), np.float32, sharding=here())
    assert described.update(sharding=here()).format == Format(None, here())
    assert jax.ShapeDtypeStruct((3,), np.float32).format == Format()
    compiled = jax.jit(lambda x: x + 1).lower(described).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == (1, 0)
    np.testing.assert_array_equal(compiled(jax.device_put(X, where)), X + 1)
    with pytest.raises(ValueError, match="compiled for Layout"):
        compiled(jax.device_put(X, here()))
    with pytest.raises(TypeError, match="leaves the layout to the compiler"):
        jax.ShapeDtypeStruct((3, 4), np.float32, sharding=Format(Layout.AUTO))


@pytest.mark.parametrize(
    "x", [jnp.ones((2, 3)), np.ones((2, 3)), jax.ShapeDtypeStruct((2, 3), "int8")]
)
def test_layout_for_an_array_is_row_by_row(x):
    assert Layout.for_array(x) == Layout((0, 1), ())
    assert Layout.for_array(3) == Layout((), ())
