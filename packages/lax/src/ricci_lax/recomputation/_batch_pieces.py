"""A batch in pieces: a loss that is a sum over examples, computed some of them at a time.

The jaxpr of the loss is rewritten for the rows of one piece, by rules that accept only what makes
the results of the pieces add up to that of the batch (``_piece_rules``). A loop over the pieces
computes the gradient of each in the forward pass, and adds them up: nothing runs twice, and the
residuals of one piece are in memory at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import elementwise_primitives
from ricci_lax.control_flow import scan
from ricci_lax.control_flow._scan import scan_p
from ricci_lax.custom import custom_vjp
from ricci_lax.custom._jvp import custom_jvp_call_p
from ricci_lax.derivatives._checkpoint import remat_p
from ricci_lax.derivatives._recomputation import traced_flat
from ricci_lax.elementwise import add, convert_element_type, div, mul
from ricci_lax.shapes import dynamic_slice_in_dim, slice_in_dim
from ricci_lax.staged_calls._staged_call import inlined
from ricci_lax.structure import full, reshape
from ricci_lax.structure._broadcasting import broadcast_in_dim_p

from ._piece_derivatives import PiecedRule
from ._piece_rules import (
    ADDING,
    RULES,
    SUM,
    Form,
    NotInPiecesError,
    Step,
    elementwise,
    linear_in_sums,
    refuse,
    shape,
)
from ._segments import Recomputation

__all__ = ["BatchPieces", "PiecedLoss", "batch_sizes"]


class BatchPieces(ir.Record):
    """A rewrite of differentiated functions: those that are sums over a batch run in pieces.

    Attributes:
      size: the number of examples.
      count: the number of pieces, which divides it.
      recomputation: the rewrite of each piece that recomputes its residuals, if any.
    """

    size: int
    count: int
    recomputation: Recomputation | None = None

    def __call__(self, fun: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        """Return a flat function that runs in pieces, if it is such a sum."""

        def run(*leaves: object) -> Sequence[Any]:
            jaxpr, consts = traced_flat(fun, leaves)
            try:
                loss = PiecedLoss(jaxpr, len(leaves), self.size, self.count)
            except NotInPiecesError:
                return ir.eval_jaxpr(jaxpr, jaxpr.consts, *consts, *leaves)
            return [loss.evaluate(consts, leaves, self.recomputation)]

        return run


def batch_sizes(jaxpr: ir.Jaxpr, arguments: int) -> list[int]:
    """Return the leading sizes of the arrays that a function closes over, of most bytes first.

    Args:
      jaxpr: the jaxpr of the function, whose last inputs are its arguments.
      arguments: their number.
    """
    total: dict[int, int] = {}
    for var in jaxpr.all_invars[: len(jaxpr.all_invars) - arguments]:
        sizes = shape(var)
        if sizes and not ir.is_symbolic_dim(sizes[0]) and sizes[0] > 1:
            total[sizes[0]] = total.get(sizes[0], 0) + int(np.prod(sizes))
    return sorted(total, key=lambda size: -total[size])


class PiecedLoss:
    """A scalar function as a sum over the pieces of a batch.

    Args:
      jaxpr: its jaxpr; the last inputs are its arguments, those before are closed over.
      arguments: the number of arguments, which are the same for all examples.
      size: the number of examples. Arrays that are closed over and have as many rows are batches.
      count: the number of pieces.

    Raises:
      NotInPiecesError: if the rules do not show that it is such a sum.
    """

    def __init__(self, jaxpr: ir.Jaxpr, arguments: int, size: int, count: int):
        self._count, self._rows = count, size // count
        self._jaxpr = inlined(jaxpr)
        inputs = self._jaxpr.all_invars
        closed_over = len(inputs) - arguments
        self._forms: list[Form] = [
            0 if i < closed_over and shape(var)[:1] == (size,) else None
            for i, var in enumerate(inputs)
        ]
        outs: list[Any] = self._jaxpr.outvars
        dtype = outs[0].aval.dtype
        if len(outs) != 1 or shape(outs[0]) or not ir.issubdtype(dtype, np.floating):
            raise NotInPiecesError("the function does not return one real scalar alone")
        rewriter = _Rewriter(self._rows, count)
        self._piece, forms = rewriter.rewritten(self._jaxpr, self._forms, has_index=True)
        if forms != [SUM]:
            raise NotInPiecesError("the result is not a sum over the examples")

    def evaluate(
        self,
        closed_over: Sequence[Any],
        args: Sequence[Any],
        recomputation: Recomputation | None = None,
    ) -> ir.Array:
        """Evaluate the function in the current trace; reverse mode adds the pieces' gradients.

        Args:
          closed_over: the values that it closes over.
          args: its arguments.
          recomputation: the rewrite of each piece, if any.
        """
        inputs = [*self._jaxpr.consts, *closed_over]
        avals: list[Any] = [ir.get_aval(x) for x in args]
        smooth = [ir.issubdtype(aval.dtype, np.inexact) for aval in avals]

        @custom_vjp
        def loss(inputs: Sequence[Any], args: Sequence[Any]) -> ir.Array:
            return self._summed(lambda *piece: [self._loss(*piece)], inputs, args, [self._aval])[0]

        def forward(inputs: Sequence[Any], args: Sequence[Any]) -> tuple[Any, Any]:
            def value_and_gradients(
                index: ir.ArrayLike, rows: Sequence[Any], args: Sequence[Any]
            ) -> list[Any]:
                def of_smooth(*leaves: object) -> ir.Array:
                    differentiated = iter(leaves)
                    merged = [
                        next(differentiated) if s else x for s, x in zip(smooth, args, strict=True)
                    ]
                    return self._loss(index, rows, merged)

                leaves = [x for s, x in zip(smooth, args, strict=True) if s]
                # The gradient of a piece is not run in pieces once more.
                with ad.rewrite_differentiated(recomputation or _unchanged):
                    value, gradients = ad.value_and_grad(of_smooth, tuple(range(len(leaves))))(
                        *leaves
                    )
                return [value, *gradients]

            results = [self._aval, *(aval for aval, s in zip(avals, smooth, strict=True) if s)]
            value, *gradients = self._summed(value_and_gradients, inputs, args, results)
            return value, gradients

        def backward(gradients: Sequence[Any], ct: ir.Array) -> tuple[Any, Any]:
            scaled = iter([mul(g, convert_element_type(ct, g.dtype)) for g in gradients])
            return None, [next(scaled) if s else None for s in smooth]

        loss.defvjp(forward, backward)
        return loss(inputs, list(args))

    @property
    def _aval(self) -> ir.ShapedArray:
        return self._jaxpr.outvars[0].aval

    def _loss(self, index: ir.ArrayLike, rows: Sequence[Any], args: Sequence[Any]) -> ir.Array:
        """The contribution of a piece."""
        return ir.eval_jaxpr(self._piece, self._piece.consts, index, *rows, *args)[0]

    def _summed(
        self,
        fun: Callable[[ir.ArrayLike, Sequence[Any], Sequence[Any]], Sequence[Any]],
        inputs: Sequence[Any],
        args: Sequence[Any],
        avals: Sequence[Any],
    ) -> list[Any]:
        """Sum the results of a function of each piece, in wide types."""
        batched = [form is not None for form in self._forms[: len(inputs)]]
        pieces = [
            reshape(x, (self._count, self._rows, *np.shape(x)[1:])) if is_batch else None
            for x, is_batch in zip(inputs, batched, strict=True)
        ]
        wide = [np.promote_types(a.dtype, np.float32) for a in avals]

        def step(sums: Sequence[Any], piece: tuple[Any, Sequence[Any]]) -> tuple[Any, None]:
            index, rows = piece
            merged = [x if row is None else row for x, row in zip(inputs, rows, strict=True)]
            results = fun(index, merged, args)
            return [
                add(total, convert_element_type(x, total.dtype))
                for total, x in zip(sums, results, strict=True)
            ], None

        zeros = [full(a.shape, 0, dtype) for a, dtype in zip(avals, wide, strict=True)]
        sums, _ = scan(step, zeros, (np.arange(self._count, dtype=np.int32), pieces))
        return [convert_element_type(x, a.dtype) for x, a in zip(sums, avals, strict=True)]


def _unchanged[F](fun: F) -> F:
    return fun


class _Rewriter:
    """Rewrites jaxprs for the rows of a piece.

    Args:
      rows: the number of rows.
      count: the number of pieces.
    """

    def __init__(self, rows: int, count: int):
        self._rows, self._count = rows, count
        self._in_rule = False
        # The axes along which results of broadcasts are the same.
        self._uniform: dict[ir.Var, set[int]] = {}

    def rewritten(
        self, jaxpr: ir.Jaxpr, forms: Sequence[Form], has_index: bool = False
    ) -> tuple[ir.Jaxpr, list[Form]]:
        """Rewrite a jaxpr for inputs of some forms.

        Args:
          jaxpr: the jaxpr.
          forms: the forms of its constants and arguments.
          has_index: whether the new one takes the piece's index before these.

        Returns:
          The new jaxpr, whose constants are leading arguments, and the forms of its results.
        """
        results: list[Form] = []

        def run(*args: ir.Array) -> list[Any]:
            index, inputs = (args[0], args[1:]) if has_index else (None, args)
            outs, out_forms = self._run(inlined(jaxpr), inputs, forms, index)
            results.extend(out_forms)
            return outs

        avals = [self._cut(var.aval, f) for var, f in zip(jaxpr.all_invars, forms, strict=True)]
        index_aval = [ir.ShapedArray((), np.dtype(np.int32))] if has_index else []
        return ir.trace_to_jaxpr(run, [*index_aval, *avals], jaxpr.debug_info), results

    def _cut(self, aval: ir.AbstractValue, form: Form) -> ir.AbstractValue:
        """The type of a piece's rows."""
        if form is None or form == SUM or not isinstance(aval, ir.ShapedArray):
            return aval
        sizes = list(aval.shape)
        sizes[form] = self._rows
        return aval.update(shape=tuple(sizes))

    def _run(
        self, jaxpr: ir.Jaxpr, inputs: Sequence[Any], forms: Sequence[Form], index: ir.Array | None
    ) -> tuple[list[Any], list[Form]]:
        """Evaluate a jaxpr for a piece in the current trace."""
        values: dict[Any, Any] = dict(zip(jaxpr.all_invars, inputs, strict=True))
        form_of: dict[Any, Form] = dict(zip(jaxpr.all_invars, forms, strict=True))
        for eqn in jaxpr.eqns:
            operands = [form_of.get(x) if isinstance(x, ir.Var) else None for x in eqn.invars]
            local = {x: values[x] for x in eqn.invars if isinstance(x, ir.Var)}
            if all(form is None for form in operands):
                ir.run_equations([eqn], local)
                out_forms: Sequence[Form] = [None] * len(eqn.outvars)
                if eqn.primitive is broadcast_in_dim_p:
                    (out,), dims = eqn.outvars, eqn.params["broadcast_dimensions"]
                    self._uniform[out] = {*range(len(shape(out)))}.difference(dims)
            elif eqn.effects:
                raise refuse(eqn, "has side effects")
            else:
                eqn, out_forms = self._equation(eqn, operands, local, index)
                ir.run_equations([eqn], local)
            values.update((var, local[var]) for var in eqn.outvars)
            form_of.update(zip(eqn.outvars, out_forms, strict=True))
        outs = [x.operand() if isinstance(x, ir.Literal) else values[x] for x in jaxpr.outvars]
        return outs, [form_of.get(x) if isinstance(x, ir.Var) else None for x in jaxpr.outvars]

    def _equation(
        self, eqn: ir.JaxprEqn, forms: Sequence[Form], local: dict[Any, Any], index: ir.Array | None
    ) -> tuple[ir.JaxprEqn, Sequence[Form]]:
        """Rewrite an equation, and its whole operands to the piece's part of them."""
        prim, name = eqn.primitive, eqn.primitive.name
        if prim is scan_p:
            return self._scan(eqn, forms, local, index)
        if prim is remat_p:
            inner, out_forms = self.rewritten(eqn.params["jaxpr"], forms)
            return eqn.replace(params={**eqn.params, "jaxpr": inner}), out_forms
        if prim is custom_jvp_call_p:
            inner, out_forms = self.rewritten(eqn.params["call_jaxpr"], forms)
            avals = [x.aval for x in eqn.invars]
            rule = PiecedRule(eqn.params["jvp"], avals, forms, out_forms, self.rewritten)
            if not self._in_rule:
                self._check(rule)
            return eqn.replace(params={**eqn.params, "call_jaxpr": inner, "jvp": rule}), out_forms
        if SUM in forms:
            self._check_sums(eqn, forms)
            if name in ADDING:
                # Each piece adds its part of the results that all pieces share.
                wholes = [i for i, form in enumerate(forms) if form is None]
                eqn = self._with_forms(eqn, dict.fromkeys(wholes, SUM), local, index)
            return eqn, [SUM] * len(eqn.outvars)
        rule = RULES.get(name) or (elementwise if prim in elementwise_primitives else None)
        if rule is None:
            raise refuse(eqn, "has no rule for pieces of a batch")
        axis = next(form for form in forms if form is not None)
        step: Step = rule(eqn, axis, forms, self._rows)
        cuts = {i: axis for i, axis in enumerate(step.cuts) if axis is not None}
        if step.changes:
            eqn = eqn.replace(params={**eqn.params, **step.changes})
        return self._with_forms(eqn, cuts, local, index), [step.form] * len(eqn.outvars)

    def _with_forms(
        self,
        eqn: ir.JaxprEqn,
        forms: Mapping[int, int],
        local: dict[Any, Any],
        index: ir.Array | None,
    ) -> ir.JaxprEqn:
        """Give whole operands, by number, another form: the piece's rows, or its part of a sum."""
        invars = list(eqn.invars)
        for i, form in forms.items():
            atom = invars[i]
            value = atom.operand() if isinstance(atom, ir.Literal) else local[atom]
            if form == SUM:
                new = div(value, full((), self._count, atom.aval.dtype))
            elif isinstance(atom, ir.Var) and form in self._uniform.get(atom, ()):
                new = slice_in_dim(value, 0, self._rows, axis=form)
            elif index is None:
                raise refuse(eqn, "reads a constant for each example inside of a call")
            else:
                start = mul(index, np.int32(self._rows))
                new = dynamic_slice_in_dim(value, start, self._rows, form)
            invars[i] = var = ir.Var(ir.get_aval(new))
            local[var] = new
        return eqn.reading(invars)

    def _check_sums(self, eqn: ir.JaxprEqn, forms: Sequence[Form]) -> None:
        inexact = all(ir.issubdtype(var.aval.dtype, np.inexact) for var in eqn.outvars)
        alone = all(form in (None, SUM) for form in forms)
        if not (inexact and alone and (eqn.primitive.name in ADDING or linear_in_sums(eqn, forms))):
            raise refuse(eqn, "is not linear in a sum over the batch")

    def _check(self, rule: PiecedRule) -> None:
        # A rule mostly calls its function, whose rule it does not use.
        self._in_rule = True
        try:
            rule.check()
        finally:
            self._in_rule = False

    def _scan(
        self, eqn: ir.JaxprEqn, forms: Sequence[Form], local: dict[Any, Any], index: ir.Array | None
    ) -> tuple[ir.JaxprEqn, Sequence[Form]]:
        """Rewrite a loop. A carry that begins whole has the form that the body gives it."""
        first = eqn.params["num_consts"]
        last = first + eqn.params["num_carry"]
        consts, carry = [*forms[:first]], [*forms[first:last]]
        xs = [_after(form, -1, eqn) for form in forms[last:]]
        # Each round gives at least one more part of the carry another form, or is the last.
        while True:
            body, outs = self.rewritten(
                eqn.params["jaxpr"], [*consts, *carry, *xs], has_index=index is not None
            )
            joined = [
                new if old is None else old
                for old, new in zip(carry, outs[: len(carry)], strict=True)
            ]
            if joined == carry:
                break
            carry = joined
        if outs[: len(carry)] != carry:
            raise refuse(eqn, "has a carry that mixes the examples of the batch")
        changed = {
            first + i: form
            for i, form in enumerate(carry)
            if form is not None and forms[first + i] is None
        }
        eqn = self._with_forms(eqn, changed, local, index)
        ys = [_after(form, 1, eqn) for form in outs[len(carry) :]]
        params = {**eqn.params, "jaxpr": body}
        if index is not None:
            var = ir.Var(ir.get_aval(index))
            local[var] = index
            eqn = eqn.reading([var, *eqn.invars])
            params["num_consts"] += 1
        return eqn.replace(params=params), [*carry, *ys]


def _after(form: Form, moved: int, eqn: ir.JaxprEqn) -> Form:
    """The form of a slice of a loop's array, or of the array of slices."""
    if form is None or form == SUM:
        return form
    if form + moved < 0:
        raise refuse(eqn, "runs over the examples")
    return form + moved
