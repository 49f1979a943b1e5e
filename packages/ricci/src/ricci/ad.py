"""Requests of a pullback for cotangents, and the places of skipped ones: ``f_vjp.with_refs``."""

from ricci_autodiff import DidntWant as DidntWant
from ricci_autodiff import DontWant as DontWant
from ricci_autodiff import GradRef as GradRef
from ricci_autodiff import GradValue as GradValue
from ricci_ir import guard_public as _guard_public

_guard_public(globals())
