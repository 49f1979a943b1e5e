"""Stacking of arguments and unstacking of results outside of the executable, on CPUs.

``roll`` makes one array of each parameter of all layers, and takes the layers' results out of such
arrays. In the executable, that is an argument, a result and an operation on each for every layer,
so that the time to compile grows with their number. A CPU's arrays are memory that NumPy reads and
writes, so both take place there. The rows of a result share its memory: where a later call gets
them in order, as a training step does with its own parameters, the array is passed without a copy.
"""

import math
from collections.abc import Sequence, Set
from typing import Any

import numpy as np

import ricci_ir as ir
from ricci_pytree import tree_structure
from ricci_xla.arrays import ArrayImpl
from ricci_xla.arrays._donation import name_deleted
from ricci_xla.arrays._placement import array_from_host, array_of_rows, rows_in_place
from ricci_xla.devices import device_mesh, get_default_device
from ricci_xla.meshes import single_device_sharding
from ricci_xla.tracing._program import Program
from ricci_xla.tracing._warm_start_hook import warm_start_hooks

from ._call import CompiledProgram
from ._dispatch import FastPath
from ._place import LEAST_PACKED, Options
from ._value_checks import checks_errors, checks_results

# The least number of elements that a call computes for each argument or result that is left out of
# the executable: Python takes some ten microseconds for one of them, C++ two.
_LEAST_ELEMENTS = 50_000
# Rows of this size are left out whatever the call computes, as copying one takes longer than that.
_LEAST_BYTES = 1 << 17
_ALIGNMENT = 64  # bytes


class Packing(ir.Record):
    """A program whose arguments are stacked, and whose results are unstacked, by its caller.

    Attributes:
      program: the program on stacks, which follow its other arguments; it lacks the constants.
      arguments: the positions of its other arguments.
      stacks: for each stack among its arguments, the positions of the rows.
      results: for each result of the whole, its position among the results of ``program``, and its
        row there, or ``None``.
      unstacked: the positions of the results of ``program`` of which rows are taken.
    """

    program: Program
    arguments: tuple[int, ...]
    stacks: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, int | None], ...]
    unstacked: frozenset[int]


class PackedProgram(CompiledProgram):
    """A compiled program on stacks, to be called with flat arguments that are their rows.

    Args:
      program: the program of the whole.
      packing: the program on stacks.
      compiled: its executable.
      options: the options of the call.
    """

    __slots__ = ("compiled", "options", "packing")

    def __init__(
        self, program: Program, packing: Packing, compiled: CompiledProgram, options: Options
    ):
        super().__init__(program, compiled.executable)
        self.packing: Packing = packing
        self.compiled: CompiledProgram = compiled
        self.options: Options = options

    def call(self, leaves: Sequence[Any]) -> tuple[list[Any], FastPath | None]:
        """Run the executable; C++ cannot make such calls itself."""
        packing = self.packing
        try:
            packed = packed_leaves(packing, leaves)
        except RuntimeError:
            name_deleted(self.program.name, self.program.arg_names, leaves)
            raise
        outs, _ = self.compiled.call(packed)
        committed = self.compiled.executable.committed
        rows = {i: rows_in_place(outs[i], committed) for i in packing.unstacked}
        results = [outs[i] if row is None else rows[i][row] for i, row in packing.results]
        if self.options.donated:
            for i in {i for stack in packing.stacks for i in stack}:
                if self.options.donated[i] and isinstance(leaves[i], ArrayImpl):
                    leaves[i].delete()
        return results, None


