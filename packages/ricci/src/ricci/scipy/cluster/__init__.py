"""The namespaces of ``ricci_scipy.cluster``."""

from ricci_ir import export_names as _export_names

from . import vq as vq

_export_names(globals(), "vq")
