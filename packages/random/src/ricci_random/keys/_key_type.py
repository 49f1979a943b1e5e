"""The dtype of random keys, and the registry of generators.

An array of keys is an array of 32-bit words with the dimensions of one key last. Its dtype is an
extended one (``KeyType``), so that keys cannot be added by mistake, and so that a jaxpr records
their generator.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import prng_key

__all__ = ["Generator", "GeneratorSpec", "KeyType"]


# The generators that encrypt positions with each key separately (Threefry in one of its layouts).
CIPHERS: frozenset[str] = frozenset({"threefry2x32", "threefry4x32", "philox2x32", "philox4x32"})


@ir.exported
class Generator(ir.TupleRecord):
    """A random number generator: functions of the words of keys.

    The functions take words of any leading shape, for as many keys.

    Attributes:
      name: the public name, such as ``"threefry2x32"``.
      tag: a short name, for printed jaxprs.
      key_shape: the shape of one key's words, an array of uint32.
      seed: ``seed(integers) -> words``.
      split: ``split(words, shape) -> words`` of ``shape`` new keys for each key.
      fold_in: ``fold_in(words, integers) -> words``: an integer for each key, or one key or one
        integer for all.
      bits: ``bits(words, bit_width, shape)``: unsigned integers of a shape for each key.
    """

    name: str
    tag: str
    key_shape: ir.Shape
    seed: Callable[[ir.Array], ir.Array]
    split: Callable[[ir.Array, ir.Shape], ir.Array]
    fold_in: Callable[[ir.Array, ir.Array], ir.Array]
    bits: Callable[[ir.Array, int, ir.Shape], ir.Array]

    def __repr__(self) -> str:
        return self.tag

    @property
    def is_positional(self) -> bool:
        """Whether an element is drawn from its position in the array, counted row by row.

        A longer array then has the same elements in front.
        """
        partitionable = self.name != "threefry2x32" or ir.threefry_partitionable.value
        return self.name in CIPHERS and partitionable


@ir.exported
class GeneratorSpec:
    """Handle of a user-defined generator, as a string is for built-in ones."""

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


@ir.exported
class KeyType(ir.ExtendedDType):
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

    def physical_aval(self, aval: ir.ShapedArray) -> ir.ShapedArray:
        """The type of the words of keys of type ``aval``."""
        return ir.ShapedArray((*aval.shape, *self._impl.key_shape), np.dtype("uint32"))

    def from_physical(self, array: ir.Array) -> ir.Array:
        """Wrap words as an array of keys, which is traced if they are."""
        return wrapped_words.call(self._impl, array)


type GeneratorLike = str | Generator | GeneratorSpec | KeyType
"""A generator, its name, the spec of a user-defined one, or the dtype of its keys."""


# ``(generator, words)``: wraps words as keys. The module ``_primitives`` imports this one.
wrapped_words: ir.Hook[Callable[[Generator, Any], ir.Array]] = ir.Hook(
    "arrays of keys", provided_by="ricci_random"
)

_generators: dict[str, Generator] = {}
_types: dict[Generator, KeyType] = {}


def register_generator(spec: Generator | GeneratorSpec) -> Generator:
    """Register a generator by its name."""
    generator = spec._impl if isinstance(spec, GeneratorSpec) else spec
    _generators[generator.name] = generator
    return generator


def name_or_spec(generator: Generator) -> str | GeneratorSpec:
    """The ``impl`` argument of ``key`` for a generator: its registered name, else a spec."""
    if _generators.get(generator.name) is generator:
        return generator.name
    return GeneratorSpec(generator)


def key_type(generator: Generator) -> KeyType:
    """The dtype of a generator's keys, one object for each generator."""
    dtype = _types.get(generator)
    if dtype is None:
        dtype = _types[generator] = KeyType(generator)
    return dtype


def _key_type_named(spec: str | GeneratorSpec) -> KeyType:
    return key_type(find_generator(spec))


def _type_named(name: str) -> KeyType | None:
    """The dtype of keys by its name in printed jaxprs and files."""
    types = map(key_type, _generators.values())
    return next((dtype for dtype in types if dtype.name == name), None)


ir.extended_dtypes.append(_type_named)


def find_generator(spec: GeneratorLike | None) -> Generator:
    """Look up a generator by its name, spec or key dtype; ``None`` is the default one.

    Raises:
      ValueError: if no generator has that name.
      TypeError: if ``spec`` is none of these.
    """
    if spec is None:
        spec = ir.default_prng_impl.value
    if isinstance(spec, Generator):
        return spec
    if isinstance(spec, KeyType | GeneratorSpec):
        return spec._impl
    if not isinstance(spec, str):
        raise TypeError(
            f"a PRNG implementation is given by its name or by a key dtype, got {spec!r} of type "
            f"{type(spec).__name__}."
        )
    generator = _generators.get(spec)
    if generator is None:
        names = ", ".join(f'"{name}"' for name in _generators)
        raise ValueError(f"unknown PRNG implementation {spec!r}; registered are {names}.")
    return generator
