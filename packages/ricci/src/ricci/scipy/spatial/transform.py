"""Rotations in three dimensions: ``Rotation`` and ``Slerp``."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.spatial.transform import *

_guard_public(globals())
