"""An abstract interpreter, which reads a jaxpr equation by equation and collects findings.

It computes only integers and Booleans that follow from constants. A jaxpr inside an equation is
read where it is called, with the values known there, so that keys and indices are followed through
calls, loops and branches.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_ir import ArrayLike, Jaxpr, JaxprEqn, ShapedArray, Source, Tracer
from ricci_reference import rule_for

from ._keys import KeyUse, key_readers
from ._positions import ALL_OPERANDS, Positions, follow_rules, is_followed, position_rules
from ._values import AnalysisState, Value, is_keys, is_tracked, may_hold_keys


def check_bounds(state: AnalysisState, operands: Sequence[Value], positions: Positions) -> None:
    """Report the known positions of a slice, gather or scatter that lie outside of the array."""
    shape = operands[0].aval.shape
    starts = [operands[i] for i in positions.operands]
    for column, axis in enumerate(positions.axes):
        # The positions are one scalar operand for each axis, or one array with a column for each.
        numbers = _numbers(state, starts[column] if len(starts) > 1 else starts[0])
        if len(starts) == 1:
            numbers = numbers[column :: len(positions.axes)]
        _check(state, axis, shape[axis], positions.sizes[axis], numbers, positions.outside)


def _numbers(state: AnalysisState, x: Value) -> list[int | None]:
    """Return an integer array's elements, ``None`` if unknown; empty if it is not tracked."""
    if not is_tracked(x.aval):
        return []
    if x.elements is not None:
        return [int(n) for n in np.ravel(x.elements)]
    if x.ids is None:
        return []
    return [state.symbols.number(i) for i in x.ids.ravel().tolist()]


def _check(
    state: AnalysisState,
    axis: int,
    size: int,
    window: int,
    numbers: Sequence[int | None],
    effect: str | None,
) -> None:
    # The last position at which the window is inside.
    last = size - window
    for n in numbers:
        if n is None or 0 <= n <= last:
            continue
        # Indexing adds the size to a negative index; the message shows what the user wrote.
        written = n if n >= 0 else n - size
        once = written, axis, size
        if effect is None:
            state.accept("RC501", once)  # also for the derivative, which drops updates there
            return
        nearest = 0 if n < 0 else max(last, 0)
        if window == 1:
            what = f"index {written} is out of bounds for axis {axis} of size {size}"
            clamped = f"element {nearest}"
        else:
            what = f"a slice of {window} elements from {written} leaves axis {axis} of size {size}"
            clamped = f"the slice from {nearest}"
        then = f"{clamped} {effect}" if effect.startswith("is ") else effect
        state.report("RC501", f"{what}: {then}", once=once)
        return


