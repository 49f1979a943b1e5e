"""Functions with transformations around them."""

from ricci_compat.linear_util import StoreException as StoreException
from ricci_compat.linear_util import WrappedFun as WrappedFun
from ricci_compat.linear_util import cache as cache
from ricci_compat.linear_util import merge_linear_aux as merge_linear_aux
from ricci_compat.linear_util import transformation as transformation
from ricci_compat.linear_util import transformation2 as transformation2
from ricci_compat.linear_util import transformation_with_aux as transformation_with_aux
from ricci_compat.linear_util import transformation_with_aux2 as transformation_with_aux2
from ricci_compat.linear_util import wrap_init as wrap_init
from ricci_ir import guard_public as _guard_public

_guard_public(globals(), classes=False)
