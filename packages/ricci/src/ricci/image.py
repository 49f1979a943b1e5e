"""Resampling of images: ``resize``, ``scale_and_translate`` and their methods."""

from ricci_ir import guard_public as _guard_public
from ricci_nn.image import *

_guard_public(globals())
