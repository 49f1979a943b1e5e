"""The names of ``ricci.tools.colab_tpu``.

Written by tools/drop_in.py.
"""

from ricci.tools.colab_tpu import *
from ricci_ir import export_names as _export_names

_export_names(globals())
