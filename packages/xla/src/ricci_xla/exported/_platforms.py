"""Merging of modules for several platforms into one that branches on a platform index."""

from collections.abc import Sequence

from ricci_ir import AbstractValue
from ricci_stablehlo import tensor_type, without_locations

from ._symbols import renamed

_MAIN = "  func.func public @main("
_INDEX = '%platform: tensor<i32> {jax.global_constant = "_platform_index"}'


def for_platforms(
    texts: dict[str, str], in_avals: Sequence[AbstractValue], out_avals: Sequence[AbstractValue]
) -> str:
    """Merge modules into one whose first argument is the position of the platform it runs on.

    Each platform's ``@main`` becomes a private function, and the merged ``@main`` calls one of them
    by ``stablehlo.case``. If all modules are equal, the argument is unused.

    Args:
      texts: the module of each platform.
      in_avals, out_avals: the types of the arguments and results of ``@main``, tokens included.
    """
    first, *others = texts.values()
    start = first.index(_MAIN) + len(_MAIN)
    separator = "" if first[start] == ")" else ", "
    if all(text == first for text in others):
        return f"{first[:start]}{_INDEX}{separator}{first[start:]}"
    # Each module has its own numbering of locations, which would clash.
    texts = {platform: without_locations(text) for platform, text in texts.items()}
    first = next(iter(texts.values()))
    start = first.index(_MAIN) + len(_MAIN)
    signature = first[start : first.index("\n", start)]
    args = [f"%arg{i}" for i in range(len(in_avals))]
    in_types = ", ".join(map(tensor_type, in_avals))
    out_types = [tensor_type(aval) for aval in out_avals]
    params = ", ".join(f"{a}: {tensor_type(t)}" for a, t in zip(args, in_avals, strict=True))
    branches: list[str] = []
    functions: list[str] = []
    meshes: list[str] = []
    results = [f"%r#{i}" for i in range(len(out_types))] if len(out_types) > 1 else ["%r"]
    results = results[: len(out_types)]
    assigned = (
        "" if not out_types else "%r = " if len(out_types) == 1 else f"%r:{len(out_types)} = "
    )
    returned = f" {', '.join(results)} : {', '.join(out_types)}" if out_types else ""
    for platform, text in texts.items():
        suffix = f"_{platform}"
        lines = renamed(text, lambda name, suffix=suffix: name + suffix).splitlines()
        main = f"{_MAIN[:-1]}{suffix}("
        for line in lines[1:-1]:
            if line.startswith("  sdy.mesh "):
                meshes.append(line)
            elif line.startswith(main):
                outs = f"({', '.join(out_types)})"
                functions.append(f"  func.func private @main{suffix}({params}) -> {outs} {{")
            else:
                functions.append(line)
        branches.append(
            f"      {assigned}func.call @main{suffix}({', '.join(args)}) : ({in_types}) -> "
            f"({', '.join(out_types)})\n      stablehlo.return{returned}"
        )
    body = "\n    }, {\n".join(branches)
    # The attributes of the wrapper's arguments name meshes by their symbols in the first module.
    first_suffix = f"_{next(iter(texts))}"
    signature = renamed(signature, lambda name: name + first_suffix)
    return "\n".join(
        [
            first[: first.index("\n")],
            *meshes,
            f"{_MAIN}{_INDEX}{separator}{signature}",
            f'    {assigned}"stablehlo.case"(%platform) ({{',
            body,
            f"    }}) : (tensor<i32>) -> ({', '.join(out_types)})",
            f"    return{returned}",
            "  }",
            *functions,
            "}",
            "",
        ]
    )
