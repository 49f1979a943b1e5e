"""The names of ``ricci.tools``.

Written by tools/drop_in.py.
"""

import typing as _typing

from ricci.tools import *
from ricci_ir import export_names as _export_names

# isort: split
if _typing.TYPE_CHECKING:
    from . import colab_tpu as colab_tpu
else:
    import jax.tools.colab_tpu as colab_tpu

_export_names(globals(), "colab_tpu")
