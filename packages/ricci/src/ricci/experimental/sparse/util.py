"""Functions and classes that sparse arrays of all formats share."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse.layouts import *

_guard_public(globals())
