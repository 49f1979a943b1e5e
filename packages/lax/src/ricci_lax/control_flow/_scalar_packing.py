"""Scalar packing: a scan over many scalars becomes a scan over a few vectors.

A loop that carries dozens of scalars spends its time on starting tiny operations, and on slicing
and storing one number at a time. Packing rewrites the body of a scan:

1. Scalars of the carry, or of the scanned slices, that have one type and the same uses become the
   lanes of one vector.
2. The equations are sorted into levels: those of one level do not depend on each other.
3. Equations of one level that apply the same primitive to lanes of the same vectors become one,
   by the primitive's batching rule. A batching rule gives each lane the result of the scalar
   equation, so that the packed body computes the same results as the original.
4. The body stays as it is if no equations are joined, or if more scalar equations are left alone
   than are joined: each of them would have to take its operands out of a vector.

A packed body is not packed again.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import ricci_ir as ir
from ricci_batching import Axis, batch_rules, batched_at
from ricci_lax.shapes import concatenate, index_in_dim, slice_in_dim
from ricci_lax.staged_calls._staged_call import inlined
from ricci_lax.structure._broadcasting import expand_dims

from ._scan_programs import sections

# A vector has at least this many scalars; at least this many equations are joined.
_SCALARS = 8
_OPERATIONS = 4

Groups = tuple[tuple[int, ...], ...]


class Packing(ir.TupleRecord):
    """A body whose scalars are packed.

    Attributes:
      jaxpr: the body; in each section of its arguments and results the packed vectors come first.
      carry, xs, ys: for each vector, the positions of its scalars in the original section.
    """

    jaxpr: ir.Jaxpr
    carry: Groups
    xs: Groups
    ys: Groups


def packing_of(jaxpr: ir.Jaxpr, num_consts: int, num_carry: int) -> Packing | None:
    """The packed form of a scan's body, cached on it; ``None`` if there is little to gain."""
    return jaxpr.derived(
        _cache_key(num_consts, num_carry), lambda: (_pack(jaxpr, num_consts, num_carry),)
    )[0]


def _cache_key(num_consts: int, num_carry: int) -> tuple[str, int, int]:
    return "packing", num_consts, num_carry


def _pack(jaxpr: ir.Jaxpr, num_consts: int, num_carry: int) -> Packing | None:
    if jaxpr.effects:
        return None
    scalars = sum(aval.shape == () for aval in jaxpr.in_avals)  # pyright: ignore
    if scalars < _SCALARS:
        return None
    # Scalars inside of nested calls are lanes, too.
    jaxpr = inlined(jaxpr)
    _, carry_vars, xs_vars = sections(jaxpr.invars, num_consts, num_carry)
    levels = _levels(jaxpr)
    uses = _uses(levels)
    carry, xs = (_groups(variables, uses) for variables in (carry_vars, xs_vars))
    lanes = {
        id(variables[i]): (vector, lane)
        for vector, (variables, group) in enumerate(
            [*((carry_vars, g) for g in carry), *((xs_vars, g) for g in xs)]
        )
        for lane, i in enumerate(group)
    }
    steps, places = _vectorized(levels, lanes, len(carry) + len(xs))
    # An operation that stays single has to slice its operands out of vectors. With more of these
    # than joined operations the packed body would be the longer one.
    single = sum(len(step) == 1 and _is_scalar(step[0]) for step in steps)
    joined = sum(len(step) for step in steps if len(step) > 1)
    if not joined or single > joined:
        return None
    ys = _groups_by_vector(jaxpr.outvars[num_carry:], places)

    def body(*args: ir.Array) -> list[Any]:
        consts, carries, slices = sections(args, num_consts, len(_packed(carry_vars, carry)))
        values = _Lanes([*carries[: len(carry)], *slices[: len(xs)]], lanes)
        plain = [
            *zip(jaxpr.invars, consts, strict=False),
            *zip(_others(carry_vars, carry), carries[len(carry) :], strict=True),
            *zip(_others(xs_vars, xs), slices[len(xs) :], strict=True),
            *zip(jaxpr.constvars, jaxpr.consts, strict=True),
        ]
        values.scalars.update((id(v), x) for v, x in plain)
        with ir.SettingsSwitch() as switch:
            for step in steps:
                switch.to(step[0].settings)
                values.run(step)
        outs, collected = jaxpr.outvars[:num_carry], jaxpr.outvars[num_carry:]
        return [
            *(values.vector([outs[i] for i in group]) for group in carry),
            *map(values.read, _others(outs, carry)),
            *(values.vector([collected[i] for i in group]) for group in ys),
            *map(values.read, _others(collected, ys)),
        ]

    carry_avals = _packed(carry_vars, carry)
    in_avals = [*jaxpr.in_avals[:num_consts], *carry_avals, *_packed(xs_vars, xs)]
    packed = ir.trace_to_jaxpr(body, in_avals, jaxpr.debug_info)
    # A packed body is not packed again.
    packed.derived(_cache_key(num_consts, len(carry_avals)), lambda: (None,))
    return Packing(packed, carry, xs, ys)


