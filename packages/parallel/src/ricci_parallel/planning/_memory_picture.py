"""The memory timeline of an executable, bytes by reason, and its picture in SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ricci_ir import shown_file
from ricci_parallel.reports._collective import shown_bytes

from ._live_ranges import EntryMemory
from ._memory import RESIDUAL, Owner, Reasons

# The reasons that change during a run, from the bottom of a chart to its top.
REASONS = ("result", RESIDUAL, "temporary")


@dataclass(frozen=True, slots=True)
class MemoryTimeline:
    """Live bytes at each instruction of an HLO module.

    Attributes:
      arguments: the bytes of arguments and constants, which are live throughout.
      results, residuals, temporaries: the bytes of each kind at each instruction. Those computed
        by the body of a loop count at the loop, at their peak.
    """

    arguments: int
    results: tuple[int, ...]
    residuals: tuple[int, ...]
    temporaries: tuple[int, ...]

    @property
    def totals(self) -> list[int]:
        """The live bytes at each instruction."""
        layers = zip(self.results, self.residuals, self.temporaries, strict=True)
        return [self.arguments + sum(layer) for layer in layers]


def timeline_of(memory: EntryMemory, reasons: Reasons, length: int) -> MemoryTimeline:
    """Return the timeline of a module with ``length`` instructions."""
    changes = {why: [0] * (length + 1) for why in REASONS}
    for span in memory.spans:
        start = span.first
        for end in (*(change[0] for change in span.buffer.earlier), span.last + 1):
            if start < end:
                size = span.buffer.bytes
                row = changes[reasons.why(span.buffer, start)]
                row[start] += size
                row[end] -= size
                if span.host is not None:
                    changes["result"][start] -= size
                    changes["result"][end] += size
            start = max(start, end)
    sums = {}
    for why, row in changes.items():
        total, sums[why] = 0, []
        for change in row[:-1]:
            total += change
            sums[why].append(total)
    for position, inside in memory.inside.items():
        sums["temporary"][position] += inside
    results, residuals, temporaries = (tuple(sums[why]) for why in REASONS)
    arguments = sum(buffer.bytes for buffer in memory.arguments)
    return MemoryTimeline(arguments, results, residuals, temporaries)


_WIDTH = 900
_LEFT, _RIGHT = 76, 24
_CHART_TOP, _CHART_HEIGHT = 84, 240
_ROW, _BARS, _SHOWN = 24, 250, 10
_POINTS = 400  # columns of the chart; in longer modules a column has the peak of several
# By reason: the colour, and its name in the legend. The colours differ for colour-blind readers.
_COLOURS = {
    "argument": ("#8a94a6", "arguments"),
    "donated argument": ("#8a94a6", "arguments"),
    "constant": ("#8a94a6", "arguments"),
    "result": ("#2a9d8f", "results"),
    RESIDUAL: ("#e76f51", "kept for the backward pass"),
    "temporary": ("#4c78c8", "temporaries"),
}
_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
    "font-size:12px;fill:#1f2937}"
    ".title{font-size:16px;font-weight:600}.dim{fill:#6b7280}"
    ".code{font-family:ui-monospace,'SF Mono',Menlo,Consolas,monospace;font-size:11.5px}"
)


def memory_svg(name: str, peak: int, timeline: MemoryTimeline, owners: Sequence[Owner]) -> str:
    """Draw the live bytes at each instruction, and the owners of the peak, as SVG.

    Args:
      name: the executable's name.
      peak: the compiler's peak, in bytes.
      timeline: the live bytes at each instruction.
      owners: the lines and arguments that own the peak, the largest first.
    """
    shown = owners[:_SHOWN]
    bars_top = _CHART_TOP + _CHART_HEIGHT + 76
    height = bars_top + _ROW * (len(shown) + (len(owners) > _SHOWN)) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img">',
        f"<title>Memory of {escape(name)}</title><style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(_LEFT, 32, f"{name}: {shown_bytes(peak)} at its peak", "title"),
        *_legend(),
        *_chart(timeline, peak),
        _text(_LEFT, bars_top - 16, "alive at the peak", "title"),
        *_bars(bars_top, shown, owners[_SHOWN:]),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    style = f' class="{kind}"' if kind else ""
    side = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{style}{side}>{escape(text)}</text>'


def _legend() -> list[str]:
    parts, x = [], float(_LEFT)
    for colour, label in dict.fromkeys(_COLOURS.values()):
        parts.append(f'<rect x="{x:.1f}" y="48" width="12" height="12" rx="2" fill="{colour}"/>')
        parts.append(_text(x + 18, 58, label))
        x += 18 + 6.6 * len(label) + 22
    return parts


def _chart(timeline: MemoryTimeline, peak: int) -> list[str]:
    """Return stacked areas: arguments, results, residuals, temporaries."""
    bottom, width = _CHART_TOP + _CHART_HEIGHT, _WIDTH - _LEFT - _RIGHT
    layers = _columns(timeline)
    count = len(layers[0])
    top = max(1, peak, *map(sum, zip(*layers, strict=True)))
    step = width / count
    height = lambda size: _CHART_HEIGHT * size / top
    parts = []
    for size in _ticks(top):
        y = bottom - height(size)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="#e5e7eb"/>'
        )
        parts.append(_text(_LEFT - 8, y + 4, shown_bytes(size), "dim", "end"))
    below = [0] * count
    for sizes, why in zip(layers, ("argument", "result", RESIDUAL, "temporary"), strict=True):
        above = [a + b for a, b in zip(below, sizes, strict=True)]
        if any(sizes):
            outline = _edge(above, step, bottom, height)
            outline += _edge(below, step, bottom, height)[::-1]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in outline)
            parts.append(f'<polygon points="{points}" fill="{_COLOURS[why][0]}"/>')
        below = above
    y = bottom - height(peak)
    parts.append(
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#1f2937" '
        'stroke-dasharray="5 4"/>'
    )
    words = f"{shown_bytes(peak)}, as the compiler assigns it"
    parts.append(_text(_WIDTH - _RIGHT, y - 5, words, "", "end"))
    parts.append(_text(_LEFT, bottom + 20, "first instruction", "dim"))
    parts.append(_text(_WIDTH - _RIGHT, bottom + 20, "last instruction", "dim", "end"))
    return parts


def _edge(sizes: Sequence[int], step: float, bottom: float, height) -> list[tuple[float, float]]:
    """Return the upper edge of an area: a step for each instruction."""
    edge = []
    for i, size in enumerate(sizes):
        y = bottom - height(size)
        edge += [(_LEFT + i * step, y), (_LEFT + (i + 1) * step, y)]
    return edge


def _columns(timeline: MemoryTimeline) -> list[list[int]]:
    """Return the layers of the chart; of many instructions in a column, the one at the peak."""
    totals = timeline.totals
    count = min(len(totals), _POINTS)
    best = [
        max(range(i * len(totals) // count, (i + 1) * len(totals) // count), key=totals.__getitem__)
        for i in range(count)
    ]
    layers = (timeline.results, timeline.residuals, timeline.temporaries)
    return [[timeline.arguments] * count, *([layer[i] for i in best] for layer in layers)]


def _ticks(top: int) -> list[int]:
    """Return round sizes from 0 to a height."""
    unit = 10 ** max(0, len(str(top)) - 1)
    step = next(unit * m // 10 for m in (1, 2, 5, 10, 20, 50) if unit * m // 10 * 6 >= top)
    return list(range(0, top + 1, max(1, step)))


def _bars(top: float, owners: Sequence[Owner], hidden: Sequence[Owner]) -> list[str]:
    largest = max((owner.bytes for owner in owners), default=1)
    parts = []
    for i, owner in enumerate(owners):
        y = top + i * _ROW
        width = max(2.0, _BARS * owner.bytes / largest)
        colour = _COLOURS[owner.kind][0]
        parts.append(_text(_LEFT - 8, y + 13, shown_bytes(owner.bytes), "", "end"))
        parts.append(
            f'<rect x="{_LEFT}" y="{y + 2:.1f}" width="{width:.1f}" height="15" rx="2" '
            f'fill="{colour}"/>'
        )
        parts.append(_text(_LEFT + _BARS + 14, y + 13, _label(owner), "code"))
    if hidden:
        y = top + len(owners) * _ROW
        size = shown_bytes(sum(owner.bytes for owner in hidden))
        parts.append(_text(_LEFT - 8, y + 13, size, "dim", "end"))
        parts.append(_text(_LEFT, y + 13, f"in {len(hidden)} more rows", "dim"))
    return parts


def _label(owner: Owner) -> str:
    place = f"{shown_file(owner.file, short=True)}:{owner.line}  " if owner.line else ""
    more = f" and {owner.count - 1} more" if owner.count > 1 else ""
    text = f"{place}{owner.name}  {owner.shape}{more}"
    return text if len(text) <= 78 else text[:77] + "…"
