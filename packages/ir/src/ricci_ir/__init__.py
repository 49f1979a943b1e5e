"""The intermediate representation: types, primitives, traces and jaxprs."""

import typing as _typing

# First, since it explains a NumPy or a jaxlib that is broken.
import ricci_pytree as _pytree

from ._argnums import *
from ._by_name import *
from ._cache import *
from ._config import *
from ._contexts import *
from ._errors import *
from ._function_copies import *
from ._guarded_namespaces import *
from ._hook import *
from ._index import MODULES as _MODULES
from ._key_checks import *
from ._messages import *
from ._monitoring import *
from ._namespaces import *
from ._namespaces import export_lazily as _export_lazily
from ._options import *
from ._records import *
from ._settings import *
from ._source import *
from ._static_values import *
from ._traceback_filtering import *
from ._tracebacks import *
from .dimensions import *
from .jaxprs import *
from .traces import *
from .types import *

if _typing.TYPE_CHECKING:
    from ._preserved import *
    from ._tools import *
    from .dimensions._scope import *
    from .dimensions._solving import *
    from .dimensions._symbolic_shapes import *
    from .jaxprs._array_calls import *
    from .jaxprs._check import *
    from .jaxprs._make_jaxpr import *
    from .types._symbolic_specs import *
else:
    __getattr__, __dir__ = _export_lazily(globals(), _MODULES)