def _groups(variables: Sequence[Any], uses: dict[int, Any]) -> Groups:
    """The positions of scalars that have one type and the same uses, group by group."""
    alike = defaultdict(list)
    for i, var in enumerate(variables):
        # Scalars that the same primitives read at the same levels are lanes of operations that can
        # be joined.
        if var.aval.shape == () and not isinstance(var.aval.dtype, ir.ExtendedDType):
            alike[var.aval, tuple(uses[id(var)])].append(i)
    return tuple(tuple(group) for group in alike.values() if len(group) >= _SCALARS)


def _groups_by_vector(variables: Sequence[Any], places: dict[int, tuple[int, int]]) -> Groups:
    """The positions of scalars that are lanes of one vector, in the order of the lanes."""
    together = defaultdict(list)
    for i, var in enumerate(variables):
        if id(var) in places:
            vector, lane = places[id(var)]
            together[vector].append((lane, i))
    return tuple(
        tuple(i for _, i in sorted(group)) for group in together.values() if len(group) >= _SCALARS
    )


def _others(values: Sequence[Any], groups: Groups) -> list[Any]:
    grouped = {i for group in groups for i in group}
    return [x for i, x in enumerate(values) if i not in grouped]


def _packed(variables: Sequence[Any], groups: Groups) -> list[Any]:
    """The types of variables, those of each group as one vector, ahead of the others."""
    return [
        *(variables[group[0]].aval.resized((len(group),)) for group in groups),
        *(v.aval for v in _others(variables, groups)),
    ]


def pack(values: Sequence[Any], groups: Groups, axis: int) -> list[Any]:
    """The arrays of each group, stacked along a new axis; then the arrays in no group."""
    stack = lambda group: concatenate([expand_dims(values[i], (axis,)) for i in group], axis)
    return [*map(stack, groups), *_others(values, groups)]


def unpack(values: Sequence[Any], groups: Groups, axis: int) -> list[Any]:
    """The inverse of ``pack``."""
    count = len(values) - len(groups) + sum(map(len, groups))
    lanes = {
        i: index_in_dim(vector, lane, axis, keepdims=False)
        for vector, group in zip(values, groups, strict=False)
        for lane, i in enumerate(group)
    }
    others = iter(values[len(groups) :])
    return [lanes[i] if i in lanes else next(others) for i in range(count)]


# Operations


def _is_scalar(eqn: ir.JaxprEqn) -> bool:
    atoms = (*eqn.invars, *eqn.outvars)
    return all(getattr(a.aval, "shape", None) == () for a in atoms) and bool(eqn.invars)


def _levels(jaxpr: ir.Jaxpr) -> list[list[ir.JaxprEqn]]:
    """The equations by level: each depends only on equations of lower levels."""
    depth: dict[int, int] = {}
    levels: list[list[ir.JaxprEqn]] = []
    for eqn in jaxpr.eqns:
        level = max((depth.get(id(a), 0) for a in eqn.invars), default=0)
        depth.update((id(v), level + 1) for v in eqn.outvars)
        if level == len(levels):
            levels.append([])
        levels[level].append(eqn)
    return levels


def _uses(levels: Sequence[Sequence[ir.JaxprEqn]]) -> dict[int, list[Any]]:
    """The uses of each variable: the level, the primitive, and the operand's position."""
    uses: dict[int, list[Any]] = defaultdict(list)
    for level, eqns in enumerate(levels):
        for eqn in eqns:
            for place, atom in enumerate(eqn.invars):
                uses[id(atom)].append((level, eqn.primitive.name, place))
    return uses


