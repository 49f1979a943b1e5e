"""COO matrices."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.coo import *

_guard_public(globals())
