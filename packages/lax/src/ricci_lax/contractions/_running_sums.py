"""Running sums of products, each computed once on CPUs.

A residual network adds the result of each layer to the sum of those before it, and its backward
pass adds cotangents in the same way. XLA's CPU compiler fuses a sum into each of its uses, instead
of storing it. The operand of a sum is a sum as well, so that the fusions of a layer read the
results of all layers before it: their number of operations grows with the square of the number of
layers. A barrier behind a sum of several stored arrays, used in several places, has it stored once.
"""

import ricci_ir as ir
from ricci_ir import Atom, Jaxpr, JaxprEqn, Literal, Var

__all__ = ["store_running_sums"]

_LEAST_PRODUCTS = 3  # with fewer, no sum reads the results of several layers
_LEAST_SIZE = 1024  # elements: below that, a further kernel takes longer than reading again
# Once stored, a sum of n arrays with u uses takes n + 1 + u passes over memory, and n · u before.
_LEAST_ARRAYS = 4
_SUMS = frozenset(("add", "add_any", "sub"))
# Operations that XLA computes again in each use.
_REPEATED = _SUMS | {
    *("abs", "broadcast_in_dim", "convert_element_type", "copy", "div", "expand_dims"),
    *("max", "min", "mul", "neg", "reshape", "select_n", "squeeze"),
}
# Operations that it fuses into a single use.
_FUSED = _REPEATED | {
    *("exp", "erf", "integer_pow", "log", "logistic", "pow", "rsqrt", "sqrt", "square", "tanh")
}
_PRODUCTS = frozenset(("conv_general_dilated", "dot_general"))
_RESULT = -1  # in place of the position of an equation: a result of the jaxpr


def store_running_sums(jaxpr: Jaxpr) -> Jaxpr:
    """Return a jaxpr with barriers behind the sums that XLA would compute again in each use."""
    products = 0
    for eqn in jaxpr.eqns:
        products += eqn.primitive.name in _PRODUCTS
    if products < _LEAST_PRODUCTS:
        return jaxpr
    # A jaxpr that held itself among its derived forms would be a reference cycle.
    return jaxpr.derived("stored sums", lambda: _store(jaxpr)) or jaxpr


def _store(jaxpr: Jaxpr) -> Jaxpr | tuple[()]:
    """Return a jaxpr with barriers behind such sums, or ``()`` where there are none."""
    stored = _stored_sums(jaxpr)
    return _with_barriers(jaxpr, stored) if stored else ()


def _stored_sums(jaxpr: Jaxpr) -> set[Var]:
    """Return the sums behind which there should be a barrier."""
    shared = _shared(jaxpr)
    stored: set[Var] = set()
    # The arrays in memory that computing a value again would read; of other values, themselves.
    read: dict[Atom, frozenset[Atom]] = {}
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name not in _REPEATED:
            continue
        (result,) = eqn.outvars
        size = _size(result)
        arrays: frozenset[Atom] = frozenset()
        for atom in eqn.invars:
            if type(atom) is not Literal:
                arrays |= read.get(atom) or frozenset((atom,) if _size(atom) >= size else ())
        if len(arrays) >= _LEAST_ARRAYS:
            if name in _SUMS and size >= _LEAST_SIZE and result in shared:
                stored.add(result)
                continue
            if len(arrays) > 2 * _LEAST_ARRAYS:  # as good as any larger number
                arrays = frozenset([*arrays][:_LEAST_ARRAYS])
        read[result] = arrays
    return stored


def _shared(jaxpr: Jaxpr) -> set[Var]:
    """Return the results of equations that are used by several fusions."""
    # For each value, an equation that ends a fusion with it; None where there are several.
    ends: dict[Atom, int | None] = dict.fromkeys(
        (atom for atom in jaxpr.outvars if type(atom) is Var), _RESULT
    )
    for i, eqn in reversed([*enumerate(jaxpr.eqns)]):
        end: int | None = i
        if eqn.primitive.name in _FUSED:
            end = ends.get(eqn.outvars[0], i)
        for atom in eqn.invars:
            if type(atom) is Var:
                ends[atom] = end if ends.get(atom, end) == end else None
    return {var for eqn in jaxpr.eqns for var in eqn.outvars if ends.get(var, 0) is None}


def _size(atom: Atom) -> int:
    aval = atom.aval
    return aval.size if isinstance(aval, ir.ShapedArray) and ir.is_static_shape(aval.shape) else 0


def _with_barriers(jaxpr: Jaxpr, stored: set[Var]) -> Jaxpr:
    barrier_p = ir.primitives["optimization_barrier"]
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if eqn.outvars and eqn.outvars[0] in stored:
            (result,) = eqn.outvars
            # The name of the sum stays that of the stored value, which all equations use.
            computed = Var(result.aval)
            eqns.append(eqn.replace(outvars=[computed]))
            eqns.append(
                eqn.replace(primitive=barrier_p, invars=[computed], outvars=[result], params={})
            )
        else:
            eqns.append(eqn)
    return jaxpr.replace(eqns=eqns)
