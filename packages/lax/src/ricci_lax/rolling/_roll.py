"""``roll``: equal consecutive pieces of a traced function become one loop."""

import builtins
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Never

import numpy as np

import ricci_autodiff as ad
import ricci_ir as ir
from ricci_batching import Axis, batch_flat, batched_at
from ricci_lax.control_flow import scan
from ricci_lax.control_flow._bodies import Body, trace_body
from ricci_lax.control_flow._scan_programs import residual_choice
from ricci_lax.elementwise._conversion import converted
from ricci_lax.shapes import concatenate, index_in_dim, rev, slice_in_dim, stack_p, unstack_p
from ricci_lax.structure import expand_dims
from ricci_pytree import tree_flatten, tree_unflatten

from ._pieces import SEARCHED, find_runs
from ._recomputing import recompute_cheap_residuals
from ._report import RollReport, report
from ._rows import MANY_ROWS, rows_p
from ._runs import CARRIED, Place, Run

__all__ = ["Rolled", "roll"]


class _Row(ir.Record):
    """A value that is a row of a stacked array."""

    stack: ir.Array
    index: int


class _Evaluation:
    """The evaluation of a jaxpr in the current trace, with its runs as loops."""

    def __init__(self, jaxpr: ir.Jaxpr, args: Sequence[Any]):
        self.jaxpr = jaxpr
        self.env: dict[Any, Any] = dict(zip(jaxpr.all_invars, [*jaxpr.consts, *args], strict=True))
        self.stacks: dict[tuple[ir.Var, ...], ir.Array] = {}

    def results(self, runs: Sequence[Run]) -> list[Any]:
        """Apply all equations, and return the results of the jaxpr."""
        self._apply_all(runs)
        self._take_rows()
        return [self._read(atom) for atom in self.jaxpr.outvars]

    def _apply_all(self, runs: Sequence[Run]) -> None:
        done = 0
        for run in runs:
            self._apply(done, run.start)
            self._repeat(run)
            done = run.stop
        self._apply(done, len(self.jaxpr.eqns))

    def _apply_call(self, eqn: ir.JaxprEqn, runs: Sequence[Run]) -> None:
        """Apply the equations of a called function, such as an optimizer's, with its runs as loops.

        Its operands and results may be rows, which are arrays of their own in a call.
        """
        called = _Evaluation(eqn.params["jaxpr"], list(map(self.value, eqn.invars)))
        names = dict(zip(eqn.invars, called.jaxpr.invars, strict=True))
        for rows, stack in self.stacks.items():
            if names.keys() >= set(rows):
                called.stacks[tuple(names[row] for row in rows)] = stack
        called._apply_all(runs)
        results = (called.value(atom) for atom in called.jaxpr.outvars)
        self.env.update(zip(eqn.outvars, results, strict=True))

    def value(self, atom: ir.Atom) -> object:
        """The value of an atom, which may be a row."""
        return self.env[atom] if isinstance(atom, ir.Var) else self._read(atom)

    def _take_rows(self) -> None:
        """Take the results out of stacks of which most rows are results, all rows at once."""
        results: dict[int, dict[ir.Var, _Row]] = {}
        for atom in self.jaxpr.outvars:
            row = self.env[atom] if isinstance(atom, ir.Var) else None
            if isinstance(atom, ir.Var) and type(row) is _Row:
                results.setdefault(id(row.stack), {})[atom] = row
        for of_stack in results.values():
            stack = next(iter(of_stack.values())).stack
            # Neither random keys nor symbolic sizes, for which ``rows`` has no rules.
            is_plain = isinstance(stack.dtype, np.dtype) and ir.is_static_shape(stack.shape)
            if is_plain and len(of_stack) >= max(MANY_ROWS, stack.shape[0] // 2):
                rows = rows_p.bind(stack)
                for var, row in of_stack.items():
                    self.env[var] = _as_weak(rows[row.index], var.aval)

    def _read(self, atom: ir.Atom) -> Any:
        if type(atom) is ir.Literal:
            return atom.operand()
        value = self.env[atom]
        if type(value) is _Row:
            # Rows are taken out only when an equation reads them one by one; the next loop may take
            # the whole stack.
            row = index_in_dim(value.stack, value.index, keepdims=False)
            value = self.env[atom] = _as_weak(row, atom.aval)
        return value

    def _apply(self, start: int, stop: int) -> None:
        """Apply equations that are in no run."""
        ir.run_equations(self._remaining(self.jaxpr.eqns[start:stop]), self.env)

    def _remaining(self, eqns: Iterable[ir.JaxprEqn]) -> Iterator[ir.JaxprEqn]:
        """Yield the equations to apply, when their operands are there.

        Those that take an array apart or put one together, as around the loop of a function that
        was differentiated, are not applied: its rows may be another loop's operands as they are.
        """
        for eqn in eqns:
            if _takes_rows(eqn):
                stack = self._read(eqn.invars[0])
                self.env.update((var, _Row(stack, i)) for i, var in enumerate(eqn.outvars))
            elif eqn.primitive is stack_p and not eqn.params["axis"] and _are_variables(eqn):
                values: Any = tuple(eqn.invars)
                self.env[eqn.outvars[0]] = self._stacked(values, self._direction(values), False)
            elif (runs := _runs_of_call(eqn)) is not None:
                self._apply_call(eqn, runs)
            else:
                for atom in eqn.invars:
                    if type(atom) is ir.Var and type(self.env.get(atom)) is _Row:
                        self._read(atom)
                yield _with_rolled_jaxprs(eqn)

    def _repeat(self, run: Run) -> None:
        """Apply the pieces of a run at once."""
        # Values that an earlier loop stacked are taken from its array as they are, in one order or
        # the other: a backward pass reads the residuals of the forward pass in reverse.
        directions = [self._direction(values) for _, values in run.stacked]
        # A loop that runs backwards reads reversed stacks without a copy. The pieces of a batch are
        # independent, so that it has no direction.
        is_stacked = any(values[::-1] in self.stacks for _, values in run.stacked)
        reverse = (-1 in directions or is_stacked) and not run.is_batch
        rows = [
            self._stacked(values, direction, reverse)
            for (_, values), direction in zip(run.stacked, directions, strict=True)
        ]
        fixed = {operand: self._read(value) for operand, value in run.fixed}
        places = [place for place in run.results if not run.is_final(place)]
        template = [*map(_with_rolled_jaxprs, run.template)]
        equations = [*run.recomputed, *template]

        def piece(carry: Sequence[Any], row: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            env: dict[Any, Any] = dict(fixed)
            for (operand, _), x in zip(run.stacked, row, strict=True):
                env[operand] = _as_weak(x, operand.aval)
            for (operand, *_), x in zip(run.carries, carry, strict=True):
                env[operand] = x
            ir.run_equations(equations, env)
            result = lambda place: env[_variable(run, template, place)]
            return [result(c.place) for c in run.carries], [result(place) for place in places]

        if run.is_batch:
            axis = Axis(run.count)
            outs, dims = batch_flat(lambda *row: piece([], row)[1], axis, rows, [0] * len(rows))
            carry = []
            stacks = [batched_at(x, dim, axis, 0) for x, dim in zip(outs, dims, strict=True)]
        else:
            carry = [self._read(carry.first) for carry in run.carries]
            carry, stacks = scan(piece, carry, rows, length=run.count, reverse=reverse)
        carried = {carry.place: x for carry, x in zip(run.carries, carry, strict=True)}
        stacked = dict(zip(places, stacks, strict=True))
        values = run.values
        for place, pieces in run.results.items():
            if place[0] == CARRIED:
                order = values[place][::-1] if reverse else values[place]
                self.stacks[order] = stacked[place]
                continue
            for i in pieces:
                # Final results are the carry after the last piece; the others are rows of the
                # stacked results.
                value = carried.get(place)
                if place in stacked:
                    value = _Row(stacked[place], run.count - 1 - i if reverse else i)
                self.env[values[place][i]] = value

    def _direction(self, values: tuple[ir.Var, ...]) -> int:
        """1 if the values are all rows of one array, in order, -1 if in reverse, 0 if not."""
        rows = [row for value in values if type(row := self.env.get(value)) is _Row]
        if len(rows) < len(values) or any(row.stack is not rows[0].stack for row in rows):
            return 0
        # Part of a stack has another number of rows and equals neither list.
        indices, ascending = [row.index for row in rows], list(range(rows[0].stack.shape[0]))
        return 1 if indices == ascending else -1 if indices == ascending[::-1] else 0

    def _stacked(self, values: tuple[ir.Var, ...], direction: int, reverse: bool) -> ir.Array:
        """The values as rows of an array, in the order in which a loop takes them."""
        if direction:
            stack = self.env[values[0]].stack
            # The loop reads in one direction; a stack of the other one is reversed.
            return stack if (direction < 0) == reverse else rev(stack, (0,))
        order = values[::-1] if reverse else values
        if order[::-1] in self.stacks:
            return rev(self.stacks[order[::-1]], (0,))
        # Kept, as several runs may read the same values, such as the parameters of all layers.
        if order not in self.stacks:
            if any(type(self.env[value]) is _Row for value in order):
                self.stacks[order] = concatenate(self._pieces(order), 0)
            else:
                self.stacks[order] = stack_p.bind(*map(self._read, order), axis=0)
        return self.stacks[order]

    def _pieces(self, values: Sequence[ir.Var]) -> list[ir.Array]:
        """Arrays whose rows are these values: rows of a stack at equal distances are one slice."""
        pieces: list[ir.Array] = []
        start = 0
        while start < len(values):
            stop, step = self._progression(values, start)
            if stop - start == 1:
                pieces.append(expand_dims(self._read(values[start]), (0,)))
            else:
                stack = self.env[values[start]].stack
                first, last = sorted(self.env[values[i]].index for i in (start, stop - 1))
                piece = slice_in_dim(stack, first, last + 1, builtins.abs(step))
                pieces.append(piece if step > 0 else rev(piece, (0,)))
            start = stop
        return pieces

    def _progression(self, values: Sequence[ir.Var], start: int) -> tuple[int, int]:
        """Return the end of the rows of one stack at equal distances, and that distance."""
        rows = [self.env[value] for value in values[start:]]
        if len(rows) < 2 or any(type(row) is not _Row for row in rows[:2]):
            return start + 1, 0
        step = rows[1].index - rows[0].index
        count = 1
        for row in rows[1:]:
            expected = rows[0].index + count * step
            if type(row) is not _Row or row.stack is not rows[0].stack or row.index != expected:
                break
            count += 1
        # The same row twice is not a progression.
        return start + (count if step else 1), step


def _variable(run: Run, template: Sequence[ir.JaxprEqn], place: Place) -> ir.Var:
    """The variable at a place of a run's template, whose inner jaxprs may have changed."""
    equation, result = place
    is_carried = equation == CARRIED
    return run.carries[result].operand if is_carried else template[equation].outvars[result]


def _takes_rows(eqn: ir.JaxprEqn) -> bool:
    """Whether the results of an equation are the rows of its operand."""
    return eqn.primitive is rows_p or (eqn.primitive is unstack_p and not eqn.params["axis"])


def _runs_of_call(eqn: ir.JaxprEqn) -> Sequence[Run] | None:
    """The runs of a called function; ``None`` if it has neither runs nor stacks of earlier ones.

    A function that is jitted has its layers as loops when it is traced. Calls that donate their
    operands stay calls.
    """
    if eqn.primitive is not ir.staged_call.call or any(eqn.params.get("donated_invars", ())):
        return None
    jaxpr = eqn.params["jaxpr"]
    runs = jaxpr.derived("runs", lambda: find_runs(jaxpr)[0])
    is_stacked = any(_takes_rows(e) or e.primitive is stack_p for e in jaxpr.eqns)
    return runs if runs or is_stacked else None


def _are_variables(eqn: ir.JaxprEqn) -> bool:
    return all(isinstance(atom, ir.Var) for atom in eqn.invars)


def _as_weak(x: ir.Array, aval: ir.AbstractValue) -> ir.Array:
    """A row of a stacked array as weakly typed as the value was."""
    is_weak = isinstance(aval, ir.ShapedArray) and aval.weak_type
    return converted(x, x.dtype, True) if is_weak else x


def _rolled(jaxpr: ir.Jaxpr) -> ir.Jaxpr:
    """The jaxpr with its runs as loops, also in the jaxprs that it holds; cached on it."""

    def build() -> ir.Jaxpr:
        runs = find_runs(jaxpr)[0]
        is_same = lambda eqn: _with_rolled_jaxprs(eqn) is eqn and eqn.primitive is not unstack_p
        if not runs and all(map(is_same, jaxpr.eqns)):
            return jaxpr
        evaluate = lambda *args: _Evaluation(jaxpr, args).results(runs)
        return ir.trace_to_jaxpr(evaluate, jaxpr.in_avals, jaxpr.debug_info)

    return jaxpr.derived("rolled", build)


# Called with the jaxpr of each function that is rolled before it is differentiated.
_observed: ir.State = ir.State("observed", None, lambda jaxpr: None)


class _RolledFirst(ir.Record):
    """A rewrite of differentiated functions: their layers become loops before, not after.

    So the gradient is that of one layer, whatever their number.

    Attributes:
      then: a further rewrite.
    """

    then: Callable[[Any], Any]

    def __call__(self, fun: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        """Return the flat function with its layers as loops."""

        def run(*leaves: ir.Array) -> Sequence[Any]:
            if any(map(ir.is_reference, leaves)):
                return fun(*leaves)
            tree = tree_flatten(leaves)[1]
            body = trace_body("roll", fun, tree, list(map(ir.get_aval, leaves)), allowed=None)
            _observed.value(body.jaxpr)
            return ir.eval_jaxpr(_rolled(body.jaxpr), (), *body.consts, *leaves)

        return self.then(run)


@contextmanager
def _differentiating_loops() -> Iterator[None]:
    """Differentiate functions whose layers are loops, and store few residuals of those."""
    rewrite = ad.rewrite_differentiated.value
    if not isinstance(rewrite, _RolledFirst):
        rewrite = _RolledFirst(rewrite)
    with ad.rewrite_differentiated(rewrite), residual_choice(recompute_cheap_residuals):
        yield


def _trace_rolled(
    fun: Callable[..., Sequence[Any]],
    in_avals: Sequence[ir.AbstractValue],
    debug_info: ir.DebugInfo,
) -> ir.Jaxpr:
    with _differentiating_loops():
        jaxpr = ir.trace_to_jaxpr(fun, in_avals, debug_info)
    return _rolled(jaxpr)


ir.trace_rolled.provide(_trace_rolled)


def _with_rolled_jaxprs(eqn: ir.JaxprEqn) -> ir.JaxprEqn:
    if eqn.primitive.name not in SEARCHED:
        return eqn
    changed = {}
    for name, value in eqn.params.items():
        if isinstance(value, ir.Jaxpr):
            rolled: Any = _rolled(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], ir.Jaxpr):
            rolled = tuple(map(_rolled, value))
            # Keep the very tuple if nothing changed, which the test of identity below relies on.
            rolled = value if all(a is b for a, b in zip(rolled, value, strict=True)) else rolled
        else:
            continue
        if rolled is not value:
            changed[name] = rolled
    return eqn.replace(params={**eqn.params, **changed}) if changed else eqn


def roll[**P, R](fun: Callable[P, R], *misplaced: Never, **misnamed: Never) -> "Rolled[P, R]":
    """Compile the equal layers of a function once, as a loop, though it is written without one.

    A Python loop over layers is traced layer by layer, and the time to compile grows with their
    number. Here consecutive pieces of the jaxpr that apply the same operations to values of the
    same types, each to results of the one before, become a ``scan`` over their stacked parameters,
    before the function is differentiated; an optimizer's updates become one operation. Everything
    else stays as it is. Results are those of ``fun`` up to rounding.

    Args:
      fun: a function of pytrees. Leaves other than arrays, such as a model's functions, are passed
        as they are. The result is compiled, and may be transformed: both ``grad(roll(f))`` and
        ``roll(grad(f))`` find the layers.
      misplaced, misnamed: none; arguments of ``fun`` are passed to the result.

    Returns:
      A function with the arguments and results of ``fun``. Its method ``report`` takes the same
      arguments, and says which pieces are rolled, and why others are not.

    Raises:
      TypeError: if ``fun`` is not a function, or its arguments are passed beside it; from a call,
        if a result is not an array.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> def net(weights, x):
      ...     for w in weights:
      ...         x = x + jnp.tanh(jnp.sin(x @ w) * jnp.cos(x)) / jnp.sqrt(1 + x**2)
      ...     return x
      >>> weights, x = [jnp.full((2, 2), 0.1 * i) for i in range(5)], jnp.ones(2)
      >>> bool(jnp.allclose(ricci.roll(net)(weights, x), net(weights, x)))
      True
      >>> [run.count for run in ricci.roll(net).report(weights, x).runs]
      [5]

    See also:
      ``lax.scan``, for a loop over stacked parameters that is written as one.
    """
    if not callable(fun):
        raise TypeError(f"roll expects a function, got {fun!r:.60}.")
    if misplaced or misnamed:
        name = getattr(fun, "__name__", "f")
        raise TypeError(
            "roll takes a function alone and returns one, as jit and grad do. Pass the arguments "
            f"to that: roll({name})(x), not roll({name}, x). Its report is roll({name}).report(x)."
        )
    return Rolled(fun)


class Rolled[**P, R]:
    """A function whose equal layers are compiled once, returned by ``roll``.

    Args:
      fun: as for ``roll``.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> float(ricci.roll(jnp.sum)(jnp.arange(3.0)))
      3.0
    """

    def __init__(self, fun: Callable[P, R]):
        self._fun: Callable[P, R] = fun
        # A function that is jitted, by a library perhaps, which keeps state, is called as it is.
        self._is_jitted: bool = hasattr(fun, "lower")
        self._calls = ir.ArrayCalls("" if self._is_jitted else "roll", fun)
        functools.update_wrapper(self, fun, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return _call(self, args, kwargs)

    def report(self, *args: P.args, **kwargs: P.kwargs) -> RollReport:
        """Trace the function for these arguments, and describe what a call rolls."""
        differentiated: list[ir.Jaxpr] = []
        with _observed(differentiated.append):
            body, _ = _trace(self, args, kwargs, retrace=True)
        return report(body.jaxpr, differentiated)


def _trace(
    rolled: Rolled,
    args: tuple[ir.PyTree, ...],
    kwargs: dict[str, ir.PyTree],
    *,
    retrace: bool = False,
) -> tuple[Body, list[Any]]:
    call, arrays = rolled._calls.of(args, kwargs)
    packed = tree_flatten(tuple(arrays))[1]
    with _differentiating_loops():
        avals = list(map(ir.get_aval, arrays))
        body = trace_body("roll", call, packed, avals, retrace=retrace, allowed=None)
    return body, arrays


@ir.api_boundary
def _call[R](
    rolled: Rolled[..., R], args: tuple[ir.PyTree, ...], kwargs: dict[str, ir.PyTree]
) -> R:
    if rolled._is_jitted:
        with ir.rolled_layers(True):
            return rolled._fun(*args, **kwargs)
    body, leaves = _trace(rolled, args, kwargs)
    name = getattr(rolled, "__name__", type(rolled._fun).__name__)
    with residual_choice(recompute_cheap_residuals):  # where the call is differentiated
        outs = ir.staged_call.bind(_rolled(body.jaxpr), name, [*body.consts, *leaves])
    return tree_unflatten(body.out_tree, outs)
