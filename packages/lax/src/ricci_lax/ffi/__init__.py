"""Calls of compiled functions that are registered with XLA by their name."""

from ._ffi_call import *
