"""Checks of derivatives."""

from ricci_ir import guard_public as _guard_public
from ricci_testing import check_grads as check_grads
from ricci_testing import check_jvp as check_jvp
from ricci_testing import check_vjp as check_vjp

_guard_public(globals())
