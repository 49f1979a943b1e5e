"""Checks of derivatives."""

from ricci_ir import export_names as _export_names
from ricci_testing import check_grads as check_grads
from ricci_testing import check_jvp as check_jvp
from ricci_testing import check_vjp as check_vjp

_export_names(globals())
