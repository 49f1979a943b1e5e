"""The type of random keys: an element type of its own, over an array of 32-bit words."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ricci_ir import ExtendedDType, ShapedArray, config, prng_key


class Generator(NamedTuple):
    """A kind of random generator. Its functions work on the words of keys, of any leading shape.

    Attributes:
      name: what users call it.
      tag: how printed programs call it.
      key_shape: the words of one key, an array of uint32.
      seed: ``seed(integers) -> words``.
      split: ``split(words, shape) -> words`` of ``shape`` new keys for each key.
      fold_in: ``fold_in(words, integers) -> words``, an integer for each key, or one key or one
        integer for all.
      bits: ``bits(words, bit_width, shape)``: unsigned integers of a shape for each key.
    """

    name: str
    tag: str
    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    bits: Callable[[Any, int, tuple[int, ...]], Any]

    def __repr__(self) -> str:
        return self.tag


class GeneratorSpec:
    """A generator that users have made, where others are given by their names."""

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
    """The dtype of keys of one generator, printed as ``key<fry>`` for Threefry."""

    __slots__ = ("_impl", "itemsize", "name")

    type = prng_key

    def __init__(self, impl: Generator):
        self._impl = impl
        self.name = f"key<{impl.tag}>"
        self.itemsize = 4 * int(np.prod(impl.key_shape))

    def __eq__(self, other: object) -> bool:
        return type(other) is KeyType and other._impl is self._impl

    def __hash__(self) -> int:
        return hash((KeyType, self.name))

    def physical_aval(self, aval: Any) -> ShapedArray:
        """The type of the words behind keys of type ``aval``."""
        return ShapedArray((*aval.shape, *self._impl.key_shape), np.dtype("uint32"))

    def from_physical(self, array: Any) -> Any:
        """The array of keys that words stand for, outside of any program."""
        return _key_arrays.make(self._impl, array)


class _KeyArrays:
    """Makes arrays of keys; ``_key_array`` gives the class."""

    __slots__ = ("make",)

    make: Callable[[Generator, Any], Any]


_key_arrays = _KeyArrays()


def register_key_array(make: Callable[[Generator, Any], Any]) -> None:
    """Set the class of arrays of keys, called as ``make(generator, words)``."""
    _key_arrays.make = make


_generators: dict[str, Generator] = {}
_types: dict[Generator, KeyType] = {}


def register_generator(generator: Generator) -> Generator:
    """Make a generator known by its name."""
    _generators[generator.name] = generator
    return generator


def name_or_spec(generator: Generator) -> Any:
    """What names a generator: its name if it is known by that, else a spec."""
    if _generators.get(generator.name) is generator:
        return generator.name
    return GeneratorSpec(generator)


def key_type(generator: Generator) -> KeyType:
    """The dtype of a generator's keys."""
    found = _types.get(generator)
    if found is None:
        found = _types[generator] = KeyType(generator)
    return found


def find_generator(spec: Any) -> Generator:
    """The generator that a name, a spec or a key dtype means; ``None`` is the default one.

    Raises:
      ValueError: if no generator has that name.
      TypeError: if ``spec`` is none of these.
    """
    if spec is None:
        spec = config.jax_default_prng_impl
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
