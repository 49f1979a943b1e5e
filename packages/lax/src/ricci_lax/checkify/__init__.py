"""Errors as values: functions that return their errors, under any transformation."""

# Importing these modules registers the checking rules.
from ricci_ir import export_names as _export_names

from . import _references as _references
from . import _rules as _rules
from ._checkify import *
from ._error import *
from ._exceptions import *

_export_names(globals())
