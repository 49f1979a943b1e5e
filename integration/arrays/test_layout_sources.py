"""Arrays of every layout, from every source of them, give the results that NumPy gives.

What a source makes is independent of what uses it: each source meets each use.
"""

import copy
import itertools
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="layouts need the runtime")

import ricci as jax
import ricci.numpy as jnp
from ricci import lax
from ricci.experimental import io_callback
from ricci.experimental.layout import Format, Layout, with_layout_constraint
from ricci.experimental.serialize_executable import deserialize_and_load, serialize
from ricci.sharding import Mesh, NamedSharding, SingleDeviceSharding
from ricci.sharding import PartitionSpec as P

pytestmark = pytest.mark.usefixtures("eight_devices")
X = (np.arange(32, dtype=np.float32) * 1.5 - 7).reshape(8, 4)
COLUMNS = Layout((1, 0))


def aligned(value, order=None):
    """Return a copy of an array in memory that XLA's CPU client shares, dimensions in an order."""
    value = np.asarray(value)
    order = tuple(reversed(range(value.ndim))) if order is None else order
    memory = np.zeros(value.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    flat = memory[start : start + value.nbytes].view(value.dtype)
    copied = flat.reshape([value.shape[i] for i in order]).transpose(np.argsort(order))
    copied[...] = value
    return copied


def here(i=0):
    return SingleDeviceSharding(jax.devices()[i])


def line():
    return NamedSharding(Mesh(np.array(jax.devices()[:8]), ("x",)), P("x"))


def by_dlpack(value, **options):
    return jax.dlpack.from_dlpack(aligned(value), **options)


def exported(function, *args):
    return jax.export.deserialize(jax.export.export(jax.jit(function))(*args).serialize()).call


def loaded_result(value):
    """Return the result of a compiled function that was read from bytes."""
    in_columns = jax.jit(lambda x: x + 0, out_shardings=Format(COLUMNS, here()))
    return deserialize_and_load(*serialize(in_columns.lower(value).compile()))(value)


def laid_out_by_compiler(value):
    """Return a result in columns that is not committed to its device."""
    return jax.jit(lambda x: x.T + 0, out_shardings=Format(Layout.AUTO))(jnp.asarray(value.T))


SOURCES = {
    "dlpack": by_dlpack,
    "dlpack, no copy": lambda x: by_dlpack(x, copy=False),
    "dlpack, copied": lambda x: by_dlpack(x, copy=True),
    "dlpack, rows": lambda x: jax.dlpack.from_dlpack(aligned(x, (0, 1))),
    "dlpack of jnp": lambda x: jnp.from_dlpack(aligned(x)),
    "dlpack, to device 3": lambda x: by_dlpack(x, device=jax.devices()[3]),
    "dlpack, there and back": lambda x: jax.dlpack.from_dlpack(by_dlpack(x)),
    "dlpack, a view of NumPy's": lambda x: jax.dlpack.from_dlpack(
        np.asarray(by_dlpack(x)).T.copy().T
    ),
    "device_put": lambda x: jax.device_put(x, Format(COLUMNS, here())),
    "device_put from device to device": lambda x: jax.device_put(by_dlpack(x), jax.devices()[1]),
    "device_put over devices": lambda x: jax.device_put(by_dlpack(x), line()),
    "device_put with parts in columns": lambda x: jax.device_put(x, Format(COLUMNS, line())),
    "copy": lambda x: copy.copy(by_dlpack(x)),
    "deepcopy": lambda x: copy.deepcopy(by_dlpack(x)),
    "array": lambda x: jnp.array(by_dlpack(x), copy=True),
    "asarray": lambda x: jnp.asarray(by_dlpack(x)),
    "pickled": lambda x: pickle.loads(pickle.dumps(by_dlpack(x))),
    "shard": lambda x: by_dlpack(x).addressable_shards[0].data,
    "constraint": lambda x: with_layout_constraint(jnp.asarray(x), COLUMNS),
    "result": lambda x: jax.jit(lambda x: x + 0, out_shardings=Format(COLUMNS, here()))(x),
    "result the compiler laid out": lambda x: laid_out_by_compiler(x),
    "result of a loaded function": loaded_result,
    "NumPy, columns": lambda x: jnp.asarray(aligned(x)),
    "NumPy, columns, shared": lambda x: jax.device_put(aligned(x), may_alias=True),
    "NumPy, backwards": lambda x: jnp.asarray(aligned(x[::-1, ::-1])[::-1, ::-1]),
    "NumPy, backwards, shared": lambda x: jax.device_put(
        aligned(x[::-1, ::-1])[::-1, ::-1], may_alias=True
    ),
    "NumPy, every second": lambda x: jax.device_put(
        np.repeat(np.repeat(x, 2, 1), 2, 0)[::2, ::2], may_alias=True
    ),
}


def in_turn(function):
    """Return a use by a compiled function, called with rows first and the array afterwards."""

    def use(x, value):
        compiled: Any = jax.jit(function)
        rows = jnp.asarray(value * 2)
        for _ in range(2):
            compiled(rows)
        return [compiled(x), compiled(x), compiled(rows) / 2, compiled(x)]

    return use


def array_first(x, value):
    compiled = jax.jit(lambda x: x * 3)
    rows = jax.device_put(value, x.sharding)
    return [compiled(x), compiled(x), compiled(rows), compiled(rows), compiled(x)]


def by_reference(x, value):
    ref = jax.new_ref(x)
    ref[1, 2] = 100.0
    ref[...] += 1
    return ref[...]


def written(value):
    value = value.copy()
    value[1, 2] = 100
    return value + 1


def mapped(x):
    f = jax.shard_map(lambda x: x * 3, mesh=line().mesh, in_specs=P("x"), out_specs=P("x"))
    return f(jax.device_put(x, line()))


def scanned(x):
    return lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(4), x)[1]


