"""Optimizers as three functions each. See ``ricci_examples.optimizers``."""

from typing import Any as Array

from ricci_compat.api_util import safe_map as map
from ricci_compat.api_util import safe_zip as zip
from ricci_examples.optimizers import *
from ricci_ir import guard_public as _guard_public

_guard_public(globals(), "Array", "map", "zip")