class Reader:
    """Reads jaxprs and collects findings.

    Attributes:
      state: the equation that is being read, and the findings up to it.
      keys: the uses of random keys up to it.
    """

    def __init__(self, source: Source):
        self.state = AnalysisState(source)
        self.keys = KeyUse(self.state)

    def constant(self, x: ArrayLike) -> Value:
        """Return the value of a constant; known if it is a small array of integers or keys."""
        aval = ir.get_aval(x)
        if isinstance(x, Tracer) or not is_tracked(aval):
            return Value(aval, 0)
        if is_keys(aval):
            return self.keys.constant(x, aval)
        return Value(aval, 0, np.asarray(x).astype(aval.dtype))

    def read(self, jaxpr: Jaxpr, args: Sequence[Value]) -> list[Value]:
        """Read a jaxpr on the values of its arguments; return those of its results."""
        env: dict[ir.Var | ir.Literal, Value] = {}
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[var] = self.constant(const)
        env.update(zip(jaxpr.invars, args, strict=True))
        caller = self.state.source

        def value(atom: ir.Atom) -> Value:
            return self.constant(atom.val) if type(atom) is ir.Literal else env[atom]

        for eqn in jaxpr.eqns:
            if eqn.raw_source[0] is not None:
                self.state.source = eqn.source
            results = self._step(eqn, [value(atom) for atom in eqn.invars])
            env.update(zip(eqn.outvars, results, strict=True))
            self.state.source = caller
        return [value(atom) for atom in jaxpr.outvars]

    def _step(self, eqn: JaxprEqn, operands: list[Value]) -> list[Value]:
        # From the most specific reading to the least: control flow, operations on keys, calls,
        # operations at positions, programs in parameters, and any other operation.
        handler = _STRUCTURED.get(eqn.primitive.name)
        if handler is not None:
            return handler(self, eqn, operands)
        role = ir.key_roles.get(eqn.primitive)
        if role is not None:
            return [key_readers[role](self.keys, eqn, *operands)]
        check_kernel = ir.kernel_check.call(eqn)
        if check_kernel is not None:
            for message in check_kernel([x.elements for x in operands]):
                self.state.report("RC502", message.removesuffix("."))
        program = ir.program_rules.get(eqn.primitive)
        if program is not None:
            return self._call(eqn, program(**eqn.params)[0], operands)
        inner = list(ir.jaxprs_in_params(eqn.params))
        positions = position_rules.get(eqn.primitive)
        if positions is not None:
            avals = [x.aval for x in operands]
            check_bounds(self.state, operands, positions(avals, eqn.params))
        elif len(inner) == 1 and len(inner[0].invars) == len(operands):
            return self._other_program(eqn, inner[0], operands)
        return self._plain(eqn, operands, bool(inner))

    # Equations without jaxprs

    def _plain(self, eqn: JaxprEqn, operands: list[Value], has_jaxprs: bool) -> list[Value]:
        depth = max((x.depth for x in operands), default=0)
        if eqn.effects:
            depth = self.state.depth
        avals = [v.aval for v in eqn.outvars]
        rule = rule_for(eqn.primitive)
        if eqn.effects or has_jaxprs or rule is None or not all(map(is_tracked, avals)):
            return [self.state.unknown(aval, depth) for aval in avals]
        if is_followed(eqn.primitive) and all(x.elements is not None for x in operands):
            return self._computed(eqn, rule, avals, [x.elements for x in operands])
        if not all(is_tracked(x.aval) for x in operands):
            return [self.state.unknown(aval, depth) for aval in avals]
        return self._moved(eqn, rule, avals, operands) or self._alike(eqn, avals, operands, depth)

    def _computed(
        self,
        eqn: JaxprEqn,
        rule: Callable[..., Any],
        avals: Sequence[Any],
        arrays: list[np.ndarray | None],
    ) -> list[Value]:
        # Overflow and division by zero behave as in the executable: silently.
        with np.errstate(all="ignore"):
            result = rule(*arrays, **eqn.params)
        results = result if eqn.primitive.multiple_results else [result]
        return [
            Value(aval, 0, np.asarray(x, aval.dtype))
            for aval, x in zip(avals, results, strict=True)
        ]

    def _moved(
        self, eqn: JaxprEqn, rule: Callable[..., Any], avals: Sequence[Any], operands: list[Value]
    ) -> list[Value] | None:
        """Return the results of an operation that only moves elements, or ``None`` for another one.

        The reference rule is applied to the symbols instead of the elements.
        """
        count = follow_rules.get(eqn.primitive, 0)
        if not count:
            return None
        count = len(operands) if count == ALL_OPERANDS else count
        fixed = [x.elements for x in operands[count:]]
        # Unknown positions move unknown elements; a fill value is an element without a symbol.
        if any(x is None for x in fixed) or eqn.params.get("fill_value") is not None:
            return None
        result = rule(*(self.state.symbols.ids(x) for x in operands[:count]), *fixed, **eqn.params)
        results = result if eqn.primitive.multiple_results else [result]
        return [self.state.symbols.value(aval, x) for aval, x in zip(avals, results, strict=True)]

    def _alike(
        self, eqn: JaxprEqn, avals: Sequence[Any], operands: list[Value], depth: int
    ) -> list[Value]:
        """Return results whose symbols depend on the operation and its operands' symbols alone.

        So equal operations on equal operands have equal results.
        """
        ids = [self.state.symbols.ids(x) for x in operands]
        depth = max(
            (self.state.symbols.depths[i] for array in ids for i in array.flat), default=depth
        )
        # Value numbering: the key of a result's element is the operation, its parameters, and the
        # numbers of its operands' elements.
        meaning = (
            eqn.primitive.name,
            repr(eqn.params),
            *((array.shape, array.tobytes()) for array in ids),
        )
        return [
            self.state.symbols.value(
                aval,
                [self.state.symbols.of((*meaning, i, place), depth) for place in range(aval.size)],
            )
            for i, aval in enumerate(avals)
        ]

    # Jaxprs in equations

    def _call(self, eqn: JaxprEqn, jaxpr: Jaxpr, operands: list[Value]) -> list[Value]:
        # A primitive whose jaxpr has other arguments than its operands cannot be followed.
        if len(jaxpr.invars) != len(operands) or not _is_worth_reading(jaxpr):
            depth = max((x.depth for x in operands), default=0)
            return [self.state.unknown(v.aval, depth) for v in eqn.outvars]
        if eqn.params.get("differentiated"):  # a checkpoint's second run
            # The primal run has counted these uses; the same keys draw the same numbers by
            # intention.
            with self.keys.recomputing():
                return self.read(jaxpr, operands)
        if _is_internal(jaxpr) and not self.keys.is_collecting:
            self.state.call_name = eqn.params.get("name", eqn.primitive.name).strip("_")
            try:
                return self.keys.one_use(operands, lambda: self.read(jaxpr, operands))
            finally:
                self.state.call_name = None
        return self.read(jaxpr, operands)

    def _other_program(self, eqn: JaxprEqn, jaxpr: Jaxpr, operands: list[Value]) -> list[Value]:
        """Read a jaxpr whose arguments may differ in type from the equation's operands.

        An operand of another type, such as a batch of arguments, becomes unknown.
        """
        args = [
            x if x.aval is v.aval else self.state.unknown(v.aval, x.depth)
            for v, x in zip(jaxpr.invars, operands, strict=True)
        ]
        self.read(jaxpr, args)
        depth = max((x.depth for x in operands), default=0)
        return [self.state.unknown(v.aval, depth) for v in eqn.outvars]

    def _scan(self, eqn: JaxprEqn, operands: list[Value]) -> list[Value]:
        params = eqn.params
        jaxpr, length = params["jaxpr"], params["length"]
        start = params["num_consts"]
        stop = start + params["num_carry"]
        consts, carry, xs = operands[:start], operands[start:stop], operands[stop:]
        avals = [v.aval for v in eqn.outvars]
        if not length:
            return [*carry, *map(self.state.unknown, avals[len(carry) :])]
        xs_avals = [v.aval for v in jaxpr.invars[stop:]]

        def once(state: list[Value]) -> list[Value]:
            slices = [self.keys.slice_of(x, a) for x, a in zip(xs, xs_avals, strict=True)]
            return self.read(jaxpr, [*consts, *state, *slices])

        last, outs = self._loop(length > 1, carry, once)
        ys = [
            self._stacked(y, aval)
            for y, aval in zip(outs[len(carry) :], avals[len(carry) :], strict=True)
        ]
        return [*last, *ys]

    def _while(self, eqn: JaxprEqn, operands: list[Value]) -> list[Value]:
        params = eqn.params
        middle = params["cond_nconsts"]
        start = middle + params["body_nconsts"]
        cond_consts, consts, carry = operands[:middle], operands[middle:start], operands[start:]

        def once(state: list[Value]) -> list[Value]:
            self.read(params["cond_jaxpr"], [*cond_consts, *state])
            return self.read(params["body_jaxpr"], [*consts, *state])

        return self._loop(True, carry, once)[0]

    def _loop(
        self, repeats: bool, carry: list[Value], once: Callable[[list[Value]], list[Value]]
    ) -> tuple[list[Value], list[Value]]:
        """Read a loop's body; return the last carry and the body's results.

        A part of the carry that the body returns unchanged is the same in every iteration. If the
        carry may hold keys, a first reading of the body without findings shows which parts are.
        """
        # A loop of one iteration does not repeat anything: keys from outside may be used in it.
        self.state.depth += repeats
        try:
            unchanged = [False] * len(carry)
            if any(may_hold_keys(x.aval) for x in carry):
                with _Silence(self):
                    state = [self.keys.carry_of(x) for x in carry]
                    outs = once(state)
                unchanged = [self._is_same(x, out) for x, out in zip(state, outs, strict=False)]
            state = [
                x if same else self.keys.carry_of(x)
                for same, x in zip(unchanged, carry, strict=True)
            ]
            outs = once(state)
        finally:
            self.state.depth -= repeats
        return [
            x if same else self.state.unknown(x.aval)
            for same, x in zip(unchanged, carry, strict=True)
        ], outs

    def _is_same(self, x: Value, y: Value) -> bool:
        if x is y:
            return True
        if not (is_tracked(x.aval) and x.aval is y.aval):
            return False
        return bool(np.array_equal(self.state.symbols.ids(x), self.state.symbols.ids(y)))

    def _stacked(self, y: Value, aval: ShapedArray) -> Value:
        """Return the stacked outputs of a loop: known if they are the same in every iteration."""
        # No deeper than the place of the loop: no symbol of it depends on the iteration.
        if y.depth <= self.state.depth and y.ids is not None and is_tracked(aval):
            return self.state.symbols.value(aval, np.broadcast_to(y.ids, aval.shape))
        return self.state.unknown(aval)

    def _cond(self, eqn: JaxprEqn, operands: list[Value]) -> list[Value]:
        branches = eqn.params["branches"]
        results = self.keys.alternatives(
            [lambda b=branch: self.read(b, operands[1:]) for branch in branches]
        )
        depth = max(x.depth for x in operands)
        return [
            # Equal in all branches: the result does not depend on which one runs.
            each[0]
            if all(self._is_same(each[0], x) for x in each)
            else self.state.unknown(aval, depth)
            for aval, each in zip(
                [v.aval for v in eqn.outvars], zip(*results, strict=True), strict=True
            )
        ]


