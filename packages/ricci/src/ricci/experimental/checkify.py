"""Functions that return their errors as values. See ``ricci_lax.checkify``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax.checkify import Error as Error
from ricci_lax.checkify import ErrorCategory as ErrorCategory
from ricci_lax.checkify import JaxRuntimeError as JaxRuntimeError
from ricci_lax.checkify import all_checks as all_checks
from ricci_lax.checkify import automatic_checks as automatic_checks
from ricci_lax.checkify import check as check
from ricci_lax.checkify import check_error as check_error
from ricci_lax.checkify import checkify as checkify
from ricci_lax.checkify import debug_check as debug_check
from ricci_lax.checkify import div_checks as div_checks
from ricci_lax.checkify import float_checks as float_checks
from ricci_lax.checkify import index_checks as index_checks
from ricci_lax.checkify import init_error as init_error
from ricci_lax.checkify import nan_checks as nan_checks
from ricci_lax.checkify import user_checks as user_checks

_guard_public(globals())
