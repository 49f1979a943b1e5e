"""The primitives, each under its printed name with ``_p`` behind it, such as ``sin_p``.

They are read from the registry, so that a new one is here as soon as its block has
run. For editors, ``primitives.pyi`` lists their names; ``tools/primitive_names.py`` writes it.
"""

# These packages have indices of their primitives.
import ricci_lax
import ricci_parallel
import ricci_random
from ricci_compat.call_primitives import create_call_primitive as create_call_primitive
from ricci_compat.call_primitives import eval_jaxpr_transpose as eval_jaxpr_transpose
from ricci_compat.call_primitives import (
    register_call_primitive_rules as register_call_primitive_rules,
)
from ricci_ir import Primitive, eval_jaxpr_p, primitives

primitives.load_all()
_FUNCTIONS = ["create_call_primitive", "eval_jaxpr_transpose", "register_call_primitive_rules"]

# Further names under which libraries written for JAX use some of them.
_other_names: dict[str, Primitive] = {
    "add_jaxvals_p": primitives["add_any"],
    "call_p": eval_jaxpr_p,
    "closed_call_p": eval_jaxpr_p,
    "linear_solve_p": primitives["custom_linear_solve"],
    "remat_p": primitives["remat2"],
}


def _by_name() -> dict[str, Primitive]:
    named = {f"{name.replace('-', '_')}_p": p for name, p in primitives.items()}
    return {**named, **_other_names}


def __getattr__(name: str) -> Primitive:
    primitive = _by_name().get(name)
    if primitive is None:
        raise AttributeError(f"no primitive {name!r}; dir() of this module lists them")
    return primitive


def __dir__() -> list[str]:
    return sorted([*_by_name(), *_FUNCTIONS])


__all__ = sorted([*_by_name(), *_FUNCTIONS])  # pyright: ignore[reportUnsupportedDunderAll]
