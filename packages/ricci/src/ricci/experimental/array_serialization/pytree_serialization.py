"""Pytrees of arrays in folders. See ``ricci_storage``."""

from typing import Any as PyTreeT

from ricci_ir import guard_public as _guard_public
from ricci_storage import load as load
from ricci_storage import load_pytreedef as load_pytreedef
from ricci_storage import logger as logger
from ricci_storage import nonblocking_load as nonblocking_load
from ricci_storage import nonblocking_save as nonblocking_save
from ricci_storage import save as save

_guard_public(globals())
