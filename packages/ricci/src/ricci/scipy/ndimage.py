"""Interpolation of images: ``map_coordinates``."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.ndimage import *

_guard_public(globals())
