"""The dtype of random keys, and the generators that it stands for.

An array of keys is an array of 32-bit words with the dimensions of one key last. Its dtype is an
extended one (``KeyType``), so that keys cannot be added by mistake, and so that a program knows
which generator they are for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import (
    Array,
    ExtendedDType,
    Shape,
    ShapedArray,
    TupleRecord,
    default_prng_impl,
    extended_dtypes,
    prng_key,
)

__all__ = [
    "KeyType",
]


# The generators that encrypt positions with each key by itself (Threefry in one of its layouts).
CIPHERS: frozenset[str] = frozenset({"threefry2x32", "threefry4x32", "philox2x32", "philox4x32"})


class Generator(TupleRecord):
    """A random number generator: what it does with the words of keys.

    The functions take words of any leading shape, for as many keys.

    Attributes:
      name: the name that users give, such as ``"threefry2x32"``.
      tag: a short name, for printed programs.
      key_shape: the shape of one key's words, an array of uint32.
      seed: ``seed(integers) -> words``.
      split: ``split(words, shape) -> words`` of ``shape`` new keys for each key.
      fold_in: ``fold_in(words, integers) -> words``: an integer for each key, or one key or one
        integer for all.
      bits: ``bits(words, bit_width, shape)``: unsigned integers of a shape for each key.
    """

    name: str
    tag: str
    key_shape: Shape
    seed: Callable[[Array], Array]
    split: Callable[[Array, Shape], Array]
    fold_in: Callable[[Array, Array], Array]
    bits: Callable[[Array, int, Shape], Array]

    def __repr__(self) -> str:
        return self.tag


class GeneratorSpec:
    """Names a generator that a user has defined, as a string names the built-in ones."""

    __slots__ = ("_impl",)

    def __init__(self, impl: Generator):
        self._impl = impl

    def __eq__(self, other: object) -> bool:
        return type(other) is GeneratorSpec and other._impl is self._impl

    def __hash__(self) -> int:
        return hash((GeneratorSpec, self._impl.name))

    def __str__(self) -> str:
        return self._impl.tag

    def __repr__(self) -> str:
        return f"PRNGSpec({self._impl.name!r})"


class KeyType(ExtendedDType):
    """The dtype of the keys of one generator, printed as ``key<fry>`` for Threefry.

    Args:
      impl: the generator.

    Example:
      >>> import ricci
      >>> from ricci import random
      >>> ricci.numpy.issubdtype(random.key(0).dtype, ricci.dtypes.prng_key)
      True
    """

    __slots__ = ("_impl", "itemsize", "name")

    _impl: Generator
    name: str
    itemsize: int
    type = prng_key

    def __init__(self, impl: Generator):
        self._impl = impl
        self.name = f"key<{impl.tag}>"
        self.itemsize = 4 * int(np.prod(impl.key_shape))

    def __eq__(self, other: object) -> bool:
        return type(other) is KeyType and other._impl is self._impl

    def __hash__(self) -> int:
        return hash((KeyType, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return _key_type_named, (name_or_spec(self._impl),)

    def physical_aval(self, aval: ShapedArray) -> ShapedArray:
        """The type of the words of keys of type ``aval``."""
        return ShapedArray((*aval.shape, *self._impl.key_shape), np.dtype("uint32"))

    def from_physical(self, array: Array) -> Array:
        """The array of keys that has these words, which is traced if they are."""
        return _key_arrays.make(self._impl, array)


type GeneratorLike = str | Generator | GeneratorSpec | KeyType
"""What names a generator: its name, a spec of one that a user defined, or the dtype of its keys."""


class _KeyArrays:
    """Makes arrays of keys of words. ``_primitives``, which imports this module, fills it."""

    __slots__ = ("make",)

    make: Callable[[Generator, Any], Array]


_key_arrays = _KeyArrays()


def register_key_array(make: Callable[[Generator, Any], Array]) -> None:
    """Set the function that makes arrays of keys, called as ``make(generator, words)``."""
    _key_arrays.make = make


_generators: dict[str, Generator] = {}
_types: dict[Generator, KeyType] = {}


def register_generator(generator: Generator) -> Generator:
    """Let users name a generator by its name."""
    _generators[generator.name] = generator
    return generator


def name_or_spec(generator: Generator) -> str | GeneratorSpec:
    """What ``key`` takes as ``impl`` for a generator: its registered name, else a spec."""
    if _generators.get(generator.name) is generator:
        return generator.name
    return GeneratorSpec(generator)


def key_type(generator: Generator) -> KeyType:
    """The dtype of a generator's keys, one object for each generator."""
    found = _types.get(generator)
    if found is None:
        found = _types[generator] = KeyType(generator)
    return found


def _key_type_named(spec: str | GeneratorSpec) -> KeyType:
    return key_type(find_generator(spec))


def _type_named(name: str) -> KeyType | None:
    """The dtype of keys that has a name, as programs print it and files hold it."""
    types = map(key_type, _generators.values())
    return next((found for found in types if found.name == name), None)


extended_dtypes.append(_type_named)


def find_generator(spec: GeneratorLike | None) -> Generator:
    """The generator that a name, a spec or a key dtype means; ``None`` is the default one.

    Raises:
      ValueError: if no generator has that name.
      TypeError: if ``spec`` is none of these.
    """
    if spec is None:
        spec = default_prng_impl.value
    if isinstance(spec, Generator):
        return spec
    if isinstance(spec, KeyType | GeneratorSpec):
        return spec._impl
    if not isinstance(spec, str):
        raise TypeError(
            f"a PRNG implementation is given by its name or by a key dtype, got {spec!r} of type "
            f"{type(spec).__name__}."
        )
    found = _generators.get(spec)
    if found is None:
        known = ", ".join(f'"{name}"' for name in _generators)
        raise ValueError(f"there is no PRNG implementation named {spec!r}; known are {known}.")
    return found
