"""Executables: lowering and compiling programs, and calling what was compiled."""

from ._compile import *
from ._dispatch import *
from ._effects import *
from ._hlo_computation import *
from ._inspection import *
from ._memories import *
from ._partitioners import *
from ._program_devices import *
from ._shared_programs import *
from ._two_stages import *
