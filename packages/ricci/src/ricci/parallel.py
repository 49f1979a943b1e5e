"""Costs of functions on several devices: communication, memory and time."""

from ricci_ir import guard_public as _guard_public
from ricci_parallel.planning import Chip as Chip
from ricci_parallel.planning import LiveBuffer as LiveBuffer
from ricci_parallel.planning import Memory as Memory
from ricci_parallel.planning import MemoryFit as MemoryFit
from ricci_parallel.planning import MemoryLimitError as MemoryLimitError
from ricci_parallel.planning import MemoryPlan as MemoryPlan
from ricci_parallel.planning import MemoryTimeline as MemoryTimeline
from ricci_parallel.planning import Owner as Owner
from ricci_parallel.planning import PeakLocation as PeakLocation
from ricci_parallel.planning import Plan as Plan
from ricci_parallel.planning import Remedy as Remedy
from ricci_parallel.planning import StepTime as StepTime
from ricci_parallel.planning import Traffic as Traffic
from ricci_parallel.planning import chips as chips
from ricci_parallel.planning import plan as plan
from ricci_parallel.reports import Collective as Collective
from ricci_parallel.reports import Communication as Communication
from ricci_parallel.reports import communication as communication

_guard_public(globals())
