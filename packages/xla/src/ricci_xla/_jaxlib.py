"""The one place where jaxlib is imported, with its log level set first."""

import os
from typing import Any

# jaxlib reads this when it is loaded; without it every new client logs its devices to stderr.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import _hlo, _jax  # pyright: ignore[reportAttributeAccessIssue]
from jaxlib import cpu_sparse as cpu_sparse
from jaxlib import lapack as lapack
from jaxlib import xla_client as xla_client

# These have no stubs.
hlo: Any = _hlo
runtime: Any = _jax

__all__ = ["cpu_sparse", "hlo", "lapack", "runtime", "xla_client"]
