"""``find_nan``: find the operation that a NaN or an infinity comes from."""

from . import _error_checks as _error_checks
from ._find import *
from ._report import *
