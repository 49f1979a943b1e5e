"""The indices of a kernel that depend on its position alone, checked for all steps ahead.

What is left are the equations whose indices depend on data, which are checked when the kernel runs.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import ricci_ir as ir
import ricci_lax as lax
from ricci_kernels.blocks._programs import num_programs_p, program_id_p
from ricci_kernels.primitives._accesses import (
    atomic_cas_p,
    atomic_rmw_p,
    masked_load_p,
    masked_store_p,
    optional,
)
from ricci_kernels.primitives._copies import dma_start_p, split_references
from ricci_kernels.primitives._debug_checks import debug_check_p
from ricci_lax.authoring import index_uses
from ricci_lax.refs import addupdate_p, get_p, swap_p

from ._step_values import StepValue, grid_positions, step_values

__all__: list[str] = []

type Reader = Callable[[ir.Atom], StepValue]


class Outside(ir.TupleRecord):
    """An index that is out of bounds in some step.

    Attributes:
      eqn: the equation that reads or writes.
      use: the index, an ``IndexUse``.
      value: its value in the first such step.
      step: the position of that step in the grid.
    """

    eqn: ir.JaxprEqn
    use: Any
    value: int
    step: tuple[int, ...]


class _Path(ir.TupleRecord):
    """The steps in which some equations run.

    Attributes:
      steps: booleans for all steps, without those in which they do not run.
      certain: whether they run in all those steps; else some depend on data.
      equations: the equations that contain them.
    """

    steps: np.ndarray
    certain: bool
    equations: tuple[int, ...]

    def inside(self, eqn: ir.JaxprEqn, certain: bool = True) -> "_Path":
        return self._replace(certain=self.certain and certain, equations=(*self.equations, id(eqn)))


class IndexSurvey:
    """The indices of a kernel's references, as far as they depend on the position alone.

    Args:
      jaxpr: the kernel's.
      grid: the number of steps along each axis of its grid.
      vmapped: the number of leading axes that ``vmap`` has added.
      is_map: whether the jaxpr is an index map, whose first arguments are the position.

    Attributes:
      results: the results of the jaxpr.
      outside: the first index that is out of bounds.
      unknown: the identities of the equations whose indices depend on data, of enabled checks, and
        of those that contain them.
    """

    def __init__(
        self, jaxpr: ir.Jaxpr, grid: Sequence[int | None], vmapped: int, is_map: bool = False
    ):
        self.grid, self.vmapped = tuple(grid), vmapped
        self.positions: list[StepValue] = grid_positions(grid)
        self.outside: Outside | None = None
        self.unknown: set[int] = set()
        positions = self.positions if is_map else []
        arguments = [*positions, *[None] * (len(jaxpr.invars) - len(positions))]
        everywhere = _Path(np.ones((), bool), True, ())
        self.results: list[StepValue] = self._walk(jaxpr, arguments, everywhere)

    def _walk(
        self, jaxpr: ir.Jaxpr, arguments: Sequence[StepValue], path: _Path
    ) -> list[StepValue]:
        values: dict[Any, StepValue] = dict(zip(jaxpr.invars, arguments, strict=True))
        for var, const in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            values[var] = np.asarray(const) if isinstance(const, np.ndarray | np.generic) else None
        read = lambda x: np.asarray(x.val) if type(x) is ir.Literal else values.get(x)
        for eqn in jaxpr.eqns:
            results = self._results(eqn, list(map(read, eqn.invars)), read, path)
            values.update(zip(eqn.outvars, results, strict=True))
        return list(map(read, jaxpr.outvars))

    def _results(
        self, eqn: ir.JaxprEqn, operands: list[StepValue], read: Reader, path: _Path
    ) -> Sequence[StepValue]:
        params: Any = eqn.params
        if eqn.primitive is program_id_p:
            return [self.positions[params["axis"] + self.vmapped]]
        if eqn.primitive is num_programs_p:
            size = self.grid[params["axis"] + self.vmapped]
            return [None if size is None else np.int32(size)]  # pyright: ignore
        if eqn.primitive is debug_check_p and params["enabled"]:
            self._defer(eqn, path)
        uses = list(_uses(eqn))
        if uses:
            self._check(eqn, uses, read, path)
        if eqn.primitive is lax.cond_p:
            return self._branches(eqn, operands, path)
        if eqn.primitive is lax.scan_p:
            return self._loop(eqn, operands, path)
        # A call has its caller's values for its arguments, and ``None``, for unknown, where it has
        # more arguments than operands. Of any other equation with jaxprs, such as ``while``, only
        # the sites in them are visited, with unknown values.
        inner = list(ir.jaxprs_in_params(params))
        if not inner:
            return step_values(eqn, operands)
        called: Any = params.get("jaxpr") or params.get("call_jaxpr")
        is_call = len(inner) == 1 and called is inner[0] and eqn.primitive is not lax.while_p
        count = len(operands)
        if is_call and len(called.invars) >= count and len(called.outvars) == len(eqn.outvars):
            arguments = [*operands, *[None] * (len(called.invars) - count)]
            return self._walk(called, arguments, path.inside(eqn))
        for jaxpr in inner:
            self._walk(jaxpr, [None] * len(jaxpr.invars), path.inside(eqn, certain=False))
        return [None] * len(eqn.outvars)

    def _branches(
        self, eqn: ir.JaxprEqn, operands: list[StepValue], path: _Path
    ) -> list[StepValue]:
        # ``which`` has the branch of each step, if that depends on the position alone. A branch
        # that is chosen in no step is not visited.
        which, *arguments = operands
        branches: Any = eqn.params["branches"]
        results: list[list[StepValue]] = []
        for i, branch in enumerate(branches):
            inside = path.inside(eqn, certain=which is not None)
            if which is not None:
                chosen = np.clip(which, 0, len(branches) - 1) == i
                inside = inside._replace(steps=inside.steps & chosen)
                if not inside.steps.any():
                    continue
            results.append(self._walk(branch, arguments, inside))
        unknown: list[StepValue] = [None] * len(eqn.outvars)
        return results[0] if len(results) == 1 else unknown

    def _loop(self, eqn: ir.JaxprEqn, operands: list[StepValue], path: _Path) -> list[StepValue]:
        """Walk the body of a loop once, with its counters along a new axis."""
        params: Any = eqn.params
        body: ir.Jaxpr = params["jaxpr"]
        length, consts, carry = params["length"], params["num_consts"], params["num_carry"]
        unknown: list[StepValue] = [None] * len(eqn.outvars)
        if not length:
            return [*operands[consts : consts + carry], *unknown[carry:]]
        rank = len(self.grid) + 1 + _depth(path, self.grid)
        turn = np.arange(length, dtype=np.int32).reshape(-1, *[1] * (rank - 1))
        if params["reverse"]:
            turn = turn[::-1]
        arguments, final = list(operands), list(unknown)
        for i in range(consts, len(operands)):
            step = _increment(body, i, i - consts) if i < consts + carry else None
            first = operands[i]
            if step is None or first is None or body.invars[i].aval.shape:  # pyright: ignore
                arguments[i] = None
                continue
            dtype = body.invars[i].aval.dtype  # pyright: ignore
            arguments[i] = (first + turn.astype(dtype) * step).astype(dtype)
            final[i - consts] = np.asarray(first + length * step, dtype)
        inside = path.inside(eqn)
        shape = (length, *np.broadcast_shapes(inside.steps.shape, (1,) * (rank - 1)))
        inside = inside._replace(steps=np.broadcast_to(inside.steps, shape))
        self._walk(body, arguments, inside)
        return final

    def _check(self, eqn: ir.JaxprEqn, uses: Sequence[Any], read: Reader, path: _Path) -> None:
        is_masked: Any = eqn.params.get("has_mask", False)
        for use in uses:
            index = read(use.index) if use.count is None else None
            if index is None:
                self._defer(eqn, path)
                continue
            rank = len(use.index.aval.shape)
            wide = index.astype(np.int64)
            size = use.shape[use.axis]
            if use.counts_back:
                wide = np.where(wide < 0, wide + size, wide)
            elements = tuple(range(wide.ndim - rank, wide.ndim))
            wrong = (wide < 0) | (wide > size - use.span)
            steps = wrong.any(elements) & path.steps
            if not steps.any():
                continue
            if is_masked or not path.certain:
                self._defer(eqn, path)
            elif self.outside is None:
                self.outside = self._first(eqn, use, wide, wrong, steps)

    def _defer(self, eqn: ir.JaxprEqn, path: _Path) -> None:
        self.unknown.update((id(eqn), *path.equations))

    def _first(
        self, eqn: ir.JaxprEqn, use: Any, index: np.ndarray, wrong: np.ndarray, steps: np.ndarray
    ) -> Outside:
        """The first step in the order of the grid, then of loops."""
        rank = len(self.grid)
        sizes = [size or 1 for size in self.grid]
        loops = steps.shape[: max(0, steps.ndim - rank)]
        full = np.broadcast_to(steps, (*loops, *sizes))
        order = np.argwhere(np.moveaxis(full, range(len(loops)), range(rank, rank + len(loops))))
        first = order[0].tolist()
        step, turn = first[:rank], first[rank:]
        place = (*turn, *step)
        elements = index.ndim - len(use.index.aval.shape)
        outer = index.shape[:elements]
        inner = place[len(place) - len(outer) :]
        at = tuple([0 if n == 1 else i for i, n in zip(inner, outer, strict=True)])
        values, flags = index[at].ravel(), np.broadcast_to(wrong, index.shape)[at].ravel()
        return Outside(eqn, use, int(values[np.argmax(flags)]), tuple(step[self.vmapped :]))


def _depth(path: _Path, grid: Sequence[object]) -> int:
    """The number of loops around some equations."""
    return max(0, path.steps.ndim - len(grid))


def _increment(body: ir.Jaxpr, argument: int, result: int) -> np.ndarray | int | None:
    """The number that a turn of a loop adds to a part of its carry; ``None`` if it is unknown."""
    before, after = body.invars[argument], body.outvars[result]
    if after is before:
        return 0
    eqn = next((e for e in body.eqns if any(v is after for v in e.outvars)), None)
    if eqn is None or eqn.primitive not in (lax.add_p, lax.sub_p):
        return None
    if eqn.primitive is lax.sub_p and eqn.invars[0] is not before:
        return None
    terms = [x for x in eqn.invars if x is not before]
    if len(terms) != 1 or type(terms[0]) is not ir.Literal:
        return None
    value = np.asarray(terms[0].val)
    if value.dtype.kind not in "iu" or value.ndim:
        return None
    return value if eqn.primitive is lax.add_p else -value


def _uses(eqn: ir.JaxprEqn) -> Iterator[Any]:
    """The operands of an equation that index references."""
    params: Any = eqn.params
    if eqn.primitive is dma_start_p:
        parts = zip(split_references(eqn.invars, params["forms"]), params["forms"], strict=True)
        for (ref, positions), (_, transforms) in parts:
            yield from index_uses(ref.aval.shape, transforms, positions)
        return
    ref, *operands = eqn.invars or [None]
    if eqn.primitive is get_p:
        positions = operands
    elif eqn.primitive in (swap_p, addupdate_p):
        positions = operands[1:]
    elif eqn.primitive is masked_load_p:
        _, positions = optional(operands, params["has_mask"], params["has_other"])
    elif eqn.primitive in (masked_store_p, atomic_rmw_p):
        _, positions = optional(operands[1:], params["has_mask"])
    elif eqn.primitive is atomic_cas_p:
        positions = operands[2:]
    else:
        return
    yield from index_uses(ref.aval.shape, params["transforms"], positions)  # pyright: ignore
