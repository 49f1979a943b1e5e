"""What the compiler makes of programs on several devices."""

from ricci_ir import export_names as _export_names
from ricci_parallel.reports import Collective as Collective
from ricci_parallel.reports import Communication as Communication
from ricci_parallel.reports import communication as communication

_export_names(globals())
