"""``find_nan``: find the operation that a NaN or an infinity comes from."""

from ._find import *
from ._report import *
