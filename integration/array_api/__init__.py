"""The array API standard's tables of special values, and the functions' results beside them."""

from .rows import Row as Row
from .rows import rows as rows
from .special_values import TABLES as TABLES
