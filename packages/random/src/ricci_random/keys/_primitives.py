"""The primitives on keys, the same for all generators.

They are lowered to calls of the generator's functions on the keys' words. A backend
without a compiler calls these functions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import not_linear, zero_derivative
from ricci_batching import batched_at, elementwise, move_dim
from ricci_lax.authoring import shape_of
from ricci_stablehlo import Lowering, Value, of_function

from ._key_array import KeyArray
from ._key_type import Generator, key_type, wrapped_words

_UINT32 = np.dtype("uint32")

# The type of an array, a key or a scalar. Values of other types, such as tokens, are not operands
# of samplers.
type_of: Callable[[Any], ir.ShapedArray] = ir.get_aval  # pyright: ignore[reportAssignmentType]


def wrap(words: ir.Array, impl: Generator) -> ir.Array:
    """Wrap words as keys: a ``KeyArray``, or a tracer of one while tracing."""
    if isinstance(words, ir.Tracer) or ir.is_recording():
        return random_wrap_p.bind(words, impl=impl)
    if isinstance(words, np.ndarray):
        with ir.eval_context():  # under vmap and grad, too
            words = ir.as_array(words)
    return KeyArray(impl, words)


@wrapped_words.provide
def _keys_of_words(impl: Generator, words: ir.Array) -> ir.Array:
    return (
        random_wrap_p.bind(words, impl=impl)
        if isinstance(words, ir.Tracer)
        else KeyArray(impl, words)
    )


def unwrap(keys: ir.Array) -> ir.Array:
    """The words of keys; traced if the keys are."""
    if isinstance(keys, KeyArray) and not ir.is_recording():
        return keys._base_array
    return random_unwrap_p.bind(keys)


def subkeys(key: ir.Array, num: int = 2) -> tuple[ir.Array, ...]:
    """The keys that a key is split into, inside a sampler."""
    return lax.unstack(random_split_p.bind(key, shape=(num,)))


def subkey(key: ir.Array, num: int, i: int) -> ir.Array:
    """One of the keys that a key is split into, without the others where that is possible."""
    impl: Generator = type_of(key).dtype._impl
    if impl.name == "threefry2x32" and impl.is_positional:
        # A new key is the encrypted position, and ``fold_in`` encrypts any integer.
        return random_fold_in_p.bind(key, np.uint32(i))
    return subkeys(key, num)[i]


def _generator(name: str, keys: ir.ShapedArray) -> Generator:
    if not ir.issubdtype(keys.dtype, ir.prng_key):
        raise TypeError(f"{name} takes keys, got {keys.str_short()}. Make keys with random.key.")
    return keys.dtype._impl


def _words(keys: ir.ShapedArray) -> ir.ShapedArray:
    return keys.dtype.physical_aval(keys)


_jaxprs: ir.Cache[Any, ir.Jaxpr] = ir.Cache("jaxprs of generators", 1024)


def _trace_function(
    fun: Callable[..., ir.Array], avals: tuple[ir.ShapedArray, ...], params: dict[str, Any]
) -> ir.Jaxpr:
    """Trace a generator's function on words of these types."""
    jaxpr = ir.trace_to_jaxpr(lambda *xs: [fun(*xs, **params)], avals, origin=ir.no_origin)
    return ir.convert_constvars(jaxpr)


def _call(
    ctx: Lowering, name: str, fun: Callable[..., ir.Array], operands: list[Value], **params: object
) -> Value:
    """Lower to a call of ``fun`` on words, a function shared by operands of the same types."""
    out = ctx.out
    avals = tuple(x.aval for x in operands)
    key = (fun, avals, tuple(params.items()), ir.trace_key())
    jaxpr = _jaxprs.make(key, _trace_function, fun, avals, params)
    return Value(ctx.call(jaxpr, name, operands)[0].name, out)


def _lower_to(method: str, gives_keys: bool = True) -> Callable[..., Value]:
    """The lowering rule of a primitive that is a function of the generator, called on words.

    Args:
      method: the function's name. The first operand is keys, or the parameter ``impl`` is the
        generator.
      gives_keys: whether the function's result is the words of keys.
    """

    def lower(
        ctx: Lowering, x: Value, *others: Value, impl: Generator | None = None, **params: object
    ) -> Value:
        generator: Generator = impl or x.aval.dtype._impl
        words = x if impl else Value(x.name, _words(x.aval))
        fun = getattr(generator, method)
        return _call(ctx, f"{generator.name}_{method}", fun, [words, *others], **params)

    def function(
        x: ir.Array, *others: ir.Array, impl: Generator | None = None, **params: object
    ) -> ir.Array:
        generator: Generator = impl or type_of(x).dtype._impl
        result = getattr(generator, method)(x if impl else unwrap(x), *others, **params)
        return wrap(result, generator) if gives_keys else result

    return of_function(function, lower)


def _unchanged(function: Callable[..., ir.Array]) -> Callable[..., Value]:
    """The lowering rule of a function that does not change the lowered value."""
    return of_function(function, lambda ctx, x, **_: Value(x.name, ctx.out))


# random_seed: integers to keys


def _random_seed_aval(seeds, *, impl):
    if not ir.issubdtype(seeds.dtype, np.integer):
        raise TypeError(f"random_seed: seeds are integers, and these are {seeds.str_short()}.")
    return ir.ShapedArray(seeds.shape, key_type(impl))


