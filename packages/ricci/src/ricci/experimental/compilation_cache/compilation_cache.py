"""The folder of the compilation cache. Importing this costs nothing that is not needed later."""

from ricci._absent import or_advise as _or_advise
from ricci_ir import guard_public as _guard_public
from ricci_xla.cache import reset_cache as reset_cache
from ricci_xla.cache import set_cache_dir as set_cache_dir

_guard_public(globals())
globals()["__getattr__"] = _or_advise(__name__)  # not seen by checkers, which know the names
