"""Write the names of the primitives for editors: the stub of ``ricci.extend.core.primitives``.

The module itself finds its names among what is registered. The stub may lag behind it: a name that
it lacks has a type all the same.
"""

import sys
from pathlib import Path

from ricci.extend.core import primitives

STUB = Path(__file__).parents[1] / "packages/ricci/src/ricci/extend/core/primitives.pyi"
HEAD = """# Written by tools/primitive_names.py.
from ricci_compat.call_primitives import create_call_primitive as create_call_primitive
from ricci_compat.call_primitives import eval_jaxpr_transpose as eval_jaxpr_transpose
from ricci_compat.call_primitives import (
    register_call_primitive_rules as register_call_primitive_rules,
)
from ricci_ir import Primitive

def __getattr__(name: str) -> Primitive: ...
"""


def stub() -> str:
    """The text of the stub: a line for each primitive."""
    names = [name for name in dir(primitives) if name.endswith("_p")]
    return "\n".join([HEAD, *(f"{name}: Primitive" for name in names), ""])


if __name__ == "__main__":
    STUB.write_text(stub())
    sys.stdout.write(f"{STUB.name}: {len(dir(primitives))} primitives\n")
