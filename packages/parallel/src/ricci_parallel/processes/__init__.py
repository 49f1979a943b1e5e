"""Several processes as one computation: joining, watching each other, exchanging values.

`_initialize` makes this process one of a cluster: by `_rendezvous` the processes find each other
and keep a connection from each to rank 0, then jaxlib's runtime connects and carries all data.
`_watch` is a thread that sends heartbeats of this process to rank 0, and ends the process when
rank 0 has detected that another one failed (`_heartbeat`). `_fingerprint` compares the modules of
all processes before they run.

`_agreement` compares values between processes, `_gathering` exchanges those of the host, and
`_preemption` lists the processes that go on.

Imported when it is first used: programs of one process need none of it.
"""

from ricci_ir import export_names as _export_names

from ._agreement import *
from ._fingerprint import *
from ._gathering import *
from ._initialize import *
from ._preemption import *
from ._watch import *

_export_names(globals())
