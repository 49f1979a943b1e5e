"""References in functions with custom derivative rules."""

from typing import Any, NoReturn

import ricci_ir as ir


def _discharge_custom(primitive: ir.Primitive) -> Any:
    """The discharge rule of a call of a custom function.

    The rules take the referenced array in place of a reference. They cannot describe writes, so
    that a function that writes references is not differentiated.
    """

    def rule(*args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
        body = ir.discharged(call_jaxpr)
        values = ir.as_values(args, ir.reference_arguments(call_jaxpr))
        if not body.written:
            outs = primitive.bind(*values, call_jaxpr=body.jaxpr, **params)
            ir.free_references(args, body.freed)
            return outs
        for name in ("jvp", "fwd", "bwd"):
            if name in params:
                params[name] = _Refusal(params[name]).rule
        outs = primitive.bind(*values, call_jaxpr=body.jaxpr, **params)
        count = len(call_jaxpr.outvars)
        ir.write_back([args[i] for i in body.written], outs[count:], outs[:count])
        ir.free_references(args, body.freed)
        return outs[:count]

    return rule


class _Refusal:
    """The derivative rule of a function that writes references: it raises."""

    __slots__ = ("custom",)

    def __init__(self, rule: Any):
        self.custom = getattr(getattr(rule, "__self__", None), "custom", None)

    def rule(self, *args: Any, **params: Any) -> NoReturn:
        """Refuse to differentiate the function."""
        raise NotImplementedError(
            "a function with a custom derivative rule writes references in a traced function, and "
            "is differentiated: its rule does not describe these writes. Return the values, and "
            "write them outside of the function."
        )


discharge_custom: ir.derived = ir.derived(_discharge_custom)