def packing_for(program: Program, leaves: Sequence[Any], options: Options) -> Packing | None:
    """Return the program on stacks for a call, or ``None`` if the executable stacks."""
    jaxpr = program.jaxpr
    count = len(program.consts)
    (packing,) = jaxpr.derived(("packing", count), lambda: (_packing(program),))
    if packing is None:
        return None
    unusual = (options.device, device_mesh.value, warm_start_hooks.calls)
    if any(x is not None for x in unusual) or options.keep_unused:
        return None
    if any(map(_is_specified, (options.in_shardings, options.out_shardings))):
        return None
    if any(map(_is_specified, (options.in_layouts, options.out_layouts))):
        return None
    if checks_results() or checks_errors() or ir.debug_key_reuse.value:
        return None
    stacked = [leaves[i] for stack in packing.stacks for i in stack]
    # By identity first: a sharding's hash is computed in Python.
    by_id = {id(x._sharding): x._sharding for x in leaves if type(x) is ArrayImpl}
    shardings = set(by_id.values())
    is_on_cpu = (
        len(shardings) < 2
        and all(s is single_device_sharding(d) for s in shardings for d in s.device_set)
        and all(d.platform == "cpu" for s in shardings for d in s.device_set)
        and get_default_device().platform == "cpu"
    )
    are_arrays = all(type(x) in (ArrayImpl, np.ndarray) for x in stacked)
    return packing if is_on_cpu and are_arrays else None


def _is_specified(of_leaves: Sequence[object] | None) -> bool:
    """Whether a leaf has a sharding or a layout. ``nnx.jit`` passes ``None`` for each of them."""
    return of_leaves is not None and of_leaves.count(None) < len(of_leaves)


def packed_options(packing: Packing, options: Options) -> Options:
    """Return the options of the program on stacks, which takes none of them from its caller."""
    options = options._replace(
        in_shardings=None, out_shardings=None, in_layouts=None, out_layouts=None
    )
    if not options.donated:
        return options
    # A row that is an argument as well is deleted by the caller; no result is left for its memory.
    rows = {i for stack in packing.stacks for i in stack}
    donated = [options.donated[i] and i not in rows for i in packing.arguments]
    return options._replace(donated=(*donated, *(False for _ in packing.stacks)))


def packed_types(packing: Packing, leaves: Sequence[Any]) -> list[Any]:
    """Return arguments that are placed as those of the program on stacks: a row for each stack."""
    rows = ([leaves[i] for i in stack] for stack in packing.stacks)
    representative = lambda xs: next((x for x in xs if getattr(x, "committed", False)), xs[0])
    return [*(leaves[i] for i in packing.arguments), *map(representative, rows)]


def packed_leaves(packing: Packing, leaves: Sequence[Any]) -> list[Any]:
    """Return the arguments of the program on stacks."""
    return [
        *(leaves[i] for i in packing.arguments),
        *(_stack([leaves[i] for i in stack]) for stack in packing.stacks),
    ]


class _Adjacent:
    """Arrays that follow one another in memory, as NumPy sees one array of them.

    Args:
      arrays: the arrays, which live as long as that array.
    """

    __slots__ = ("__array_interface__", "arrays")

    def __init__(self, arrays: Sequence[np.ndarray]):
        self.arrays: Sequence[np.ndarray] = arrays
        first = arrays[0]
        # Dtypes of jaxlib's own are bytes here.
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": (len(arrays) * first.nbytes,),
            "typestr": "|u1",
            "data": (first.__array_interface__["data"][0], True),
        }


def _stack(rows: Sequence[Any]) -> ArrayImpl:
    """Return the array of these rows, in their memory if they are adjacent there."""
    whole = array_of_rows(rows)
    if whole is not None:
        return whole
    arrays = [np.asarray(row) for row in rows]
    first = arrays[0]
    aval: Any = ir.get_aval(rows[0])
    dtype = aval.dtype
    shape = (len(arrays), *first.shape)
    # Some of an array's rows, such as the first half, are adjacent as well: then the stack is a
    # view of their memory, which they keep alive.
    start, size = first.__array_interface__["data"][0], first.nbytes
    if (
        size
        and all(isinstance(row, ArrayImpl) for row in rows)
        and all(
            a.__array_interface__["data"][0] == start + i * size and a.flags.c_contiguous
            for i, a in enumerate(arrays)
        )
    ):
        stacked = np.asarray(_Adjacent(arrays)).view(dtype).reshape(shape)
    else:
        stacked = _aligned_empty(shape, dtype)
        for i, array in enumerate(arrays):
            stacked[i] = array
    # The stack is where its rows are, as the result of an operation on them would be: committed if
    # any of them is.
    device_array = next((row for row in rows if type(row) is ArrayImpl), None)
    sharding = None if device_array is None else device_array._sharding
    committed = any(type(row) is ArrayImpl and row.committed for row in rows)
    aval = aval.resized(shape)
    return array_from_host(stacked, aval, sharding, committed=committed, may_alias=True)


