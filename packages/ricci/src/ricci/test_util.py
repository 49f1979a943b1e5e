"""Checks of derivatives."""

from ricci_ir import export_names as _export_names
from ricci_testing import check_grads as check_grads

_export_names(globals())
