"""Higher derivatives by power series. Imported on first use."""

from ricci_autodiff.jets import JetTrace as JetTrace
from ricci_autodiff.jets import JetTracer as JetTracer
from ricci_ir import export_names as _export_names

from ._jet import *
from ._registering import *

_export_names(globals())
