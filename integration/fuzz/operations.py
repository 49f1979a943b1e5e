"""The operations that programs are made of, by family."""

from . import arrays_table, features_table, structures_table
from .rows import Row

ROWS: dict[str, list[Row]] = {}
for _row in [*arrays_table.ROWS, *structures_table.ROWS, *features_table.ROWS]:
    ROWS.setdefault(_row.family, []).append(_row)
