"""Several processes as one computation: joining, watching each other, exchanging values.

`_initialize` makes this process one of a cluster: `_meeting` lets the processes find each other and
keeps a connection from each to rank 0, then jaxlib's runtime connects and carries all data.
`_watch` is a thread that tells rank 0 over that connection what this process does (`_signs`), and
ends the process when rank 0 has found that another one failed (`_verdict`). `_fingerprint`
compares the programs of all processes before they run.
"""

from ._fingerprint import ProgramMismatch as ProgramMismatch
from ._initialize import initialize as initialize
from ._initialize import is_initialized as is_initialized
from ._initialize import shutdown as shutdown
from ._watch import ProcessFailure as ProcessFailure

__all__ = ["ProcessFailure", "ProgramMismatch", "initialize", "is_initialized", "shutdown"]
