"""The TPUs of a notebook on Google Colab."""

from ricci_ir import export_names as _export_names
from ricci_xla import setup_tpu as setup_tpu

_export_names(globals())