def scanned_by_numpy(x):
    return np.concatenate([np.zeros((1, 4)), x.cumsum(0)[:-1]]) * x


def donated(x, value):
    f = jax.jit(lambda x: x * 3, donate_argnums=0)
    return [f(jnp.array(value)), f(copy.copy(x)), f(copy.copy(x)), f(x)]


def triple(x):
    return x * 3


class Wrapped:
    """An object of another library that holds an array."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __jax_array__(self):
        return self.array


def wrapped(x, value):
    f = jax.jit(triple)
    own: Any = Wrapped(x)
    rows = Wrapped(jnp.asarray(value))
    return [f(y) for y in (rows, rows, own, own, rows, own)] + [jnp.multiply(own, 3)]


def printed(x):
    """Return triples of an array and its printed form, by a program with an ordered effect."""
    seen = []

    @jax.jit
    def f(x):
        io_callback(lambda x: seen.append(np.array(x) * 3), None, x, ordered=True)
        return x * 3

    results = [f(x), f(x)]
    jax.effects_barrier()
    return [*results, *seen]


# For each use of an array, with its value: the result, or several equal ones, and NumPy's.
USES = {
    "asarray": (lambda x, v: np.asarray(x), lambda v: v),
    "__array__": (lambda x, v: x.__array__(np.float64), lambda v: v),
    "device_get": (lambda x, v: jax.device_get(x), lambda v: v),
    "tolist": (lambda x, v: x.tolist(), lambda v: v),
    "tobytes": (lambda x, v: np.frombuffer(x.tobytes(), v.dtype), lambda v: v.reshape(-1)),
    "shards": (lambda x, v: _gathered(x), lambda v: v),
    "dlpack": (lambda x, v: np.from_dlpack(jax.device_put(x, here())), lambda v: v),
    "pickle": (lambda x, v: pickle.loads(pickle.dumps(x)), lambda v: v),
    "copy": (lambda x, v: [x.copy(), copy.copy(x), jnp.array(x)], lambda v: v),
    "move": (lambda x, v: jax.device_put(x, here(5)) * 3, lambda v: v * 3),
    "shard": (lambda x, v: jax.device_put(x, line()) * 3, lambda v: v * 3),
    "operator": (lambda x, v: [x * 3 for _ in range(6)], lambda v: v * 3),
    "two operands": (lambda x, v: [x + v, v + x], lambda v: v + v),
    "index": (lambda x, v: [x[2] for _ in range(2)], lambda v: v[2]),
    "slice": (lambda x, v: x[1:7:2, ::-1], lambda v: v[1:7:2, ::-1]),
    "gather": (lambda x, v: x[np.array([3, 0])], lambda v: v[[3, 0]]),
    "mask": (lambda x, v: x[v > 3], lambda v: v[v > 3]),
    "set": (lambda x, v: x.at[1, 2].set(100) + 1, written),
    "sum": (lambda x, v: [x.sum(0) for _ in range(5)], lambda v: v.sum(0)),
    "argmax": (lambda x, v: jnp.argmax(x * -1, axis=1), lambda v: np.argmax(-v, axis=1)),
    "iterate": (lambda x, v: list(x)[3], lambda v: v[3]),
    "reshape": (lambda x, v: x.reshape(4, 8), lambda v: v.reshape(4, 8)),
    "transpose": (lambda x, v: x.T, lambda v: v.T),
    "sort": (lambda x, v: jnp.sort(x, axis=None), lambda v: np.sort(v, axis=None)),
    "product": (lambda x, v: x.T @ x, lambda v: v.T @ v),
    "concatenate": (lambda x, v: jnp.concatenate([x, v]), lambda v: np.concatenate([v, v])),
    "bits": (lambda x, v: x.view(np.int32), lambda v: v.view(np.int32)),
    "solve": (
        lambda x, v: jnp.linalg.solve(x[:4] + 99 * np.eye(4, dtype=v.dtype), x[:4]),
        lambda v: np.linalg.solve(v[:4] + 99 * np.eye(4), v[:4]),
    ),
    "jit": (in_turn(triple), lambda v: v * 3),
    "jit, array first": (array_first, lambda v: v * 3),
    "jit, unused": (lambda x, v: jax.jit(lambda x, y: y * 3)(x, v), lambda v: v * 3),
    "jit, returned": (lambda x, v: jax.jit(lambda x: x)(x), lambda v: v),
    "jit, donated": (donated, lambda v: v * 3),
    "jit, into columns": (
        lambda x, v: jax.jit(triple, out_shardings=Format(COLUMNS, x.sharding))(x),
        lambda v: v * 3,
    ),
    "jit, laid out by the compiler": (
        lambda x, v: triple(jax.jit(triple, out_shardings=Format(Layout.AUTO))(x)),
        lambda v: v * 9,
    ),
    "closed over": (lambda x, v: [jax.jit(lambda: x * 3)() for _ in range(2)], lambda v: v * 3),
    "closed over, with an argument": (
        lambda x, v: jax.jit(lambda y: jax.jit(lambda: x * 3)() + y)(x),
        lambda v: v * 4,
    ),
    "closed over by a loop": (
        lambda x, v: lax.fori_loop(0, 2, lambda i, c: c + x, x),
        lambda v: v * 3,
    ),
    "grad": (lambda x, v: jax.grad(lambda x: (x**3).sum())(x), lambda v: 3 * v**2),
    "jit of grad": (lambda x, v: jax.jit(jax.grad(lambda x: (x**3).sum()))(x), lambda v: 3 * v**2),
    "vjp": (lambda x, v: jax.vjp(lambda y: x * y, x)[1](x)[0], lambda v: v * v),
    "linearize": (lambda x, v: jax.linearize(jnp.square, x)[1](x), lambda v: 2 * v * v),
    "vmap": (lambda x, v: jax.vmap(lambda x: x / x.max(), 1, 1)(x), lambda v: v / v.max(0)),
    "scan": (lambda x, v: scanned(x), scanned_by_numpy),
    "cond": (lambda x, v: lax.cond(True, lambda x: x.T, lambda x: x.T * 2, x), lambda v: v.T),
    "callback": (
        lambda x, v: jax.pure_callback(triple, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
        lambda v: v * 3,
    ),
    "ordered callback": (lambda x, v: printed(x), lambda v: v * 3),
    "checkpoint": (lambda x, v: jax.grad(lambda x: jax.checkpoint(jnp.sin)(x).sum())(x), np.cos),
    "wrapped": (wrapped, lambda v: v * 3),
    "reference": (by_reference, written),
    "pmap": (lambda x, v: jax.pmap(triple)(jax.device_put(x, line())), lambda v: v * 3),
    "shard_map": (lambda x, v: mapped(x), lambda v: v * 3),
    "lowered for it": (lambda x, v: jax.jit(triple).lower(x).compile()(x), lambda v: v * 3),
    "exported": (lambda x, v: exported(triple, v)(x), lambda v: v * 3),
    "serialized": (
        lambda x, v: deserialize_and_load(*serialize(jax.jit(triple).lower(v).compile()))(
            jax.device_put(x, Format(Layout((0, 1)), here()))
        ),
        lambda v: v * 3,
    ),
    "into rows": (lambda x, v: jax.device_put(x, Format(Layout((0, 1)), x.sharding)), lambda v: v),
    "parts from a callback": (
        lambda x, v: jax.make_array_from_callback((8, 4), line(), lambda index: x[index]) * 3,
        lambda v: v * 3,
    ),
    "nan checks": (lambda x, v: _checked(x), lambda v: v * 3),
}


def _gathered(x):
    whole = np.empty(x.shape, x.dtype)
    for shard in x.addressable_shards:
        whole[shard.index] = np.asarray(shard.data * 1)
    return whole


def _checked(x):
    with jax.debug_nans(True):
        return [x * 3, jax.jit(triple)(x)]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("source", SOURCES)
def test_results_do_not_depend_on_the_layout(source, use):
    got, expected = USES[use]
    array = SOURCES[source](X)
    results = got(array, X)
    for result in results if isinstance(results, list) and use != "tolist" else [results]:
        np.testing.assert_allclose(np.asarray(result), expected(X), rtol=1e-5, atol=1e-5)


SHAPES = [
    (3, 4),
    (4, 1),
    (1, 4),
    (1, 1),
    (0, 4),
    (4, 0),
    (2, 3, 4),
    (2, 1, 4),
    (3, 4, 1),
    (2, 0, 3),
]
ORDERS = [
    (shape, order, "float32")
    for shape in SHAPES
    for order in itertools.permutations(range(len(shape)))
]
DTYPES = ["int32", "complex64", "bool", "int8", "uint64", "float64", "complex128", "float16"]
ORDERS += [((2, 3, 4), order, dtype) for dtype in DTYPES for order in [(2, 0, 1), (2, 1, 0)]]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("shape", "order", "dtype"), ORDERS, ids=str)
def test_dlpack_keeps_values_in_every_order_of_dimensions(shape, order, dtype):
    value = aligned((np.arange(np.prod(shape)).reshape(shape) * 3 % 7).astype(dtype), order)
    with jax.enable_x64(np.dtype(dtype).itemsize >= 8):
        try:
            x = jax.dlpack.from_dlpack(value)
        except jax.errors.JaxRuntimeError as error:
            assert "trivial (compact) striding" in str(error) and 1 in shape
            return
        assert x.dtype == dtype
        last = (..., -1) if value.size else (...,)
        f = jax.jit(lambda x: x[::-1] == x)
        for y in (x, jnp.array(value), x):
            np.testing.assert_array_equal(f(y), value[::-1] == value)
            np.testing.assert_array_equal(f(y), value[::-1] == value)
            np.testing.assert_array_equal(y * y, value * value)
            np.testing.assert_array_equal(y[last], value[last])
            np.testing.assert_array_equal(y.any(0), value.any(0))
            np.testing.assert_array_equal(y.reshape(-1), value.reshape(-1))
            np.testing.assert_array_equal(np.from_dlpack(y), value)
            np.testing.assert_array_equal(jax.jit(lambda y=y: y * y)(), value * value)


def test_dlpack_shares_columns():
    value = aligned(X)
    x = jax.dlpack.from_dlpack(value, copy=False)
    assert x.unsafe_buffer_pointer() == value.ctypes.data
    assert np.from_dlpack(x).ctypes.data == value.ctypes.data
    assert np.from_dlpack(x).strides == value.strides
    assert x.format.layout.major_to_minor == (1, 0)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("orders", list(itertools.product([(0, 1), (1, 0)], repeat=3)))
def test_parts_may_have_several_layouts(orders):
    value = np.arange(64.0, dtype=np.float32).reshape(16, 4)
    parts = [
        jax.device_put(jax.dlpack.from_dlpack(aligned(part, order)), device)
        for part, device, order in zip(
            np.split(value, 8), jax.devices()[:8], itertools.cycle(orders), strict=False
        )
    ]
    x = jax.make_array_from_single_device_arrays((16, 4), line(), parts)
    f = jax.jit(triple)
    for y in (x, jax.device_put(value, line()), x):
        np.testing.assert_array_equal(y, value)
        np.testing.assert_array_equal(f(y), value * 3)
        np.testing.assert_array_equal(y + 1, value + 1)
        np.testing.assert_array_equal(jax.jit(lambda y=y: y * 3)(), value * 3)
        np.testing.assert_array_equal(y.addressable_shards[5].data * 3, value[10:12] * 3)


@jax.jit
def warmed(x):
    return x * 3


def test_warm_starts_look_at_layouts(tmp_path):
    x, rows = by_dlpack(X), jax.device_put(X, here())
    for order in ([rows, x], [rows, x], [x, rows]):
        jax.clear_caches()
        with jax.warm_start(tmp_path / "bundle"):
            for y in (*order, *order):
                np.testing.assert_array_equal(warmed(y), X * 3)


def test_a_function_compiled_for_rows_takes_uncommitted_columns():
    x = laid_out_by_compiler(X)
    assert not x.committed and x.format.layout.major_to_minor == (1, 0)
    compiled = jax.jit(triple).lower(X).compile()
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), X * 3)


def test_a_function_compiled_for_columns_takes_rows_inside_of_a_traced_function():
    compiled = jax.jit(triple, in_shardings=Format(COLUMNS, here())).lower(X).compile()
    f = jax.jit(lambda y: y + compiled(X))
    np.testing.assert_array_equal(f(X), X * 4)


def test_random_keys_closed_over_in_columns():
    keys = jax.random.split(jax.random.key(0), (8, 200))
    moved = jax.device_put(keys, Format(COLUMNS, here()))
    for x in (moved, keys):
        bits = jax.jit(lambda x=x: jax.random.bits(x[5, 2]))()
        np.testing.assert_array_equal(bits, jax.random.bits(keys[5, 2]))


def test_words_of_random_keys_in_columns():
    keys = jax.random.split(jax.random.key(0), 3)
    words = by_dlpack(np.asarray(jax.random.key_data(keys)))
    wrapped = jax.random.wrap_key_data(words)
    for draw in (jax.random.bits, jax.jit(jax.random.bits)):
        np.testing.assert_array_equal(jax.vmap(draw)(wrapped), jax.vmap(draw)(keys))
        np.testing.assert_array_equal(draw(wrapped[1]), draw(keys[1]))


def test_formats_of_a_program_with_ordered_effects():
    """Tokens are arguments and results of the program, ahead of the function's own."""

    def f(x):
        io_callback(lambda x: None, None, x, ordered=True)
        return x.T

    by_columns = Format(COLUMNS, here())
    compiled = jax.jit(f, in_shardings=by_columns).lower(X).compile()
    (((found,), _), result) = compiled.input_formats, compiled.output_formats
    assert found.layout.major_to_minor == (1, 0)
    assert result.layout.major_to_minor == (0, 1)


ALONE = """
import numpy as np
import ricci as jax

memory = np.zeros(6 * 4 + 64, np.uint8)
start = -memory.ctypes.data % 64
x = memory[start : start + 24].view(np.float32).reshape((2, 3), order="F")
x[...] = np.arange(6).reshape(2, 3)
rows, columns = jax.numpy.array(x), jax.dlpack.from_dlpack(x, copy=False)
f = jax.jit(lambda x: x * 10)
for y in (rows, columns, rows, columns) if {rows_first} else (columns, rows, columns, rows):
    np.testing.assert_array_equal(f(y), x * 10)
    np.testing.assert_array_equal(y + 1, x + 1)
    np.testing.assert_array_equal(y.sum(0), x.sum(0))
    np.testing.assert_array_equal(y[1], x[1])
np.testing.assert_array_equal(f.lower(rows).compile()(jax.device_put(rows)), x * 10)
np.testing.assert_array_equal(f.lower(columns).compile()(columns), x * 10)
"""


@pytest.mark.parametrize("rows_first", [True, False])
def test_columns_of_other_libraries_in_a_process_that_names_no_layout(rows_first):
    script = ALONE.format(rows_first=rows_first)
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
