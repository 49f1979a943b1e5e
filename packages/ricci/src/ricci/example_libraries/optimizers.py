"""Optimizers as three functions each. See ``ricci_examples.optimizers``."""

from typing import Any as Array

from ricci_examples.optimizers import *
from ricci_ir import guard_public as _guard_public
from ricci_ir import safe_map as map
from ricci_ir import safe_zip as zip

_guard_public(globals(), "Array", "map", "zip")
