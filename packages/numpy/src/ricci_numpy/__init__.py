"""NumPy's functions on traceable arrays: the API of ``jax.numpy``."""

import typing as _typing

from ml_dtypes import finfo as finfo
from ml_dtypes import iinfo as iinfo
from numpy import array_repr as array_repr
from numpy import array_str as array_str
from numpy import character as character
from numpy import complexfloating as complexfloating
from numpy import dtype as dtype
from numpy import e as e
from numpy import euler_gamma as euler_gamma
from numpy import flexible as flexible
from numpy import floating as floating
from numpy import generic as generic
from numpy import get_printoptions as get_printoptions
from numpy import index_exp as index_exp
from numpy import inexact as inexact
from numpy import inf as inf
from numpy import integer as integer
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import object_ as object_
from numpy import pi as pi
from numpy import printoptions as printoptions
from numpy import s_ as s_
from numpy import save as save
from numpy import savez as savez
from numpy import signedinteger as signedinteger
from numpy import unsignedinteger as unsignedinteger
from numpy.exceptions import ComplexWarning as ComplexWarning

from ricci_ir import Array as _Array
from ricci_ir import export_lazily as _export_lazily
from ricci_ir import promote_types as promote_types
from ricci_numpy.arrays._dtypes import ARRAY_API_VERSION as _ARRAY_API_VERSION
from ricci_numpy.arrays._dtypes import array_namespace_info as _array_namespace_info

from ._index import MODULES as _MODULES
from .arrays._dtypes import ScalarType as _ScalarType
from .arrays._dtypes import bool_ as _bool
from .methods import _methods as _methods
from .methods import _operators as _operators

# Type checkers treat imports under another name as private.
ndarray = _Array
bool: _ScalarType = _bool
__array_api_version__ = _ARRAY_API_VERSION
__array_namespace_info__ = _array_namespace_info

if _typing.TYPE_CHECKING:
    from . import fft as fft
    from . import linalg as linalg
    from .arrays import *
    from .calculus import *
    from .generalized import *
    from .indexing import *
    from .linalg._einsum import *
    from .linalg._outer_products import *
    from .linalg._products import *
    from .linalg._vector_products import *
    from .rearranging import *
    from .reductions import *
    from .sequences import *
    from .shapes import *
    from .sorting import *
    from .statistics import *
    from .ufuncs import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
