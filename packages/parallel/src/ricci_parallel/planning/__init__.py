"""Plans: the memory, communication and time of an executable on each device, before it runs.

Imported when it is first used, since few programs need it.
"""

from ._chips import Chip as Chip
from ._chips import chips as chips
from ._memory import LiveBuffer as LiveBuffer
from ._memory import Memory as Memory
from ._memory import Owner as Owner
from ._memory_plan import MemoryPlan as MemoryPlan
from ._memory_plan import PeakLocation as PeakLocation
from ._memory_plan import Remedy as Remedy
from ._memory_planner import memory_plan as memory_plan
from ._memory_planner import plan_of as plan_of
from ._plan import Plan as Plan
from ._plan import StepTime as StepTime
from ._plan import Traffic as Traffic
from ._planner import plan as plan

__all__ = [
    "Chip",
    "LiveBuffer",
    "Memory",
    "MemoryPlan",
    "Owner",
    "PeakLocation",
    "Plan",
    "Remedy",
    "StepTime",
    "Traffic",
    "chips",
    "memory_plan",
    "plan",
    "plan_of",
]
