"""The sharding of an array, inspected inside ``jit`` or drawn in a terminal or a notebook."""

from collections.abc import Callable, Sequence
from math import gcd
from types import SimpleNamespace
from typing import Any

import ricci_ir as ir
from ricci_batching import Axis
from ricci_ir import Array, api_boundary, get_aval
from ricci_lax import DebugEffect
from ricci_pytree import tree_leaves
from ricci_stablehlo import Lowering, Value
from ricci_xla import Device, Mesh, NamedSharding, Sharding, ShardingInspector, undivided

__all__ = ["inspect_array_sharding", "inspect_sharding_p", "visualize_array_sharding"]
__all__ += ["visualize_sharding"]

type _Callback = Callable[[Sharding], None]

_effects: frozenset[ir.Effect] = frozenset({DebugEffect()})
# jaxlib calls an inspector when the module is compiled, but holds no reference to it until then.
_inspectors: dict[_Callback, list[ShardingInspector]] = {}


def _jvp(
    primals: Sequence[ir.ArrayLike], tangents: Sequence[Any], **params: object
) -> tuple[list[Any], list[Any]]:
    inspect_sharding_p.bind(*primals, **params)
    return [], []


def _batch(
    axis: Axis, args: Sequence[ir.ArrayLike], dims: Sequence[int | None], **params: object
) -> tuple[list[Any], list[Any]]:
    inspect_sharding_p.bind(*args, **params)
    return [], []


def _lower(ctx: Lowering, x: Value, *, callback: _Callback) -> list[Value]:
    module = ctx.module
    if not module.devices:  # the module will not be compiled: only its text was asked for
        return []
    if module.num_partitions == 1:
        callback(undivided(module))
        return []
    inspector = ShardingInspector(module, ir.physical_aval(x.aval).ndim, callback)
    _inspectors.setdefault(callback, []).append(inspector)
    # MLIR's strings escape bytes by two hexadecimal digits.
    config = "".join(f"\\{byte:02X}" for byte in inspector.config)
    ctx.custom_call(
        "InspectSharding",
        [x],
        [x.aval],
        api_version=1,
        has_side_effect=True,
        extra=f'backend_config = "{config}"',
    )
    return []


def _inspect_now(x: ir.ArrayLike, *, callback: _Callback) -> list[Any]:
    callback(ir.as_array(x).sharding)
    return []


inspect_sharding_p: ir.Primitive = ir.define(
    "inspect_sharding",
    sharding=ir.by_program,
    abstract_eval=lambda x, *, callback: [],
    multiple_results=True,
    memo=False,
    effects=lambda params: _effects,
    jvp=_jvp,
    linearize=lambda tape, primals, tangents, **params: _jvp(primals, tangents, **params),
    transpose=lambda cts, x, **params: [None],
    batch=_batch,
    lower=_lower,
    eager=_inspect_now,
)


