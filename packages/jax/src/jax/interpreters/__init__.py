"""The names of ``ricci.interpreters``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.interpreters import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import ad as ad
    from . import batching as batching
    from . import mlir as mlir
    from . import partial_eval as partial_eval
    from . import pxla as pxla
    from . import xla as xla
else:
    import jax.interpreters.ad as ad
    import jax.interpreters.batching as batching
    import jax.interpreters.mlir as mlir
    import jax.interpreters.partial_eval as partial_eval
    import jax.interpreters.pxla as pxla
    import jax.interpreters.xla as xla

_export_names(globals(), "ad", "batching", "mlir", "partial_eval", "pxla", "xla")
