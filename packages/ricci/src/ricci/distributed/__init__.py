"""Several processes as one computation."""

from ricci_ir import guard_public as _guard_public
from ricci_parallel.processes import ProcessFailure as ProcessFailure
from ricci_parallel.processes import ProgramMismatch as ProgramMismatch
from ricci_parallel.processes import initialize as initialize
from ricci_parallel.processes import is_initialized as is_initialized
from ricci_parallel.processes import shutdown as shutdown

_guard_public(globals())
