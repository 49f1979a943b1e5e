"""Primitive operations and collectives: the names of ``ricci_lax`` and ``ricci_parallel``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax import *
from ricci_parallel import all_gather as all_gather
from ricci_parallel import all_to_all as all_to_all
from ricci_parallel import axis_index as axis_index
from ricci_parallel import axis_index_p as axis_index_p
from ricci_parallel import device_put_p as device_put_p
from ricci_parallel import pmax as pmax
from ricci_parallel import pmax_p as pmax_p
from ricci_parallel import pmean as pmean
from ricci_parallel import pmin as pmin
from ricci_parallel import pmin_p as pmin_p
from ricci_parallel import ppermute as ppermute
from ricci_parallel import psum as psum
from ricci_parallel import psum_p as psum_p
from ricci_parallel import pswapaxes as pswapaxes
from ricci_parallel import sharding_constraint_p as sharding_constraint_p
from ricci_parallel import with_sharding_constraint as with_sharding_constraint

from . import linalg as linalg

_guard_public(globals(), "linalg")
