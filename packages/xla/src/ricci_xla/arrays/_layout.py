"""Layouts and memories: the order of an array's elements, and which memory has them."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from ricci_ir import ExtendedDType, Hook, Record, format_type
from ricci_xla.devices._client import get_default_device
from ricci_xla.meshes import (
    Sharding,
    SingleDeviceSharding,
    default_memory_kind,
    single_device_sharding,
)

from ._array import check_not_deleted
from ._array_impl import ArrayImpl

__all__ = ["HOST_MEMORY", "AutoLayout", "Format", "Layout", "MemorySpace", "in_memory", "layout_of"]
__all__ += ["physical_layout"]


class AutoLayout:
    """The type of ``Layout.AUTO``, which leaves the layout to the compiler."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AutoLayout"


class Layout(Record):
    """The order of an array's elements in memory.

    Attributes:
      major_to_minor: the dimensions in the order from slowest to fastest varying.
      tiling: the tiles that the array is cut into, outermost first; ``None`` leaves them to the
        compiler.
      sub_byte_element_size_in_bits: the size of an element smaller than a byte, else 0.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.layout import Layout, with_layout_constraint
      >>> x = with_layout_constraint(jnp.ones((2, 3)), Layout(major_to_minor=(1, 0)))
      >>> x.format.layout.major_to_minor
      (1, 0)
    """

    AUTO = AutoLayout()

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    def __init__(
        self,
        major_to_minor: Sequence[int],
        tiling: tuple[tuple[int, ...], ...] | None = None,
        sub_byte_element_size_in_bits: int = 0,
    ):
        super().__init__(tuple(major_to_minor), tiling, sub_byte_element_size_in_bits)

    @staticmethod
    def from_pjrt_layout(pjrt_layout: Any) -> "Layout":
        """Convert a layout of jaxlib."""
        layout = pjrt_layout._xla_layout()
        return Layout(
            tuple(reversed(layout.minor_to_major())),
            tuple(tuple(tile) for tile in layout.tiling()),
            layout.element_size_in_bits(),
        )

    @staticmethod
    def for_array(x: Any) -> "Layout":
        """Return the usual layout for the shape of an array: row by row, without tiles.

        Args:
          x: an array, a scalar, or a ``ShapeDtypeStruct``.

        Example:
          >>> import ricci.numpy as jnp
          >>> from ricci.experimental.layout import Layout
          >>> Layout.for_array(jnp.ones((2, 3))).major_to_minor
          (0, 1)
        """
        return Layout(tuple(range(len(np.shape(x)))), ())

    def update(self, **changes: object) -> "Layout":
        """This layout with some attributes replaced, given by name."""
        values = {field: getattr(self, field) for field in self._fields}
        return Layout(**{**values, **changes})

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Check that a layout fits arrays of a shape.

        Raises:
          ValueError: if it is for another number of dimensions, or is not an order of them.
        """
        order = self.major_to_minor
        if len(order) != len(aval_shape):
            raise ValueError(
                f"the layout {self} is for arrays of {len(order)} dimensions, but the array has "
                f"shape {tuple(aval_shape)}. major_to_minor names each of its dimensions once."
            )
        if sorted(order) != list(range(len(order))):
            raise ValueError(
                f"the layout {self} does not name each of the {len(order)} dimensions once."
            )

    def matches(self, actual: "Layout") -> bool:
        """Whether an array's actual layout satisfies this one, which may leave out the tiling."""
        return (
            self.major_to_minor == actual.major_to_minor
            # A layout of users gives the order; tiles are the platform's unless they are given.
            and (self.tiling is None or self.tiling == actual.tiling)
            and self.sub_byte_element_size_in_bits in (0, actual.sub_byte_element_size_in_bits)
        )


class Format(Record):
    """A layout together with a sharding.

    Attributes:
      layout: the order of each part's elements, ``Layout.AUTO`` for the compiler's choice, or
        ``None`` for the devices' usual one.
      sharding: the part that each device holds.

    Raises:
      TypeError: if they are of other types.
      ValueError: for a ``Layout`` without a sharding.

    Example:
      A matrix that is stored column by column:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci.experimental.layout import Format, Layout
      >>> x = jnp.ones((2, 3))
      >>> y = ricci.device_put(x, Format(Layout((1, 0)), x.sharding))
      >>> y.format.layout.major_to_minor
      (1, 0)
    """

    layout: Layout | AutoLayout | None = None
    sharding: Sharding | None = None

    def __init__(self, layout: Layout | AutoLayout | None = None, sharding: Sharding | None = None):
        if layout is not None and not isinstance(layout, Layout | AutoLayout):
            raise TypeError(
                "Format: layout must be a Layout, Layout.AUTO or None, got "
                f"{layout!r} of type {type(layout).__name__}."
            )
        if sharding is not None and not isinstance(sharding, Sharding):
            raise TypeError(
                "Format: sharding must be a Sharding or None, got "
                f"{sharding!r} of type {type(sharding).__name__}."
            )
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError(
                f"Format: the layout {layout} needs a sharding, since layouts are those of a "
                "platform. Give Format(layout, sharding)."
            )
        super().__init__(layout, sharding)


format_type.provide(Format)


# ``(array, format)``: copies an array into the layout of a format, whose sharding it has.
copy_to_layout: Hook[Callable[[Any, Format], Any]] = Hook(
    "copies into layouts", provided_by="ricci_xla"
)


