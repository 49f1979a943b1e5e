"""Tools for kernels over blocks of arrays (``experimental.pallas``): checks, pictures, tuning."""

from ricci_ir import guard_public as _guard_public
from ricci_kernels.tools import KernelFinding as KernelFinding
from ricci_kernels.tools import check as check
from ricci_kernels.tools import draw as draw
from ricci_xla.tuning import Autotuned as Autotuned
from ricci_xla.tuning import Choice as Choice
from ricci_xla.tuning import Trial as Trial
from ricci_xla.tuning import autotune as autotune

_guard_public(globals())
