"""Several processes as one computation: joining, watching each other, exchanging values.

`_initialize` makes this process one of a cluster: by `_rendezvous` the processes find each other
and keep a connection from each to rank 0, then jaxlib's runtime connects and carries all data.
`_watch` is a thread that sends heartbeats of this process (`_heartbeat`) to rank 0, and ends the
process when rank 0 has detected that another one failed (`_failure_detector`). `_fingerprint`
compares the modules of all processes before they run.

`_agreement` compares values between processes, `_gathering` exchanges those of the host, and
`_preemption` lists the processes that go on.

Imported when it is first used: programs of one process need none of it.
"""

from ._agreement import assert_equal as assert_equal
from ._agreement import sync_global_devices as sync_global_devices
from ._fingerprint import ProgramMismatch as ProgramMismatch
from ._gathering import broadcast_one_to_all as broadcast_one_to_all
from ._gathering import process_allgather as process_allgather
from ._initialize import initialize as initialize
from ._initialize import is_initialized as is_initialized
from ._initialize import shutdown as shutdown
from ._preemption import ProcessFailureError as ProcessFailureError
from ._preemption import live_devices as live_devices
from ._preemption import reached_preemption_sync_point as reached_preemption_sync_point
from ._watch import ProcessFailure as ProcessFailure

__all__ = [
    "ProcessFailure",
    "ProcessFailureError",
    "ProgramMismatch",
    "assert_equal",
    "broadcast_one_to_all",
    "initialize",
    "is_initialized",
    "live_devices",
    "process_allgather",
    "reached_preemption_sync_point",
    "shutdown",
    "sync_global_devices",
]
