"""Pictures of grids: which blocks the steps of a kernel read and write, in SVG."""

from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

import ricci_ir as ir

from .blocks._grid_mapping import BlockMapping
from .calls._recorded_calls import RecordedCall, block_starts, grid_sizes, recorded_calls

__all__ = ["draw"]

_MOST_STEPS, _MOST_BLOCKS = 4096, 1024
_LEFT, _GAP, _PANEL, _TOP = 24, 40, 260, 70
_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
    "font-size:12px;fill:#1f2937}.title{font-size:16px;font-weight:600}.dim{fill:#6b7280}"
    ".bad{fill:#b91c1c}.cell{font-size:10px;text-anchor:middle;dominant-baseline:central}"
)


class _Block(ir.TupleRecord):
    """A block of an operand, and the steps that it is visited in.

    Attributes:
      start: its first element along each dimension.
      visits: runs of consecutive steps, each the first and the last.
    """

    start: tuple[int, ...]
    visits: list[tuple[int, int]]

    @property
    def label(self) -> str:
        """The steps, as text."""
        texts = [f"{a}" if a == b else f"{a}–{b}" for a, b in self.visits]
        return ", ".join(texts[:3]) + (", …" if len(texts) > 3 else "")


def draw(fun: Callable[..., Any], *args: object, step: int | None = None) -> str:
    """Draw the grid of a kernel: the blocks of each operand, and the steps that visit them.

    A block has the numbers of the steps that read or write it, in the order in which they run; a
    range is of consecutive steps, for which it is fetched once. Its colour runs from the first step
    to the last. A red outline marks a block of an output that is left and visited again, whose
    earlier values a TPU loses; a dashed one elements of an output that no step writes.

    Args:
      fun: a function that calls a kernel, such as ``pallas_call`` returns.
      args: its arguments: arrays or ``ShapeDtypeStruct``. Scalars that index maps read are arrays.
      step: the number of a step whose blocks are outlined.

    Returns:
      An SVG document. ``IPython.display.SVG`` shows it, as any browser does.

    Raises:
      ValueError: if the function calls no kernel, or the grid has more than 4,096 steps.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci import kernels
      >>> from ricci.experimental import pallas as pl
      >>> def double(x, out):
      ...     out[...] = x[...] * 2
      >>> rows = pl.BlockSpec((2, 4), lambda i: (i, 0))
      >>> x = ricci.ShapeDtypeStruct((6, 4), np.float32)
      >>> run = pl.pallas_call(double, x, grid=3, in_specs=[rows], out_specs=rows, interpret=True)
      >>> picture = kernels.draw(run, x)
      >>> picture[:4], "3 steps" in picture
      ('<svg', True)
    """
    calls = recorded_calls(fun, args)
    if not calls:
        name = getattr(fun, "__name__", "the function")
        raise ValueError(f"draw: {name} calls no kernel. Pass what pallas_call returns.")
    call = calls[0]
    grid = grid_sizes(call)
    steps = int(np.prod(grid))
    if steps > _MOST_STEPS:
        raise ValueError(
            f"draw: the grid {grid} of the kernel {call.name} has {steps:,} steps; at most "
            f"{_MOST_STEPS:,} are drawn. Pass smaller arrays."
        )
    if step is not None and not 0 <= step < steps:
        raise ValueError(f"draw: step={step} is not one of the {steps} steps of the grid {grid}.")
    panels, bottom, left = [], 0, _LEFT
    for i, mapping in enumerate(call.mapping.block_mappings):
        is_output = i >= call.mapping.num_inputs
        text, width, height = _panel(call, mapping, is_output, steps, step)
        panels.append(f'<g transform="translate({left},{_TOP})">{text}</g>')
        left, bottom = left + width + _GAP, max(bottom, height)
    axes = " × ".join(map(str, grid)) or "1"
    order = ", the last axis fastest" if len(grid) > 1 else ""
    width, height = max(left - _GAP + _LEFT, 360), _TOP + bottom + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}"><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        f'<text class="title" x="{_LEFT}" y="28">{escape(call.name)}</text>'
        f'<text class="dim" x="{_LEFT}" y="46">grid {axes}: {steps} steps{order}</text>'
        f"{''.join(panels)}</svg>"
    )