random_seed_p: ir.Primitive = ir.define(
    "random_seed",
    sharding=ir.by_element,
    abstract_eval=_random_seed_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=elementwise,
    lower=_lower_to("seed"),
)


# random_wrap: words to keys


def check_words(shape: ir.Shape, dtype: np.dtype, impl: Generator) -> None:
    """Check that an array of a shape and dtype holds words of keys.

    Raises:
      TypeError: if it does not.
    """
    size = len(impl.key_shape)
    expected = f"A key of {impl.name} is a uint32 array of shape {impl.key_shape}"
    advice = "; make one with random.key or random.PRNGKey."
    if dtype != _UINT32:
        raise TypeError(
            f"invalid PRNG key data: expected dtype uint32, got {dtype}. {expected}{advice}"
        )
    if len(shape) < size or tuple(shape[len(shape) - size :]) != impl.key_shape:
        raise TypeError(
            f"invalid PRNG key data: expected a shape that ends with {impl.key_shape}, got "
            f"{tuple(shape)}. {expected}{advice}"
        )


def _random_wrap_aval(words, *, impl):
    check_words(words.shape, words.dtype, impl)
    return ir.ShapedArray(words.shape[: words.ndim - len(impl.key_shape)], key_type(impl))


random_wrap_p: ir.Primitive = ir.define(
    "random_wrap",
    sharding=ir.unsharded(lambda x, *, impl: x.ndim - len(impl.key_shape)),
    abstract_eval=_random_wrap_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=lambda axis, args, dims, *, impl: (wrap(move_dim(args[0], dims[0], 0), impl), 0),
    lower=_unchanged(wrap),
)


# random_unwrap: keys to words


def _random_unwrap_aval(keys):
    _generator("random_unwrap", keys)
    return _words(keys)


random_unwrap_p: ir.Primitive = ir.define(
    "random_unwrap",
    sharding=ir.unsharded(lambda keys: keys.ndim),
    abstract_eval=_random_unwrap_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=lambda axis, args, dims: (unwrap(args[0]), dims[0]),
    lower=_unchanged(unwrap),
)


# random_clone: the same key, which counts as unused (see ``_key_reuse``)

random_clone_p: ir.Primitive = ir.define(
    "random_clone",
    sharding=ir.by_element,
    abstract_eval=lambda keys: keys,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=elementwise,
    lower=_unchanged(lambda keys: wrap(unwrap(keys), keys.dtype._impl)),
)


# random_split: each key to an array of keys


def _random_split_aval(keys, *, shape):
    _generator("random_split", keys)
    return ir.ShapedArray((*keys.shape, *shape), keys.dtype)


def _each_key_rule(primitive):
    def batch(axis, args, dims, **params):
        return primitive.bind(move_dim_of_keys(args[0], dims[0]), **params), 0

    return batch


# The batching rule of an operation that treats each key of an array separately.
each_key = ir.derived(_each_key_rule)


def move_dim_of_keys(keys: ir.Array, dim: int) -> ir.Array:
    """Keys with one dimension moved to the front."""
    if dim == 0:
        return keys
    impl = keys.aval.dtype._impl
    return wrap(move_dim(unwrap(keys), dim, 0), impl)


random_split_p: ir.Primitive = ir.define(
    "random_split",
    sharding=ir.unsharded(lambda keys, **params: keys.ndim),
    abstract_eval=_random_split_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=each_key,
    lower=_lower_to("split"),
)


# random_fold_in: keys and integers to keys, elementwise; either may be one for all of the other


def _random_fold_in_aval(keys, data):
    _generator("random_fold_in", keys)
    if keys.shape and data.shape and keys.shape != data.shape:
        raise TypeError(
            f"random_fold_in takes one integer for each key, got {keys.str_short()} and "
            f"{data.str_short()}."
        )
    return keys.resized(keys.shape or data.shape)


def _fold_in_batch(axis, args, dims):
    keys, data = args
    if dims[0] is not None:
        keys = move_dim_of_keys(keys, dims[0])
    elif keys.aval.ndim:
        keys = lax.broadcast(keys, (axis.size,))
    if dims[1] is not None or shape_of(data):
        data = batched_at(data, dims[1], axis, 0)
    # One operand may have a single key or integer for each example and the other one several.
    shape = max(keys.aval.shape, shape_of(data), key=len)
    if 0 < keys.aval.ndim < len(shape):
        keys = lax.broadcast_in_dim(keys, shape, (0,))
    if 0 < len(shape_of(data)) < len(shape):
        data = lax.broadcast_in_dim(data, shape, (0,))
    return random_fold_in_p.bind(keys, data), 0


random_fold_in_p: ir.Primitive = ir.define(
    "random_fold_in",
    sharding=ir.by_element,
    abstract_eval=_random_fold_in_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=_fold_in_batch,
    lower=_lower_to("fold_in"),
)


# random_bits: unsigned integers for each key


def _random_bits_aval(keys, *, bit_width, shape):
    _generator("random_bits", keys)
    if any(size < 0 for size in shape):
        raise TypeError(f"random_bits: the shape {shape} has a dimension of negative size.")
    return ir.ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


random_bits_p: ir.Primitive = ir.define(
    "random_bits",
    sharding=ir.unsharded(lambda keys, **params: keys.ndim),
    abstract_eval=_random_bits_aval,
    jvp=zero_derivative,
    transpose=not_linear,
    batch=each_key,
    lower=_lower_to("bits", gives_keys=False),
)
