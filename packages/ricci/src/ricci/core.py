"""The intermediate representation: types, tracers and traced programs."""

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
from ricci_ir import check_jaxpr as check_jaxpr
from ricci_ir import ensure_compile_time_eval as ensure_compile_time_eval
from ricci_ir import eval_jaxpr as eval_jaxpr

__all__ = [
    "AbstractValue",
    "Atom",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Var",
    "check_jaxpr",
    "ensure_compile_time_eval",
    "eval_jaxpr",
]