class _Silence:
    """Drops findings inside a ``with`` block, and forgets its uses of keys afterwards."""

    def __init__(self, reader: Reader):
        self.reader = reader

    def __enter__(self) -> None:
        self.before = self.reader.state.quiet, dict(self.reader.keys.used)
        self.reader.state.quiet = True

    def __exit__(self, *exception: object) -> None:
        self.reader.state.quiet, self.reader.keys.used = self.before


_STRUCTURED = {"scan": Reader._scan, "while": Reader._while, "cond": Reader._cond}


def _is_internal(jaxpr: Jaxpr) -> bool:
    """Whether a jaxpr is one of Ricci's own, rather than traced from the user's code."""
    return all(eqn.raw_source[0] is None for eqn in jaxpr.eqns)


def _is_worth_reading(jaxpr: Jaxpr) -> bool:
    """Whether a jaxpr may give findings, or values that other equations depend on."""
    # Cached with the jaxpr, which is shared by all its calls; without that, nested calls would be
    # examined once for each path to them.
    return jaxpr.derived("is worth checking", lambda: (_may_matter(jaxpr),))[0]


def _may_matter(jaxpr: Jaxpr) -> bool:
    if any(is_tracked(aval) for aval in jaxpr.out_avals):
        return True
    for eqn in jaxpr.eqns:
        if eqn.primitive in position_rules or eqn.primitive in ir.key_roles:
            return True
        if ir.kernel_check.call(eqn) is not None:
            return True
        if any(_is_worth_reading(inner) for inner in ir.jaxprs_in_params(eqn.params)):
            return True
        if any(
            const is not None for inner in ir.jaxprs_in_params(eqn.params) for const in inner.consts
        ):
            return True
    return False
