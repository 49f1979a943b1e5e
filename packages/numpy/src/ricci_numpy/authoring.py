"""Tools for writing functions in the manner of the NumPy API; ``docs/extending.md`` shows how.

They promote and check arguments, and name them in messages, as ``ricci_numpy`` does for its own
functions. Users do not need them, so they are not among the names of ``ricci_numpy``.
"""

import typing as _typing

from ricci_ir import export_lazily as _export_lazily
from ricci_numpy.arrays._dtypes import array_namespaces as array_namespaces

from ._choices import check_choice as check_choice
from ._index import AUTHORING as _AUTHORING
from ._promotion import COMPLEX_DTYPES as COMPLEX_DTYPES
from ._promotion import canonical_axes as canonical_axes
from ._promotion import canonical_axis as canonical_axis
from ._promotion import check_arraylike as check_arraylike
from ._promotion import constant as constant
from ._promotion import convert as convert
from ._promotion import operands as operands
from ._promotion import promote_args as promote_args
from ._promotion import promote_args_inexact as promote_args_inexact
from ._promotion import promote_args_numeric as promote_args_numeric
from ._promotion import promote_dtypes as promote_dtypes
from ._promotion import promote_dtypes_inexact as promote_dtypes_inexact
from ._promotion import promote_dtypes_numeric as promote_dtypes_numeric
from .ufuncs._factories import binary as binary
from .ufuncs._factories import publish as publish
from .ufuncs._factories import unary as unary
from .ufuncs._unary import to_float as to_float

if _typing.TYPE_CHECKING:
    from .generalized._mapping import checked_results as checked_results
    from .generalized._mapping import core_sizes as core_sizes
    from .generalized._mapping import parse_signature as parse_signature
    from .indexing._at import IndexUpdateHelper as IndexUpdateHelper
    from .indexing._at import IndexUpdateRef as IndexUpdateRef
    from .indexing._entries import ds as ds
    from .linalg._decompositions import adjoint as adjoint
    from .linalg._decompositions import matrices as matrices
    from .reductions._reduced_axes import axis_count as axis_count
    from .reductions._reduced_axes import reduced_and_named_axes as reduced_and_named_axes
    from .statistics._exponential_sums import as_axis as as_axis
    from .statistics._exponential_sums import log_softmax as log_softmax
    from .statistics._exponential_sums import logsumexp as logsumexp
    from .statistics._exponential_sums import softmax as softmax
    from .statistics._exponential_sums import to_inexact as to_inexact
else:
    __getattr__, __dir__ = _export_lazily(globals(), _AUTHORING)
