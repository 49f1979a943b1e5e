"""Plans: the memory, communication and time of an executable on each device, before it runs.

Imported when it is first used, since few programs need it.
"""

from ricci_ir import export_names as _export_names

from ._chips import *
from ._fit_memory import *
from ._memory import *
from ._memory_fit import *
from ._memory_picture import MemoryTimeline as MemoryTimeline
from ._memory_plan import *
from ._memory_planner import *
from ._plan import *

_export_names(globals())