def _aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialized array whose memory the runtime can share, which NumPy's need not be.

    It copies memory that does not start at a multiple of 64 bytes.
    """
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def _packing(program: Program) -> Packing | None:
    """Find the stacks of arguments and the rows that are results, in a program."""
    if program.jaxpr.effects or program.jaxpr.constvars:
        return None
    jaxpr = _without_calls(program.jaxpr)
    if jaxpr is None:
        return None
    count = len(program.consts)
    positions = {var: i for i, var in enumerate(jaxpr.invars[count:])}
    outside = _left_out(jaxpr, positions.keys())
    if sum(map(_row_count, outside)) < LEAST_PACKED:
        return None
    # Without the equations outside, a stack is an argument of the executable instead of its rows,
    # and the rows of a result are taken by the caller. All other equations stay as they are.
    ids = set(map(id, outside))
    stacks: list[tuple[int, ...]] = []
    stack_vars: list[ir.Var] = []
    rows: dict[ir.Var, tuple[ir.Var, int]] = {}
    eqns: list[ir.JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if id(eqn) not in ids:
            eqns.append(eqn)
        elif eqn.primitive.name == "stack":
            stacks.append(tuple(positions[var] for var in eqn.invars))  # pyright: ignore
            stack_vars.append(eqn.outvars[0])
        else:
            (operand,) = eqn.invars
            rows.update((var, (operand, i)) for i, var in enumerate(eqn.outvars))  # pyright: ignore
    outvars: dict[ir.Atom, int] = {}
    results: list[tuple[int, int | None]] = []
    for atom in jaxpr.outvars:
        # The rows of one stack are a single result of the executable, at the place of the first.
        stack, row = rows.get(atom, (atom, None)) if isinstance(atom, ir.Var) else (atom, None)
        results.append((outvars.setdefault(stack, len(outvars)), row))
    # Arguments that only stacks read are not passed themselves.
    read = {*outvars, *(atom for eqn in eqns for atom in eqn.invars)}
    arguments = [i for var, i in positions.items() if var in read]
    invars = [*jaxpr.invars[:count], *(jaxpr.invars[count + i] for i in arguments), *stack_vars]
    inner = jaxpr.replace(invars=invars, eqns=eqns, outvars=list(outvars))
    names = program.arg_names
    arg_names = [names[i] for i in (*arguments, *(stack[0] for stack in stacks))] if names else []
    return Packing(
        program._replace(
            jaxpr=inner,
            consts=(),
            in_tree=tree_structure((tuple(range(len(invars) - count)), {})),
            out_tree=tree_structure(list(range(len(outvars)))),
            arg_names=tuple(arg_names),
            result_info=(),
            miss=None,
        ),
        tuple(arguments),
        tuple(stacks),
        tuple(results),
        frozenset(i for i, row in results if row is not None),
    )


def _left_out(jaxpr: ir.Jaxpr, arguments: Set[ir.Var]) -> list[ir.JaxprEqn]:
    """The equations that the executable leaves out.

    They stack arguments for a loop, or take its results apart that nothing else reads.

    Args:
      jaxpr: the jaxpr of the whole.
      arguments: its arguments other than constants.
    """
    read = {atom for eqn in jaxpr.eqns for atom in eqn.invars}
    lengths = _loop_lengths(jaxpr.eqns)
    left_out: list[ir.JaxprEqn] = []
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        stacks = name == "stack" and not eqn.params["axis"] and arguments >= set(eqn.invars)
        unstacks = name == "rows" and read.isdisjoint(eqn.outvars)
        if (stacks or unstacks) and _row_count(eqn) in lengths:
            aval: Any = eqn.invars[0].aval
            left_out += [eqn] if isinstance(aval.dtype, np.dtype) else []  # not random keys
    # Python takes longer than C++ for each array that it passes. So a call must compute enough for
    # that not to matter, or a row be so large that the copy within the executable takes longer.
    if _elements(jaxpr.eqns) < _LEAST_ELEMENTS * sum(map(_row_count, left_out)):
        return [eqn for eqn in left_out if _row_bytes(eqn) >= _LEAST_BYTES]
    return left_out


def _row_count(eqn: ir.JaxprEqn) -> int:
    """The number of rows that an equation stacks or takes out of a stack."""
    return max(len(eqn.invars), len(eqn.outvars))


def _row_bytes(eqn: ir.JaxprEqn) -> int:
    """The size of a row that an equation stacks or takes out of a stack."""
    aval: Any = (eqn.invars if eqn.primitive.name == "stack" else eqn.outvars)[0].aval
    return aval.size * aval.dtype.itemsize


def _loop_lengths(eqns: Sequence[ir.JaxprEqn]) -> set[int]:
    """The numbers of steps of the loops among equations and in the jaxprs that they hold."""
    lengths: set[int] = set()
    for eqn in eqns:
        if "length" in eqn.params:
            lengths.add(eqn.params["length"])
        for jaxpr in ir.jaxprs_in_params(eqn.params):
            lengths |= _loop_lengths(jaxpr.eqns)
    return lengths


def _elements(eqns: Sequence[ir.JaxprEqn]) -> int:
    """The elements that equations compute, with those of the jaxprs that they hold."""
    total = 0
    for eqn in eqns:
        inner = sum(_elements(jaxpr.eqns) for jaxpr in ir.jaxprs_in_params(eqn.params))
        outputs = sum(math.prod(getattr(var.aval, "shape", ())) for var in eqn.outvars)
        total += inner * eqn.params.get("length", 1) if inner else outputs
    return total


def _without_calls(jaxpr: ir.Jaxpr) -> ir.Jaxpr | None:
    """Return a jaxpr with the calls inlined that stack or unstack; ``None`` if nothing does."""
    if not _has_stacks(jaxpr):
        return None
    names: dict[ir.Var, ir.Atom] = {}
    eqns = _inlined(jaxpr, names)
    return jaxpr.replace(eqns=eqns, outvars=[_read(names, atom) for atom in jaxpr.outvars])


def _read(names: dict[ir.Var, ir.Atom], atom: ir.Atom) -> ir.Atom:
    return names.get(atom, atom) if isinstance(atom, ir.Var) else atom


def _inlined(jaxpr: ir.Jaxpr, names: dict[ir.Var, ir.Atom]) -> list[ir.JaxprEqn]:
    """The equations of a jaxpr without calls; ``names`` are the variables of those, replaced."""
    eqns: list[ir.JaxprEqn] = []
    for eqn in jaxpr.eqns:
        operands = [_read(names, atom) for atom in eqn.invars]
        if _is_inlined(eqn):
            called = eqn.params["jaxpr"]
            names.update(zip(called.invars, operands, strict=True))
            eqns += _inlined(called, names)
            results = [_read(names, atom) for atom in called.outvars]
            names.update(zip(eqn.outvars, results, strict=True))
        else:
            eqns.append(eqn.reading(operands))
    return eqns


def _has_stacks(jaxpr: ir.Jaxpr) -> bool:
    """Whether an equation stacks or unstacks, or calls a jaxpr of which one does."""
    return any(eqn.primitive.name in ("stack", "rows") or _is_inlined(eqn) for eqn in jaxpr.eqns)


def _is_inlined(eqn: ir.JaxprEqn) -> bool:
    """Whether an equation calls a jaxpr that stacks or unstacks."""
    if eqn.primitive is not ir.staged_call.call or any(eqn.params.get("donated_invars", ())):
        return False
    jaxpr = eqn.params["jaxpr"]
    return not jaxpr.constvars and _has_stacks(jaxpr)
