"""References: mutable arrays that programs read and write. See ``ricci_lax.refs``."""

from ricci_ir import AbstractRef as AbstractRef
from ricci_ir import Ref as Ref
from ricci_ir import guard_public as _guard_public
from ricci_lax.refs import addupdate as addupdate
from ricci_lax.refs import empty_ref as empty_ref
from ricci_lax.refs import free_ref as free_ref
from ricci_lax.refs import freeze as freeze
from ricci_lax.refs import get as get
from ricci_lax.refs import new_ref as new_ref
from ricci_lax.refs import set as set
from ricci_lax.refs import swap as swap

_guard_public(globals())