def in_format(array: Any, where: Format) -> Any:
    """Convert an array, which has the sharding already, to the layout of a format."""
    layout = where.layout
    if layout is None:
        return array
    if not isinstance(layout, Layout):
        raise ValueError(
            f"device_put: {where} leaves the layout to the compiler, which chooses layouts for "
            "compiled functions only. Give a Layout, or the format that one reports "
            "(compiled.input_formats)."
        )
    layout.check_compatible_aval(array.shape)
    words = getattr(array, "physical", array)
    if physical_layout(layout, array).matches(layout_of(words)):
        return array
    return copy_to_layout.call(array, where)


def in_layout(array: ArrayImpl, layout: Layout | None) -> ArrayImpl:
    """Convert an array to the layout of an argument; ``None`` is the row-major layout."""
    if has_layout(array, layout):
        return array
    # Row by row: the dimensions from major to minor in their own order.
    order = layout or Layout(tuple(range(array.ndim)))
    return copy_to_layout.call(array, Format(order, array._sharding))


def physical_layout(layout: Layout, aval: Any) -> Layout:
    """The layout of the buffers of an extended dtype, whose words are the last dimension."""
    dtype = aval.dtype
    if not isinstance(dtype, ExtendedDType):
        return layout
    ndim = len(dtype.physical_aval(aval.aval if hasattr(aval, "aval") else aval).shape)
    order = layout.major_to_minor
    return Layout((*order, *range(len(order), ndim)), layout.tiling)


# A cache of jaxlib's row-major layouts, since reading a layout's attributes takes microseconds.
_row_major: set[Any] = set()


def special_layout(x: object) -> Layout | None:
    """Return the layout of an array, or ``None`` if it is row-major."""
    words = getattr(x, "physical", x)
    if not isinstance(words, ArrayImpl) or words.is_deleted():
        return None
    layout = words._pjrt_layout
    if layout in _row_major:
        return None
    converted = Layout.from_pjrt_layout(layout)
    # The buffer of a token has a dimension, and a layout without dimensions.
    if converted.major_to_minor not in ((), tuple(range(words.ndim))):
        return converted
    _row_major.add(layout)
    return None


def are_row_major(arrays: Sequence[ArrayImpl]) -> bool:
    """Whether all arrays have a layout that ``special_layout`` has cached as row-major."""
    return _row_major.issuperset([x._pjrt_layout for x in arrays])


def has_layout(x: Any, layout: Layout | None) -> bool:
    """Whether an array has a layout; ``None`` is the row-major one."""
    if layout is None:
        return special_layout(x) is None
    return layout.matches(layout_of(getattr(x, "physical", x)))


def layout_text(layout: Layout | AutoLayout) -> str:
    """A layout in XLA's syntax: the dimensions from minor to major, and the tiles."""
    if not isinstance(layout, Layout):
        return "auto"
    order = ",".join(map(str, reversed(layout.major_to_minor)))
    tiles = "".join(f"({','.join(map(str, tile))})" for tile in layout.tiling or ())
    bits = layout.sub_byte_element_size_in_bits
    return f"{{{order}{':' if tiles or bits else ''}{f'T{tiles}' if tiles else ''}" + (
        f"E({bits})}}" if bits else "}"
    )


def sharding_of_format(where: Format) -> Sharding:
    """The sharding of a format.

    Raises:
      ValueError: if it has none.
    """
    if where.sharding is None:
        raise ValueError(f"{where} has no sharding. Give Format(None, sharding).")
    return where.sharding


def layout_of(array: ArrayImpl) -> Layout:
    """The layout of an array's shards."""
    return Layout.from_pjrt_layout(array._pjrt_layout)


def _format(self: ArrayImpl) -> Format:
    check_not_deleted(self)
    return Format(layout_of(self), self._sharding)


ArrayImpl.format = property(_format)  # pyright: ignore[reportAttributeAccessIssue]

HOST_MEMORY = "pinned_host"


class MemorySpace(Enum):
    """A memory kind of an array's devices: their own memory or the host's.

    ``device_put(x, MemorySpace.Host)`` moves an array to the host's memory, where its devices can
    read it, and ``device_put(x, MemorySpace.Device)`` moves it back.
    """

    Device = 1
    Host = 2
    Any = 3

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


def in_memory(sharding: Sharding | None, space: MemorySpace) -> Sharding:
    """A sharding with the same devices, in one of their memories if the runtime has any.

    Args:
      sharding: the sharding; by default that of arrays on the default device.
      space: the memory.

    Raises:
      ValueError: for ``MemorySpace.Any``, which selects no memory.
    """
    if space is MemorySpace.Any:
        raise ValueError(
            "device_put: MemorySpace.Any means every memory, so that nothing can be put there. "
            "Give MemorySpace.Host or MemorySpace.Device."
        )
    if sharding is None:
        sharding = single_device_sharding(get_default_device())
    default = default_memory_kind(sharding)
    if default is None:
        return sharding
    kind = HOST_MEMORY if space is MemorySpace.Host else default
    if kind == sharding.memory_kind:
        return sharding
    if kind == default and isinstance(sharding, SingleDeviceSharding):
        return single_device_sharding(sharding._device)
    return sharding.with_memory_kind(kind)
