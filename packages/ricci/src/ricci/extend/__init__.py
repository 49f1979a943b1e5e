"""What programs that extend Ricci build on."""

from . import linear_util as linear_util

__all__ = ["linear_util"]
