"""Functions for single places that programs run at."""

from ricci_ir import export_names as _export_names

from . import colab_tpu as colab_tpu

_export_names(globals(), "colab_tpu")
