"""Parameters of calls and loops in the form that interpreters written for JAX read and bind."""

from typing import Any

import ricci_ir as ir
import ricci_lax as lax
import ricci_xla as xla
from ricci_autodiff import Zero, instantiate, tangent_aval

from .flat_trees import nones, pack
from .linear_util import WrappedFun, wrap_init

type Operands = tuple[Any, ...]
type Params = dict[str, Any]

# The parameters of a jitted call that its jaxpr holds already, with the value that changes nothing.
_SETTLED_IN_JAXPR = {
    "in_shardings": xla.UNSPECIFIED,
    "out_shardings": xla.UNSPECIFIED,
    "in_layouts": None,
    "out_layouts": None,
}


def _without_constants(args: Operands, jaxpr: ir.Jaxpr) -> tuple[Operands, ir.Jaxpr]:
    """Move the constants of a jaxpr to the operands."""
    return (*jaxpr.consts, *args), ir.convert_constvars(jaxpr)


def _write_call(params: Params) -> Params:
    jaxpr = params["jaxpr"]
    inline = jaxpr in ir.staged_call.inlined
    counts = {"in": len(jaxpr.invars), "out": len(jaxpr.outvars)}
    return {
        "jaxpr": jaxpr,
        **{
            name: (value,) * counts[name.partition("_")[0]]
            for name, value in _SETTLED_IN_JAXPR.items()
        },
        "donated_invars": (False,) * len(jaxpr.invars),
        "ctx_mesh": xla.device_mesh.value or xla.empty_mesh,
        "keep_unused": False,
        "inline": xla.Inline.JAX_LATE if inline else xla.Inline.AUTO,
        "compiler_options_kvs": (),
        **params,
    }


def _read_call(args: Operands, params: Params) -> tuple[Operands, Params]:
    """Return the operands and parameters of a call.

    Raises:
      NotImplementedError: for shardings, layouts or compiler options.
    """
    for name, value in _SETTLED_IN_JAXPR.items():
        if any(each is not value for each in params.get(name, ())):
            raise NotImplementedError(
                f"jit_p.bind with {name}={params[name]}. Call jit(jaxpr_as_fun(jaxpr), {name}=…)."
            )
    if params.get("compiler_options_kvs"):
        raise NotImplementedError("jit_p.bind takes no options of the compiler; jit does")
    flags = (False,) * len(params["jaxpr"].consts) + tuple(params.get("donated_invars", ()))
    args, jaxpr = _without_constants(args, params["jaxpr"])
    if params["inline"] in (True, xla.Inline.JAX_EARLY, xla.Inline.JAX_LATE):
        ir.staged_call.inlined.add(jaxpr)
    return args, {"jaxpr": jaxpr, "name": params["name"], **ir.donation(flags)}


def _write_loop(params: Params) -> Params:
    consts, carry = params["num_consts"], params["num_carry"]
    jaxpr = params["jaxpr"]
    slices, results = len(jaxpr.invars) - consts - carry, len(jaxpr.outvars) - carry
    replaced = ("num_consts", "num_carry", "_split_transpose")
    return {
        **{name: value for name, value in params.items() if name not in replaced},
        "ft_in": pack((nones(consts), nones(carry), nones(slices))),
        "ft_out": pack((nones(carry), nones(results))),
    }


def _read_loop(args: Operands, params: Params) -> tuple[Operands, Params]:
    """Return the operands and parameters of a loop, with its constants as operands."""
    consts, carry, _ = params["ft_in"].unpack()
    count = len(params["jaxpr"].consts)
    args, jaxpr = _without_constants(args, params["jaxpr"])
    renamed = {name: value for name, value in params.items() if name not in ("ft_in", "ft_out")}
    counts = {"num_consts": count + len(consts), "num_carry": len(carry)}
    return args, {"_split_transpose": False, **renamed, "jaxpr": jaxpr, **counts}


def _write_custom_jvp(params: Params) -> Params:
    return {**params, "num_consts": 0, "jvp_jaxpr_fun": _jvp_as_jaxpr(params)}


def _jvp_as_jaxpr(params: Params) -> WrappedFun:
    """The derivative rule as a function of flags of zero tangents that returns its jaxpr."""
    call, rule = params["call_jaxpr"], params["jvp"]

    def traced(*zeros: bool) -> tuple[ir.Jaxpr, list[Any], list[bool]]:
        avals = call.in_avals
        types = list(map(tangent_aval, avals))
        out_zeros: list[bool] = []

        def run(*args: ir.ArrayLike) -> list[Any]:
            nonzero = iter(args[len(avals) :])
            tangents = [
                instantiate(Zero(t)) if zero else next(nonzero)
                for t, zero in zip(types, zeros, strict=True)
            ]
            results, out_tangents = rule(args[: len(avals)], tangents)
            out_zeros.extend(type(t) is Zero for t in out_tangents)
            return [*results, *(t for t in out_tangents if type(t) is not Zero)]

        nonzero_types = [t for t, zero in zip(types, zeros, strict=True) if not zero]
        jaxpr = ir.trace_to_jaxpr(run, [*avals, *nonzero_types])
        return ir.convert_constvars(jaxpr), list(jaxpr.consts), out_zeros

    return wrap_init(traced)


def _read_custom(args: Operands, params: Params) -> tuple[Operands, Params]:
    added = ("num_consts", "jvp_jaxpr_fun")
    return args, {name: value for name, value in params.items() if name not in added}


ir.library_forms[lax.jit_p] = ir.LibraryForm("inline", _read_call, _write_call)
ir.library_forms[lax.scan_p] = ir.LibraryForm("ft_in", _read_loop, _write_loop)
ir.library_forms[lax.custom_jvp_call_p] = ir.LibraryForm(
    "num_consts", _read_custom, _write_custom_jvp
)
ir.library_forms[lax.custom_vjp_call_p] = ir.LibraryForm(
    "num_consts", _read_custom, lambda params: {**params, "num_consts": 0}
)
