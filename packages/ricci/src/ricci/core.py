"""Types, tracers, and evaluation of jaxprs."""

import typing as _typing

from ricci._absent import or_advise as _or_advise
from ricci_ir import AbstractValue as AbstractValue
from ricci_ir import Atom as Atom
from ricci_ir import Jaxpr as Jaxpr
from ricci_ir import JaxprEqn as JaxprEqn
from ricci_ir import Literal as Literal
from ricci_ir import Primitive as Primitive
from ricci_ir import ShapedArray as ShapedArray
from ricci_ir import Trace as Trace
from ricci_ir import Tracer as Tracer
from ricci_ir import Var as Var
from ricci_ir import aval_rules as _aval_rules
from ricci_ir import ensure_compile_time_eval as ensure_compile_time_eval
from ricci_ir import eval_context as eval_context
from ricci_ir import eval_jaxpr as eval_jaxpr
from ricci_ir import guard_lazily as _guard_lazily
from ricci_ir import guard_public as _guard_public
from ricci_ir import max_dim as max_dim
from ricci_ir import min_dim as min_dim

# For annotations: any value of a jaxpr, and an equation's parameters.
Value = _typing.Any
ParamDict = dict[str, _typing.Any]
pytype_aval_mappings = _aval_rules

_guard_public(globals(), classes=False)

if _typing.TYPE_CHECKING:
    from ricci_ir import check_jaxpr as check_jaxpr
else:
    _load, __dir__ = _guard_lazily(globals(), {"ricci_ir": ["check_jaxpr"]})
    __getattr__ = _or_advise(__name__, _load)