def _vectorized(
    levels: Sequence[Sequence[ir.JaxprEqn]], places: dict[int, tuple[int, int]], vectors: int
) -> tuple[list[list[ir.JaxprEqn]], dict[int, tuple[int, int]]]:
    """The steps of the packed body, lists of equations to join; and the lane of each scalar.

    Steps follow the levels, so that a step comes after the steps it depends on.
    """
    places = dict(places)
    steps = []
    for level in levels:
        # The equations of a level do not depend on each other, so that any of them can be joined.
        alike = defaultdict(list)
        for eqn in level:
            alike[_kind(eqn, places)].append(eqn)
        for kind, eqns in alike.items():
            if kind is None or len(eqns) < _OPERATIONS:
                steps.extend([eqn] for eqn in eqns)
                continue
            # In the order of their operands' lanes: then the operand is a vector as it is, or one
            # slice.
            eqns.sort(key=lambda eqn: [places.get(id(a), (0, 0))[1] for a in eqn.invars])
            steps.append(eqns)
            places.update((id(e.outvars[0]), (vectors, lane)) for lane, e in enumerate(eqns))
            vectors += 1
    return steps, places


def _kind(eqn: ir.JaxprEqn, places: dict[int, tuple[int, int]]) -> tuple[Any, ...] | None:
    """The key by which equations are joined; ``None`` for one that is not joined."""
    if (
        eqn.primitive.multiple_results
        or eqn.settings is not None
        or not _is_scalar(eqn)
        or isinstance(batch_rules[eqn.primitive], ir.unsupported)
        or not any(id(a) in places for a in eqn.invars)
    ):
        return None
    try:
        params = tuple(eqn.params.items())
        hash(params)
    except TypeError:
        return None
    return eqn.primitive, params, *(_source(a, places) for a in eqn.invars)


def _source(atom: ir.Atom, places: dict[int, tuple[int, int]]) -> tuple[Any, ...]:
    """The source of an operand: a literal, a value shared by all lanes, or a vector."""
    if type(atom) is ir.Literal:
        return "literal", atom.aval, str(atom.val)
    place = places.get(id(atom))
    return ("shared", id(atom)) if place is None else ("lane", place[0])


class _Lanes:
    """The values of a body's variables, as they are computed: scalars, and lanes of vectors."""

    def __init__(self, vectors: Sequence[Any], places: dict[int, tuple[int, int]]):
        self.scalars: dict[int, Any] = {}
        self.vectors = list(vectors)
        self.places = dict(places)

    def read(self, atom: ir.Atom) -> ir.Array:
        """The value of a variable by itself."""
        if type(atom) is ir.Literal:
            return atom.operand()
        key = id(atom)
        if key not in self.scalars:
            vector, lane = self.places[key]
            self.scalars[key] = index_in_dim(self.vectors[vector], lane, keepdims=False)
        return self.scalars[key]

    def vector(self, atoms: Sequence[Any]) -> ir.Array:
        """A vector of the values of variables; consecutive lanes of a vector are one slice."""
        pieces = []
        i = 0
        while i < len(atoms):
            vector, lane = self.places.get(id(atoms[i]), (None, 0))
            if vector is None:
                pieces.append(expand_dims(self.read(atoms[i]), (0,)))
                i += 1
                continue
            end = i + 1
            while end < len(atoms) and self.places.get(id(atoms[end])) == (vector, lane + end - i):
                end += 1
            whole = self.vectors[vector]
            if (lane, end - i) != (0, whole.shape[0]):
                whole = slice_in_dim(whole, lane, lane + end - i)
            pieces.append(whole)
            i = end
        return pieces[0] if len(pieces) == 1 else concatenate(pieces, 0)

    def run(self, eqns: Sequence[ir.JaxprEqn]) -> None:
        """Compute one equation, or several equations as one by their batching rule."""
        primitive, params = eqns[0].primitive, eqns[0].params
        if len(eqns) == 1:
            result = primitive.bind(*map(self.read, eqns[0].invars), **params)
            results = result if primitive.multiple_results else [result]
            self.scalars.update(zip(map(id, eqns[0].outvars), results, strict=True))
            return
        axis = Axis(len(eqns))
        args, dims = [], []
        for operands in zip(*(eqn.invars for eqn in eqns), strict=True):
            lanes = id(operands[0]) in self.places
            args.append(self.vector(operands) if lanes else self.read(operands[0]))
            dims.append(0 if lanes else None)
        # Equations of one kind apply one operation to different lanes: a batch, for which the
        # primitive has a rule.
        result, dim = batch_rules[primitive](axis, args, dims, **params)
        self.places.update(
            (id(eqn.outvars[0]), (len(self.vectors), lane)) for lane, eqn in enumerate(eqns)
        )
        self.vectors.append(batched_at(result, dim, axis, 0))
