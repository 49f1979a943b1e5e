"""Errors as values: functions that return their errors, under any transformation."""

# Importing these modules registers the checking rules.
from . import _control_rules as _control_rules
from . import _custom_rules as _custom_rules
from . import _index_rules as _index_rules
from ._always import find_error as find_error
from ._check import check as check
from ._check import check_error as check_error
from ._check import debug_check as debug_check
from ._checkify import ErrorCategory as ErrorCategory
from ._checkify import all_checks as all_checks
from ._checkify import automatic_checks as automatic_checks
from ._checkify import checkify as checkify
from ._checkify import div_checks as div_checks
from ._checkify import float_checks as float_checks
from ._checkify import index_checks as index_checks
from ._checkify import nan_checks as nan_checks
from ._checkify import user_checks as user_checks
from ._error import Error as Error
from ._error import check_p as check_p
from ._error import init_error as init_error
from ._exceptions import BatchedError as BatchedError
from ._exceptions import DivisionByZeroError as DivisionByZeroError
from ._exceptions import FailedCheckError as FailedCheckError
from ._exceptions import JaxException as JaxException
from ._exceptions import JaxRuntimeError as JaxRuntimeError
from ._exceptions import NaNError as NaNError
from ._exceptions import OOBError as OOBError

__all__ = [
    "BatchedError",
    "DivisionByZeroError",
    "Error",
    "ErrorCategory",
    "FailedCheckError",
    "JaxException",
    "JaxRuntimeError",
    "NaNError",
    "OOBError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "check_p",
    "checkify",
    "debug_check",
    "div_checks",
    "find_error",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