@ir.api_boundary
def inspect_array_sharding(value: ir.PyTree, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with the sharding of each array; inside ``jit``, when it is compiled.

    Args:
      value: a pytree of arrays.
      callback: takes a sharding.

    Raises:
      TypeError: if ``callback`` is not callable.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import debug
      >>> debug.inspect_array_sharding(jnp.arange(3), callback=lambda s: print(s.num_devices))
      1
    """
    if not callable(callback):
        raise TypeError(
            "debug.inspect_array_sharding: callback must be a function of a sharding, got "
            f"{callback!r:.60} of type {type(callback).__name__}."
        )
    for leaf in tree_leaves(value):
        inspect_sharding_p.bind(leaf, callback=callback)


type _Color = tuple[float, ...]

_ROWS = 10  # of an array of two dimensions, at scale 1
_ASPECT = 2.5  # the height of a character, measured in its widths
# Backgrounds for neighbouring parts, each light enough for black text or dark enough for white.
_PALETTE = ("#1f77b4", "#ffbb78", "#2ca02c", "#ff9896", "#9467bd", "#c49c94", "#17becf", "#dbdb8d")


def _rich() -> SimpleNamespace:
    """Import the parts of rich that draw, on the first drawing."""
    try:
        from rich.align import Align  # noqa: PLC0415 - lazy: an optional dependency
        from rich.box import SQUARE  # noqa: PLC0415 - lazy
        from rich.console import Console  # noqa: PLC0415 - lazy
        from rich.table import Table  # noqa: PLC0415 - lazy
    except ModuleNotFoundError as error:
        raise ValueError(
            "debug.visualize_sharding draws with the package rich, which is not installed. Run "
            "pip install 'ricci-parallel[rich]', or read sharding.devices_indices_map(shape)."
        ) from error
    return SimpleNamespace(Align=Align, SQUARE=SQUARE, Console=Console, Table=Table)


def _parts(
    shape: tuple[int, ...], sharding: Sharding
) -> tuple[list[list[list[Device]]], list[int]]:
    """The devices of each part, by its row and column; and the numbers of rows and columns."""
    rows: dict[int, dict[int, list[Device]]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        starts = [part.indices(size)[0] for part, size in zip(index, shape, strict=True)]
        row, column = (0, *starts) if len(starts) == 1 else starts
        rows.setdefault(row, {}).setdefault(column, []).append(device)
    grid = [[rows[row][column] for column in sorted(rows[row])] for row in sorted(rows)]
    return grid, [len(grid), len(grid[0])]


def _label(devices: Sequence[Device]) -> str:
    ids = ",".join(str(i) for i in sorted(device.id for device in devices))
    return f"{devices[0].platform.upper()} {ids}"


def _hex(color: _Color | str) -> str:
    if isinstance(color, str):
        return color
    return "#" + "".join(f"{round(255 * part):02x}" for part in color[:3])


def _text_color(background: str) -> str:
    """Black or white, whichever can be read on a background."""
    red, green, blue = (int(background[i : i + 2], 16) for i in (1, 3, 5))
    # The luma of ITU-R BT.601; 140 of 255 is a little above the middle.
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _backgrounds(count: int, color_map: Callable[[float], _Color] | None) -> list[str]:
    if color_map is None:
        return [_PALETTE[i % len(_PALETTE)] for i in range(count)]
    # A step coprime to the count visits every colour once.
    step = next((s for s in (5, 3, 7) if gcd(s, count) == 1), 1)  # neighbours far apart
    return [_hex(color_map(i * step % count / max(count - 1, 1))) for i in range(count)]


@api_boundary
def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Callable[[float], _Color] | None = None,
) -> None:
    """Print a drawing of the parts that a sharding divides arrays into, with their devices.

    It is drawn by the package `rich`: in colours where the terminal has them, and as HTML in
    notebooks.

    Args:
      shape: the shape of the array, of one or two dimensions.
      sharding: the sharding.
      use_color: whether colours may be used.
      scale: the height of the drawing, in units of ten lines.
      min_width: the least number of characters for a part, its border included.
      max_width: the largest number of characters for the whole.
      color_map: gives for a number from 0 to 1 a colour, as numbers from 0 to 1 for red, green and
        blue (matplotlib's colour maps do).

    Raises:
      ValueError: if ``shape`` has other dimensions, if the sharding has no devices, or if `rich` is
        not installed.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import debug
      >>> debug.visualize_sharding((4,), jnp.ones(4).sharding)
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    shape = tuple(shape)
    if len(shape) not in (1, 2):
        raise ValueError(
            "debug.visualize_sharding draws arrays of one or two dimensions, but the shape is "
            f"{shape}. Draw a slice of it, or read sharding.devices_indices_map(shape)."
        )
    if isinstance(sharding, NamedSharding) and not isinstance(sharding.mesh, Mesh):
        raise ValueError(
            f"debug.visualize_sharding: {sharding} is on a mesh without devices. Give a sharding "
            "on a mesh of devices."
        )
    rich = _rich()
    grid, (rows, columns) = _parts(shape, sharding)
    console = rich.Console()
    colored = use_color and console.color_system is not None
    height, width = 1, min_width - 2
    if len(shape) == 2:
        lines = _ROWS * scale
        ratio = shape[1] / shape[0] if shape[0] and shape[1] else 1.0
        height = max(1, int(lines / rows) - 1)
        total = min(int(lines * ratio * _ASPECT), max_width)
        width = max(width, int(total / columns) - 2)
    table = rich.Table(
        show_header=False,
        show_lines=not colored,
        padding=0,
        pad_edge=False,
        box=None if colored else rich.SQUARE,
        highlight=not colored,
    )
    colors = iter(_backgrounds(rows * columns, color_map)) if colored else None
    for row in grid:
        cells = []
        for devices in row:
            style = None
            if colors is not None:
                background = next(colors)
                style = f"{_text_color(background)} on {background}"
            cells.append(
                rich.Align(
                    _label(devices).center(width),
                    "center",
                    vertical="middle",
                    height=height + 2 * colored,
                    style=style,
                )
            )
        table.add_row(*cells)
    console.print(table)


@api_boundary
def visualize_array_sharding(arr: Array, **kwargs: Any) -> None:
    """Print a drawing of the parts of an array, with their devices; see ``visualize_sharding``.

    Inside ``jit`` it is printed when the function is compiled, with the sharding that the compiler
    chose.

    Args:
      arr: the array, of one or two dimensions.
      kwargs: the keywords of ``visualize_sharding``.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci import debug
      >>> debug.visualize_array_sharding(jnp.arange(3))
      ┌───────┐
      │ CPU 0 │
      └───────┘
    """
    shape = get_aval(arr).shape  # pyright: ignore[reportAttributeAccessIssue]
    inspect_array_sharding(arr, callback=lambda s: visualize_sharding(shape, s, **kwargs))
