"""Functions that may still change, and the modules of such."""

from ricci._absent import or_advise as _or_advise
from ricci_ir import guard_public as _guard_public
from ricci_lax import io_callback as io_callback

_guard_public(globals())
globals()["__getattr__"] = _or_advise(__name__)  # not seen by checkers, which know the names
