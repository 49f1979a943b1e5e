"""Calls of a compiled function: move and check its arguments, run its executable."""

from collections.abc import Sequence
from typing import Any

from ricci_ir import debug_key_reuse, get_aval, mark_used_keys, no_execution
from ricci_xla.arrays._device_put import block_until_ready
from ricci_xla.arrays._donation import name_deleted
from ricci_xla.arrays._layout import has_layout, layout_of
from ricci_xla.tracing._program import Program

from ._dispatch import FastPath, fast_path, shard_args, tree_of_arrays
from ._executable import Executable
from ._value_checks import check_errors, check_results, checks_errors, checks_results


class CompiledProgram:
    """A traced function with its executable, to be called with flat arguments.

    Args:
      program: the traced function.
      executable: the executable.
    """

    __slots__ = ("executable", "program")

    def __init__(self, program: Program, executable: Executable):
        self.program: Program = program
        self.executable: Executable = executable

    @property
    def is_provisional(self) -> bool:
        """Whether a fully optimized executable will replace this one."""
        return self.executable.optimized is not None

    def call(self, leaves: Sequence[Any]) -> tuple[list[Any], FastPath | None]:
        """Run the executable.

        Returns the flat results, and the entry for the C++ dispatcher's cache, or ``None`` if each
        call must go through Python: if results are checked or are not plain arrays, or if the
        executable has effects.
        """
        executable = self.executable
        used = executable.used_arguments
        program = self.program
        if no_execution.value:
            raise RuntimeError(
                f"jit({program.name}) was called, but the option jax_no_execution forbids running "
                "programs."
            )
        if not executable.is_loaded:
            raise RuntimeError(
                f"{program.name} was compiled for devices of a topology, which are described and "
                "not attached, so it cannot be called. Ask it for as_text(), memory_analysis() and "
                "cost_analysis()."
            )
        try:
            arrays = shard_args(
                [s for s, is_used in zip(executable.in_shardings, used, strict=True) if is_used],
                [x for x, is_used in zip(leaves, used, strict=True) if is_used],
            )
        # jaxlib's error for a deleted array does not name the argument.
        except RuntimeError:
            name_deleted(program.name, program.arg_names, leaves)
            raise
        arranged = executable.arranged(arrays)
        arguments = [*program.consts, *leaves]
        checks_keys = program.has_equations and debug_key_reuse.value
        if checks_keys:
            mark_used_keys.call(program.jaxpr, program.name, arguments, ())
        checked = program.has_equations and checks_errors()
        if checked:
            check_errors(program.jaxpr, program.name, arguments)
        results = executable.execute(arranged)
        # On CPUs memory is allocated when the computation runs: an error must come from this call.
        if executable.fills_memory:
            block_until_ready(results)
        if checks_keys:
            mark_used_keys.call(program.jaxpr, program.name, arguments, results)
        if checks_results():
            jaxpr = program.jaxpr if program.has_equations else None
            check_results(jaxpr, program.name, arguments, results)
            return results, None
        # C++ neither threads tokens nor checks values.
        if checked or executable.effects:
            return results, None
        # Nor does it mark keys as used.
        if checks_keys and any(hasattr(x, "physical") for x in (*leaves, *results)):
            return results, None
        # Nor does it raise the failures of checks.
        if executable.host_checks is not None:
            return results, None
        # C++ would not change the layouts of arguments, nor replace a provisional executable.
        if arranged is not arrays or self.is_provisional:
            return results, None
        out_tree = program.out_tree
        if executable.has_extended_results:
            out_tree = tree_of_arrays(out_tree, results)
        return results, None if out_tree is None else fast_path(executable, out_tree)

    def check_types(self, leaves: Sequence[Any]) -> None:
        """Raise ``TypeError`` unless the arguments have the types of the executable."""
        names = self.program.arg_names
        for i, (aval, leaf) in enumerate(zip(self.executable.in_avals, leaves, strict=True)):
            leaf_aval: Any = get_aval(leaf)
            if leaf_aval.shape != aval.shape or leaf_aval.dtype != aval.dtype:
                raise TypeError(
                    f"{self.program.name} was compiled for argument "
                    f"{names[i] if i < len(names) else i} of type {aval.str_short()}, but was "
                    f"called with {leaf_aval.str_short()}. Call the jitted function instead, which "
                    "compiles for new types."
                )

    def check_placement(self, leaves: Sequence[Any]) -> None:
        """Raise ``ValueError`` if arguments are committed to another sharding or layout."""
        executable, names = self.executable, self.program.arg_names
        mismatches: list[str] = []
        layouts = iter(executable.in_layouts)
        for i, (leaf, expected) in enumerate(zip(leaves, executable.in_shardings, strict=True)):
            if not executable.used_arguments[i]:
                continue
            layout = next(layouts, None)
            # Uncommitted arrays are moved to where the executable needs them.
            if not getattr(leaf, "committed", False):
                continue
            if not has_layout(leaf, layout):
                name = names[i] if i < len(names) else i
                actual = layout_of(getattr(leaf, "physical", leaf))
                mismatches.append(
                    f"argument {name} of type {leaf.aval.str_short()}\n"
                    f"  compiled for {layout or 'the usual layout'}\n  called with  {actual}\n"
                )
            if not leaf.sharding.is_equivalent_to(expected, getattr(leaf, "physical", leaf).ndim):
                name = names[i] if i < len(names) else i
                mismatches.append(
                    f"argument {name} of type {leaf.aval.str_short()}\n"
                    f"  compiled for {expected}\n  called with  {leaf.sharding}\n"
                )
        if mismatches:
            more = f"and {len(mismatches) - 2} more\n" if len(mismatches) > 2 else ""
            raise ValueError(
                f"{self.program.name} was called with arguments that are committed to other "
                f"shardings or layouts than it was compiled for:\n{''.join(mismatches[:2])}{more}"
                "Move them with device_put, or call the jitted function, which compiles again."
            )
