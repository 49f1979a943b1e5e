"""Checks of derivatives."""

from ricci_testing import check_grads as check_grads

__all__ = [
    "check_grads",
]
