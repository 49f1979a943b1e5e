"""HTML of arrays for notebooks: a caption of type, size and device, and a table of elements."""

from itertools import batched

import numpy as np

from ricci_ir import Array, Tracer, backend, define_array_methods, is_extended

_EDGE = 4  # how many rows and columns are shown at each end of a longer dimension
_UNITS = "bytes", "kB", "MB", "GB", "TB"
_CELL = "text-align: right; padding: 0 0.6em"


def _escaped(text: str) -> str:
    from html import escape  # noqa: PLC0415 - lazy: only notebooks need it

    return escape(text)


def _size(count: float) -> str:
    """A number of bytes in the largest unit that leaves a number of 1 or more.

    >>> _size(12), _size(2_500_000)
    ('12 bytes', '2.5 MB')
    """
    step = 0
    while count >= 1000 and step < len(_UNITS) - 1:
        count, step = count / 1000, step + 1
    return f"{count:.3g} {_UNITS[step]}"


def _shown(size: int) -> list[int | None]:
    """The positions to show along a dimension, with ``None`` for the ones that are left out.

    >>> _shown(3), _shown(100)
    ([0, 1, 2], [0, 1, 2, 3, None, 96, 97, 98, 99])
    """
    if size <= 2 * _EDGE + 1:
        return list(range(size))
    return [*range(_EDGE), None, *range(size - _EDGE, size)]


def _caption(x: Array) -> str:
    aval = x.aval
    parts = [aval.str_short(), *(["weak type"] if aval.weak_type else []), _size(x.nbytes)]
    places = sorted(map(str, x.devices())) if hasattr(x, "devices") else [backend().name]
    parts.append(places[0] if len(places) == 1 else f"{len(places)} devices")
    return _escaped(", ".join(parts))


def _table(values: np.ndarray) -> str:
    rows, columns = _shown(values.shape[0]), _shown(values.shape[1])
    cells = [
        "…" if i is None or j is None else _escaped(str(values[i, j]))
        for i in rows
        for j in columns
    ]
    lines = (
        "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row)
        for row in batched(cells, len(columns))
    )
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def repr_html(self) -> str | None:
    """The array as HTML, for notebooks; ``None`` without values in this process."""
    if isinstance(self, Tracer) or is_extended(self.aval.dtype) or self.is_deleted():
        return None
    if not (getattr(self, "is_fully_addressable", True) or self.is_fully_replicated):
        return None
    values = np.asarray(self)
    if values.ndim <= 2 and values.size:
        body = _table(values.reshape(-1, values.shape[-1]) if values.ndim else values[None, None])
    else:
        body = f"<pre>{_escaped(str(values))}</pre>"
    return f"<div><div>{_caption(self)}</div>{body}</div>"


define_array_methods({"_repr_html_": repr_html})
