"""Traces, tracers, primitives, and the backend that evaluates them."""

from ._array_type import *
from ._backend import *
from ._hi_tracers import *
from ._lifetimes import *
from ._name_stack import *
from ._named_axes import *
from ._observe import *
from ._primitive import *
from ._references import *
from ._sharding_rule_kinds import *
from ._sharding_rules import *
from ._trace import *
from ._typing import *
from ._unreduced import *
