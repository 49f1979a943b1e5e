"""Errors as values: functions that return their errors, under any transformation."""

# Importing these modules registers the checking rules.
from ricci_ir import export_names as _export_names

from . import _control_rules as _control_rules
from . import _index_rules as _index_rules
from ._checkify import *
from ._error import *
from ._exceptions import *

_export_names(globals())
