"""Parts of error messages: links to pages, descriptions of values, similar names.

While there is no site of pages, a link is a command: ``ricci_ir.explain`` prints the page.
"""

import sys
from collections.abc import Iterable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType

__all__ = ["described_value", "error_link", "explained", "registering", "similar_names"]

# The address of the pages, with a slash at the end. While it is empty, messages name a command.
SITE = ""


def error_link(code: str) -> str:
    """The line that links a page: its address, or a command while the site is missing."""
    if SITE:
        return f"See {SITE}{code}.html"
    from importlib.util import find_spec  # noqa: PLC0415 - lazy: only messages need it

    module = "ricci.errors" if find_spec("ricci") is not None else "ricci_ir"
    return f"See: python -m {module} {code}"


def explained(message: str, code: str) -> str:
    """A message with the link of a page as its last line.

    Args:
      message: the message.
      code: the page's name in ``docs/errors``.

    Example:
      >>> print(explained("add cannot broadcast shapes (2,), (3,).", "shapes"))
      add cannot broadcast shapes (2,), (3,).
      See: python -m ricci... shapes
    """
    link = error_link(code)
    return message if message.endswith(link) else f"{message}\n{link}"


def described_value(x: object) -> str:
    """A value in one short line, and its type.

    Example:
      >>> described_value("relu")
      "'relu', of type str"
    """
    text = " ".join(repr(x).split())
    short = text if len(text) <= 60 else text[:57] + "..."
    cls = type(x)
    name, module = cls.__qualname__, cls.__module__
    is_plain = module in ("builtins", "__main__") or (module.startswith("ricci") and "._" in module)
    return f"{short}, of type {name if is_plain else f'{module}.{name}'}"


_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, partial)


def registering(x: object) -> str:
    """Advice on a value that is not an array: to register its class as a pytree, if it is a user's.

    Functions, also those of Ricci with rules of their own, are static.

    Example:
      >>> registering("relu")
      ''
      >>> registering(abs).partition(":")[0]
      'It is a function'
    """
    cls = type(x)
    root = cls.__module__.partition(".")[0]
    is_known = root in ("ricci", "jaxlib", "numpy") or root.startswith("ricci_")
    if isinstance(x, _FUNCTIONS) or (is_known and callable(x) and not isinstance(x, type)):
        return (
            "It is a function: keep it out of the pytree, or make it static data of the class that "
            "holds it; for models of Equinox its filter_jit and filter_grad do that."
        )
    if cls.__name__ == "ShapeDtypeStruct":
        return (
            "It describes an array, and has no values. Pass it to eval_shape(f, ...) or to "
            "jit(f).lower(...), or pass an array."
        )
    if cls.__name__ == "ndarray":
        return f"Its dtype is {x.dtype}: arrays hold numbers and booleans in native byte order."  # pyright: ignore[reportAttributeAccessIssue]
    if root in sys.stdlib_module_names - {"__main__"} or issubclass(cls, type):
        return ""
    if hasattr(cls, "__dataclass_fields__"):
        line = f"@tree_util.register_dataclass above @dataclass class {cls.__name__}"
        return f"The class is not registered as a pytree. Write {line}."
    line = f"@tree_util.register_pytree_node_class above class {cls.__name__}"
    methods = "tree_flatten, and the classmethod tree_unflatten"
    return f"The class is not registered as a pytree. Write {line}, and give it {methods}."


def similar_names(name: str, names: Iterable[str], count: int = 1) -> list[str]:
    """Return the valid names that are closest to a misspelt one, the most similar first.

    Args:
      name: the misspelt name.
      names: the valid names.
      count: the largest number of names to return.

    Example:
      >>> from ricci_ir import similar_names
      >>> similar_names("axes", ["axis", "keepdims"])
      ['axis']
    """
    import difflib  # noqa: PLC0415 - lazy: only messages need it

    return difflib.get_close_matches(name, names, count)
