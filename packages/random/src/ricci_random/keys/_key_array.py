"""Concrete arrays of random keys: their words and their generator."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NewType

import numpy as np

import ricci_ir as ir

if TYPE_CHECKING:
    _Array = ir.Array
else:
    _Array = object  # ``register_array_type`` makes it an ``Array`` and adds the methods

from ._key_type import Generator, KeyType, key_type

__all__ = ["Key", "KeyArray"]

Key = NewType("Key", ir.Array)
Key.__doc__ = """The type of arrays of keys, for annotations.

Example:
  >>> from ricci import Array, random
  >>> def draw(key: random.Key) -> Array:
  ...     return random.normal(key)
"""

ADVICE = (
    "random.split derives several keys from one; random.clone marks intentional reuse of the same "
    "numbers."
)


class _Keys(_Array):
    """The words of keys. The methods that all arrays share are added to this class.

    ``KeyArray`` inherits them, so that its methods take precedence.
    """

    __slots__ = ("__weakref__", "_base_array", "_impl", "_uses", "aval")

    _base_array: ir.Array
    _impl: Generator
    _uses: np.ndarray | None
    aval: ir.ShapedArray


ir.register_array_type(_Keys)


@ir.exported
@ir.without_boundaries
class KeyArray(_Keys):
    """An array of keys, as ``key`` and ``split`` return it.

    Its methods work on the words, which every backend supports. Under tracing, they are
    those of all arrays, so that the jaxpr shows the operations on keys.

    Args:
      impl: the generator.
      words: a uint32 array, the dimensions of the array of keys followed by those of one key.

    Example:
      >>> import ricci
      >>> from ricci import random
      >>> isinstance(random.key(0), ricci.Array)
      True
    """

    __slots__ = ()
    __array_priority__ = 100
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, impl: Generator, words: ir.Array):
        self._impl = impl
        self._base_array = words
        self._uses = None
        # The last dimensions of the words are those of one key.
        shape = words.shape[: words.ndim - len(impl.key_shape)]
        words_aval = ir.get_aval(words)
        sharding = words_aval.type_sharding
        if sharding is not None:
            sharding = sharding.update(parts=sharding.parts[: len(shape)])
        self.aval: ir.ShapedArray = ir.ShapedArray(shape, key_type(impl), sharding=sharding)

    @property
    def uses(self) -> np.ndarray:
        """A boolean for each key: whether ``jax_debug_key_reuse`` saw it used."""
        if self._uses is None:
            self._uses = np.zeros(self.shape, bool)
        return self._uses

    @uses.setter
    def uses(self, uses: np.ndarray) -> None:
        self._uses = uses

    def consume(self, what: str, mask: np.ndarray | None = None) -> None:
        """Mark the keys, or those of a mask, as used, for ``jax_debug_key_reuse``.

        Raises:
          KeyReuseError: if one of them has been used before.
        """
        mask = np.ones(self.shape, bool) if mask is None else mask
        if (self.uses & mask).any():
            raise ir.KeyReuseError(f"{what} uses a key that has been used before.\n{ADVICE}")
        self._uses = np.logical_or(self.uses, mask, out=self.uses)

    @property
    def physical(self) -> ir.Array:
        """The words, by which executables take the keys."""
        return self._base_array

    @property
    def shape(self) -> ir.Shape:
        """The shape of the array of keys, without the dimensions of a key's words."""
        return self.aval.shape

    @property
    def dtype(self) -> KeyType:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The extended dtype of the keys, which names their generator."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions of the array of keys."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of keys."""
        return self.aval.size

    @property
    def itemsize(self) -> int:
        """The bytes of one key."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all keys."""
        return self.size * self.itemsize

    @property
    def weak_type(self) -> bool:
        """False: only dtypes of numbers can be weak."""
        return False

    @property
    def sharding(self) -> Any:
        """The sharding of the keys. The words of one key are never sharded."""
        sharding = self._base_array.sharding
        spec = getattr(sharding, "spec", ())
        return sharding if len(spec) <= self.ndim else sharding.update(spec=spec[: self.ndim])

    @property
    def device(self) -> Any:
        """The device that holds the words, or their sharding if there are several."""
        sharding = self.sharding
        return next(iter(sharding.device_set)) if sharding.num_devices == 1 else sharding

    @property
    def committed(self) -> bool:
        """Whether the words were put on a device explicitly."""
        return self._base_array.committed

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process can read all words."""
        return self._base_array.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds all words."""
        return self._base_array.is_fully_replicated

    @property
    def addressable_shards(self) -> list[Any]:
        """The keys on each of this process's devices."""
        return self._shards_of_keys(self._base_array.addressable_shards)

    @property
    def global_shards(self) -> list[Any]:
        """The keys on each device; the data of other processes' devices are ``None``."""
        return self._shards_of_keys(self._base_array.global_shards)

    def _shards_of_keys(self, shards: Sequence[Any]) -> list[Any]:
        copies = [copy(shard) for shard in shards]
        for shard in copies:
            if shard.data is not None:
                shard.data = KeyArray(self._impl, shard.data)
        return copies

    def addressable_data(self, index: int) -> "KeyArray":
        """The keys on one of this process's devices."""
        return KeyArray(self._impl, self._base_array.addressable_data(index))

    def on_device_size_in_bytes(self) -> int:
        """The memory that the words take on their devices."""
        return self._base_array.on_device_size_in_bytes()

    def unsafe_buffer_pointer(self) -> int:
        """The address of the words."""
        return self._base_array.unsafe_buffer_pointer()

    def devices(self) -> set[Any]:
        """The devices that hold words."""
        return self._base_array.devices()

    def copy_to_host_async(self) -> None:
        """Start copying the words to the host."""
        self._base_array.copy_to_host_async()

    def block_until_ready(self) -> "KeyArray":
        """Wait until the words have been computed, and return the keys."""
        self._base_array.block_until_ready()
        return self

    def delete(self) -> None:
        """Free the words' memory."""
        self._base_array.delete()

    def is_deleted(self) -> bool:
        """Whether the words' memory was freed or donated."""
        return self._base_array.is_deleted()

    def copy(self) -> ir.Array:
        """A new array with the same keys."""
        if ir.is_recording():
            return super().copy()
        return KeyArray(self._impl, self._base_array.copy())

    def __copy__(self) -> ir.Array:
        return self.copy()

    def __deepcopy__(self, memo: object) -> ir.Array:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _keys_of, (self.dtype, self._base_array)

    def __dir__(self) -> list[str]:
        # Without the names that only this package and the runtime use.
        return [name for name in super().__dir__() if name not in _INTERNAL]

    def __len__(self) -> int:
        return len(self.aval)

    def __iter__(self) -> Iterator[ir.Array]:
        if not self.ndim:
            raise TypeError(
                "a single random key cannot be iterated over; random.split derives several from it."
            )
        if ir.is_recording():
            return super().__iter__()
        return (KeyArray(self._impl, words) for words in self._base_array)

    def __getitem__(self, index: ir.Index) -> ir.Array:
        if ir.is_recording():
            return super().__getitem__(index)
        if type(index) is int and self.ndim:
            word_index = (index,)
        else:
            word_index = self._index_of_words(index if isinstance(index, tuple) else (index,))
        if ir.debug_key_reuse.value:
            self._use_slice(index)
        return self.dtype.from_physical(self._base_array[word_index])

    def _index_of_words(self, index: tuple[Any, ...]) -> tuple[Any, ...]:
        """The index of the words that corresponds to an index of keys."""
        # An ellipsis would take the dimensions of the words, too, unless the index goes on after
        # it.
        if any(part is Ellipsis for part in index):
            return index + (slice(None),) * len(self._impl.key_shape)
        if sum(part is not None for part in index) > self.ndim and not any(
            isinstance(part, ir.Array | np.ndarray) for part in index
        ):
            raise IndexError(
                f"an index for {len(index)} dimensions was given to a key array of {self.ndim}."
            )
        return index

    def _use_slice(self, index: ir.Index) -> None:
        """Mark the keys that a static index selects as used."""
        parts = index if isinstance(index, tuple) else (index,)
        # Keys that arrays select are not marked.
        if all(part is None or part is ... or isinstance(part, int | slice) for part in parts):
            mask = np.zeros(self.shape, bool)
            mask[parts] = True  # pyright: ignore[reportArgumentType, reportCallIssue]  # as checked
            self.consume("an index", mask)

    def reshape(  # pyright: ignore[reportIncompatibleMethodOverride] (no sharding is taken)
        self, *shape: ir.ShapeLike, order: str = "C"
    ) -> ir.Array:
        """The keys in another shape; one size may be -1, which is inferred."""
        if ir.is_recording():
            return super().reshape(*shape, order=order)
        new_shape: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        sizes = tuple(new_shape)
        known_size = int(np.prod([n for n in sizes if n != -1]))
        sizes = [self.size // max(known_size, 1) if n == -1 else n for n in sizes]
        return KeyArray(self._impl, self._base_array.reshape((*sizes, *self._impl.key_shape)))

    def ravel(  # pyright: ignore[reportIncompatibleMethodOverride] (no sharding is taken)
        self, order: str = "C"
    ) -> ir.Array:
        """The keys as a vector."""
        return self.reshape(self.size)

    flatten = ravel  # pyright: ignore[reportAssignmentType]

    def __bool__(self) -> bool:
        raise TypeError("a random key is neither true nor false.")

    def __array__(self, dtype: object = None, copy: Any = None) -> np.ndarray:
        raise TypeError(
            "random keys are not numbers and have no NumPy array. random.key_data(keys) returns "
            "their words as integers."
        )

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape)) + ("," if self.ndim == 1 else "")
        return f"Array(({shape}), dtype={self.dtype}) overlaying:\n{self._base_array}"

    __str__ = __repr__


_INTERNAL = frozenset({"physical", "consume", "uses"})


def _keys_of(dtype: KeyType, words: ir.Array) -> KeyArray:
    return KeyArray(dtype._impl, words)


ir.dispatch_by_array(KeyArray, lambda keys: (keys._base_array, keys._impl), KeyArray)
