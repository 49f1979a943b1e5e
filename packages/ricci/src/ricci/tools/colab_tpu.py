"""The TPUs of a notebook on Google Colab."""

from ricci_ir import guard_public as _guard_public
from ricci_xla import setup_tpu as setup_tpu

_guard_public(globals())
