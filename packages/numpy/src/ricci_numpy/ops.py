"""Reductions in segments: the API of ``jax.ops``."""

from .statistics._segments import segment_max as segment_max
from .statistics._segments import segment_min as segment_min
from .statistics._segments import segment_prod as segment_prod
from .statistics._segments import segment_sum as segment_sum

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