def _panel(
    call: RecordedCall, mapping: BlockMapping, is_output: bool, steps: int, step: int | None
) -> tuple[str, int, int]:
    """The picture of an operand, with its width and height."""
    starts = block_starts(call, mapping)
    blocks = _blocks(starts)
    shape, sizes = mapping.array_aval.shape, mapping.sizes
    # Leading dimensions are laid out below each other.
    rows, columns = _flat(shape)
    # A block is at least so large that the number of a step fits, up to twice the panel's size.
    scale = min(_PANEL / max(columns, 1), _PANEL / max(rows, 1))
    least_width = 44 * -(-columns // max(_flat(sizes)[1], 1))
    least_height = 18 * -(-rows // max(_flat(sizes)[0], 1))
    width = max(columns * scale, min(least_width, 2 * _PANEL), 18.0)
    height = max(rows * scale, min(least_height, 2 * _PANEL), 18.0)
    by_row, by_column = height / max(rows, 1), width / max(columns, 1)
    title = f"{mapping.origin}: {mapping.array_aval.str_short()}, blocks of {list(sizes)}"
    parts = [
        f'<text x="0" y="0">{escape(title)}</text>',
        f'<rect x="0" y="32" width="{width:.1f}" height="{height:.1f}" fill="#f3f4f6" '
        f'stroke="#9ca3af"{_dashed(is_output, shape, sizes, blocks)}/>',
    ]
    left_again, outlines = 0, []
    for block in blocks[:_MOST_BLOCKS]:
        is_left = is_output and len(block.visits) > 1
        left_again += is_left
        is_outlined = step is not None and any(a <= step <= b for a, b in block.visits)
        stroke = "#b91c1c" if is_left else "#ffffff"
        shade = block.visits[0][0] / max(steps - 1, 1)
        colour = f"hsl({210 - 170 * shade:.0f},70%,{82 - 12 * shade:.0f}%)"
        for top, left, high, wide in _rectangles(block.start, sizes, shape):
            x, y = left * by_column, 32 + top * by_row
            w, h = wide * by_column, high * by_row
            place = f'x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}"'
            if is_outlined:
                outlines.append(
                    f'<rect {place} fill="none" stroke="#111827" stroke-width="3" class="step"/>'
                )
            parts.append(
                f'<rect {place} fill="{colour}" fill-opacity="0.85" stroke="{stroke}" '
                f'stroke-width="{1 + is_left}">'
                f"<title>{list(block.start)}: steps {block.label}</title></rect>"
            )
            if w >= 5.5 * len(block.label) and h >= 10:
                middle = f'x="{x + w / 2:.1f}" y="{y + h / 2:.1f}"'
                parts.append(f'<text class="cell" {middle}>{block.label}</text>')
    parts += outlines
    fetches = sum(len(block.visits) for block in blocks)
    verb = "written back" if is_output else "fetched"
    summary = f"{_counted(len(blocks), 'block')}, {verb} {_counted(fetches, 'time')}"
    parts.append(f'<text class="dim" x="0" y="18">{summary}</text>')
    if left_again:
        note = f"{_counted(left_again, 'block')} left and visited again"
        parts.append(f'<text class="bad" x="0" y="{48 + height:.0f}">{note}</text>')
    return "".join(parts), int(max(width, 6.6 * len(title))), int(height + 60)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _blocks(starts: np.ndarray) -> list[_Block]:
    """The blocks in the order of their first visits."""
    visits: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    number = 0
    # Equal starts in a row are one visit: a pipeline does not fetch a block again that it has.
    for start, run in groupby(map(tuple, starts.tolist())):
        count = len(list(run))
        visits.setdefault(start, []).append((number, number + count - 1))
        number += count
    return [_Block(start, runs) for start, runs in visits.items()]


def _dashed(
    is_output: bool, shape: Sequence[int], sizes: Sequence[int], blocks: Sequence[_Block]
) -> str:
    """The style of the outline of an array: dashed if no step writes some of its elements."""
    if not is_output:
        return ""
    # A large array would take too long to mark; nothing is claimed about it.
    written = np.zeros(shape, bool) if np.prod(shape) <= 2**22 else None
    if written is None:
        return ""
    for block in blocks:
        index = [slice(max(a, 0), max(a + n, 0)) for a, n in zip(block.start, sizes, strict=True)]
        written[tuple(index)] = True
    return "" if written.all() else ' stroke-dasharray="6 4" stroke-width="2"'


def _flat(shape: Sequence[int]) -> tuple[int, int]:
    """The rows and columns of an array with its leading dimensions below each other."""
    if not shape:
        return 1, 1
    return int(np.prod(shape[:-1])), shape[-1]


def _rectangles(
    start: Sequence[int], sizes: Sequence[int], shape: Sequence[int]
) -> list[tuple[int, int, int, int]]:
    """The top, left, height and width of the parts of a block, in elements, inside of the array."""
    ends = [min(a + n, length) for a, n, length in zip(start, sizes, shape, strict=True)]
    begins = [max(a, 0) for a in start]
    if not shape:
        return [(0, 0, 1, 1)]
    left, wide = begins[-1], ends[-1] - begins[-1]
    if len(shape) == 1:
        return [(0, left, 1, wide)] if wide > 0 else []
    high = ends[-2] - begins[-2]
    if high <= 0 or wide <= 0:
        return []
    # A block is one rectangle for each position in the leading dimensions, which are stacked in the
    # picture: their linear number times the rows gives the top.
    leading = np.indices([max(e - b, 0) for b, e in zip(begins[:-2], ends[:-2], strict=True)])
    places = np.stack([d.ravel() for d in leading], 1) if len(leading) else np.zeros((1, 0), int)
    strides = np.cumprod([1, *shape[:-2][::-1]], dtype=int)[:-1][::-1]
    tops = (places + np.array(begins[:-2], int)) @ strides
    return [(int(top) * shape[-2] + begins[-2], left, high, wide) for top in tops]
