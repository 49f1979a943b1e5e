"""Functions with transformations around them."""

from ricci_ir import StoreException as StoreException
from ricci_ir import WrappedFun as WrappedFun
from ricci_ir import cache_by_function as _cache_by_function
from ricci_ir import guard_public as _guard_public
from ricci_ir import merge_linear_aux as merge_linear_aux
from ricci_ir import transformation as transformation
from ricci_ir import transformation2 as transformation2
from ricci_ir import transformation_with_aux as transformation_with_aux
from ricci_ir import transformation_with_aux2 as transformation_with_aux2
from ricci_ir import wrap_init as wrap_init

cache = _cache_by_function

_guard_public(globals(), classes=False)
