"""Programs: tracing functions for ``jit``, and the cache of traced programs."""

from ._inline import *
