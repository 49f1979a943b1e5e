"""Functions for sparse arrays of any format."""

from ricci_ir import guard_public as _guard_public
from ricci_sparse import empty as empty
from ricci_sparse import eye as eye
from ricci_sparse import todense as todense
from ricci_sparse import todense_p as todense_p

_guard_public(globals())
