"""The layouts of a program's arguments and results, where they are not the devices' usual ones."""

from collections.abc import Sequence

from ricci_ir import Jaxpr, rule_table
from ricci_xla.arrays._layout import (
    AutoLayout,
    Layout,
    physical_layout,
)
from ricci_xla.devices._runtime_types import LoadedExecutable

from ._program_devices import Layouts, Options

# For primitives whose results have a layout: ``rule(**params)`` gives it.
layout_rules = rule_table("layout", required=False)


def result_layouts(jaxpr: Jaxpr, options: Options) -> Layouts:
    """Return the layout of each result: the one that ``jit`` was given, or its operation's.

    Raises:
      ValueError: if a layout does not fit the result.
    """
    given = options.out_layouts or (None,) * len(jaxpr.outvars)
    wanted = {id(atom) for atom in jaxpr.outvars}
    made: dict[int, Layout] = {}
    for eqn in jaxpr.eqns:
        if eqn.primitive in layout_rules:
            made.update((id(v), layout_rules[eqn.primitive](**eqn.params)) for v in eqn.outvars)
    found: list[Layout | AutoLayout | None] = []
    for atom, layout in zip(jaxpr.outvars, given, strict=True):
        if layout is None and id(atom) in wanted:
            layout = made.get(id(atom))
        if isinstance(layout, Layout):
            aval = atom.aval
            layout.check_compatible_aval(aval.shape)  # pyright: ignore[reportAttributeAccessIssue]
            layout = physical_layout(layout, aval)
        found.append(layout)
    return tuple(found)


def required_layouts(
    loaded: LoadedExecutable, kept: Sequence[int], constants: int, asked: Layouts
) -> tuple[Layout | None, ...]:
    """Return the layout that each argument must have, those chosen by the compiler included."""
    if not asked:
        return ()
    layouts = loaded.get_parameter_layouts()
    layouts = layouts[len(layouts) - len(kept) :]  # tokens come first
    return tuple(
        None if asked[i] is None else Layout.from_pjrt_layout(layout)
        for i, layout in zip(kept, layouts, strict=True)
        if i >= constants
    )
