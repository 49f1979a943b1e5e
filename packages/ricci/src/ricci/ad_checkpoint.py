"""Trading memory for computation in reverse mode. See ``ricci_lax``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax import checkpoint as checkpoint
from ricci_lax import checkpoint_name as checkpoint_name
from ricci_lax import name_p as name_p
from ricci_lax import print_saved_residuals as print_saved_residuals
from ricci_lax.checkpoint_policies import Offloadable as Offloadable
from ricci_lax.checkpoint_policies import Recompute as Recompute
from ricci_lax.checkpoint_policies import Saveable as Saveable

from . import checkpoint_policies as checkpoint_policies

remat = checkpoint
checkpoint_name_fwd = checkpoint_name


_guard_public(globals(), "checkpoint_policies")
