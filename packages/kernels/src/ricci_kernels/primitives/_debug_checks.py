"""The primitive of checks in kernels that are for debugging."""

import ricci_ir as ir

__all__: list[str] = []

enable_debug_checks: ir.State = ir.config.state("jax_pallas_enable_debug_checks")


_inside = ir.unsupported("debug_check exists in kernels only; discharge the jaxpr first")

# The rule of ``checkify`` is among the checks of kernels. The operand is the condition; ``enabled``
# is whether the check is made without ``checkify``: by an interpreter in the checks that are on by
# default, and by a compiler.
debug_check_p: ir.Primitive = ir.define(
    "debug_check",
    abstract_eval=lambda condition, **params: [],
    multiple_results=True,
    effects=lambda params: frozenset({ir.read_effect, ir.write_effect}),
    discharge=lambda condition, **params: [],
    sharding=ir.by_program,
    jvp=_inside,
    transpose=_inside,
    batch=_inside,
    lower=_inside,
)
