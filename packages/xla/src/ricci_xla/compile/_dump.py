"""Dump jaxprs and StableHLO modules to files as they are compiled (``jax_dump_ir_to``)."""

import itertools
import os
import re
from pathlib import Path

from ricci_ir import Jaxpr, config, warn_user
from ricci_stablehlo import without_locations

_folder = config.state("jax_dump_ir_to")
_counter = itertools.count()
_MODES = ("stablehlo", "jaxpr")


def dump_program(name: str, jaxpr: Jaxpr, text: str) -> None:
    """Write a jaxpr or its module to the folder that ``jax_dump_ir_to`` names, if it is set.

    Args:
      name: the function's name.
      jaxpr: its jaxpr.
      text: its StableHLO module, with locations.

    Raises:
      ValueError: if the option is ``"sponge"`` and ``TEST_UNDECLARED_OUTPUTS_DIR`` is not set.
    """
    if not _folder.value:
        return
    folder = _dump_folder(_folder.value)
    file_name = re.sub(r"[^\w.-]", "_", name)
    modes = (config.jax_dump_ir_modes or "").split(",")
    for mode in filter(None, map(str.strip, modes)):
        number = next(_counter)
        if mode == "stablehlo":
            with_locations = config.jax_include_debug_info_in_dumps
            path = folder / f"jax_ir{number:04d}_jit_{file_name}_compile.mlir"
            path.write_text(text if with_locations else without_locations(text))
        elif mode == "jaxpr":
            (folder / f"jax_{number:06d}_{file_name}.jaxpr.txt").write_text(f"{jaxpr}\n")
        else:
            warn_user(
                f"jax_dump_ir_modes names {mode!r}, which is not supported; give "
                f"{' or '.join(_MODES)}, or both with a comma."
            )


def _dump_folder(name: str) -> Path:
    if name == "sponge":
        outputs = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR")
        if not outputs:
            raise ValueError(
                "jax_dump_ir_to is 'sponge', which means the folder that the environment "
                "variable TEST_UNDECLARED_OUTPUTS_DIR names, but that is not set. Name a folder."
            )
        name = outputs
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
