"""The public namespaces of Ricci, in the groups in which the reference shows them."""

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import ricci
from ricci_ir import OPTIONS, Primitive

# Groups of namespaces with a line on each; what is below a namespace is listed with it.
GROUPS: dict[str, dict[str, str]] = {
    "Transformations and arrays": {
        "ricci": "Transformations of functions, arrays, devices, settings.",
        "ricci.numpy": "The NumPy API on arrays of Ricci.",
        "ricci.lax": "The operations that programs consist of, control flow, collectives.",
        "ricci.random": "Random keys and what is drawn from them.",
        "ricci.nn": "Activations, layers' functions, initializers.",
        "ricci.scipy": "Functions of SciPy.",
        "ricci.image": "Resizing images.",
        "ricci.ops": "Sums and extremes over segments.",
        "ricci.tree": "Pytrees, under short names.",
        "ricci.tree_util": "Pytrees, under JAX's names, with paths and registration.",
        "ricci.flatten_util": "A pytree as one vector.",
        "ricci.dtypes": "Dtypes and their promotion.",
        "ricci.dlpack": "Arrays shared with other libraries.",
        "ricci.typing": "Types for annotations.",
        "ricci.errors": "The classes of errors.",
    },
    "Derivatives, batches and memory of one's own": {
        "ricci.custom_derivatives": "Functions with derivatives of their own.",
        "ricci.custom_batching": "Functions with batching rules of their own.",
        "ricci.ad": "What a pullback is asked for, and gives, in the place of a cotangent.",
        "ricci.ad_checkpoint": "Recomputing instead of storing.",
        "ricci.checkpoint_policies": "Which results `checkpoint` stores.",
        "ricci.ref": "References: mutable arrays.",
        "ricci.memory": "The memories in which devices hold arrays.",
    },
    "Many devices and hosts": {
        "ricci.sharding": "Meshes of devices, and how arrays lie on them.",
        "ricci.parallel": "What the compiler makes of programs on several devices.",
        "ricci.distributed": "Several processes as one computation.",
    },
    "Looking into programs": {
        "ricci.debug": "Printing from compiled programs, breakpoints, callbacks.",
        "ricci.stages": "The stages that `jit` goes through.",
        "ricci.profiler": "Profiles of what runs.",
        "ricci.profile": "The command that writes a page on where a script's time goes.",
        "ricci.monitoring": "Listeners of events and durations.",
        "ricci.kernels": "Checks, pictures and block sizes of kernels over blocks of arrays.",
        "ricci.testing": "Checks of derivatives, and contracts of what is compiled.",
        "ricci.test_util": "Checks of derivatives, under JAX's name.",
    },
    "Files and foreign code": {
        "ricci.export": "Traced functions as files.",
        "ricci.ffi": "Compiled functions of other languages.",
        "ricci.cache": "The command that shows and prunes the compilation cache.",
    },
    "What may still change": {
        "ricci.experimental": "What may still change.",
        "ricci.example_libraries": "Models and optimizers written in a few lines.",
    },
    "For those who extend Ricci": {
        "ricci.core": "Types and tracers, and evaluating programs.",
        "ricci.extend": "What programs that extend Ricci build on.",
        "ricci.interpreters": "Rules of primitives that are defined outside of Ricci.",
        "ricci.api_util": "Flattening calls as `jit` does.",
        "ricci.tools": "What single places that programs run at ask for.",
    },
}

# What the modules of these, which only wrap a package's names, do not say of themselves.
BELOW = {
    "ricci.numpy.fft": "Fourier transforms.",
    "ricci.numpy.linalg": "Linear algebra.",
    "ricci.lax.linalg": "Decompositions and solvers, as operations.",
    "ricci.nn.initializers": "Initial values of parameters.",
    "ricci.scipy.cluster.vq": "Vector quantization.",
    "ricci.scipy.fft": "Cosine transforms.",
    "ricci.scipy.integrate": "Integrals of samples.",
    "ricci.scipy.interpolate": "Interpolation on grids.",
    "ricci.scipy.linalg": "Linear algebra: functions of matrices, factors, solvers.",
    "ricci.scipy.ndimage": "Images of any dimension.",
    "ricci.scipy.optimize": "Minimizing functions.",
    "ricci.scipy.signal": "Convolutions, and short-time Fourier transforms.",
    "ricci.scipy.sparse.linalg": "Iterative solvers of linear systems.",
    "ricci.scipy.special": "Special functions.",
    "ricci.scipy.stats": "Distributions and statistics.",
}


@dataclass(slots=True)
class Entry:
    """A public name: where it is found, and what it is.

    Attributes:
        namespace: the dotted name of its namespace.
        name: its name there.
        value: the object.
        home: the dotted name under which it is described, which may be another than its own.
    """

    namespace: str
    name: str
    value: Any
    home: str = ""

    @property
    def dotted(self) -> str:
        """The whole dotted name."""
        return f"{self.namespace}.{self.name}"

    @property
    def kind(self) -> str:
        """What it is: class, function, setting, primitive or value."""
        if _is_alias(self.value):
            return "value"
        if inspect.isclass(self.value):
            return "class"
        if isinstance(self.value, Primitive):
            return "primitive"
        if option(self) is not None:
            return "setting"
        named = getattr(self.value, "__doc__", None) and hasattr(self.value, "__name__")
        return "function" if callable(self.value) and named else "value"


@dataclass(slots=True)
class Namespace:
    """A public module with the names in it, and the namespaces below it."""

    name: str
    module: ModuleType
    entries: list[Entry] = field(default_factory=list)
    below: list[str] = field(default_factory=list)


def _is_alias(value: Any) -> bool:
    """Whether it is another name of types, such as ``tuple[int, ...]`` or ``int``."""
    plain = inspect.isclass(value) and value.__module__ in ("builtins", "typing")
    return plain or typing.get_origin(value) is not None


def option(entry: Entry) -> Any:
    """The row of the table of options that a context manager sets, or None."""
    name = getattr(entry.value, "name", None)
    return OPTIONS.get(name) if isinstance(name, str) else None


def _modules() -> Iterator[tuple[str, ModuleType]]:
    """The public modules, by file first, then those that are made without one."""
    yield "ricci", ricci
    for found in pkgutil.walk_packages(ricci.__path__, "ricci."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            module = importlib.import_module(found.name)
            yield found.name, module
            for name in getattr(module, "__all__", ()):
                inner, dotted = getattr(module, name), f"{found.name}.{name}"
                if _is_made(inner) and inner.__name__ == dotted:
                    yield dotted, inner


def _is_made(value: Any) -> bool:
    """Whether it is a module without a file, such as ``ricci.scipy.stats.norm``."""
    return inspect.ismodule(value) and not hasattr(value, "__file__")


def _names(module: ModuleType) -> list[str]:
    """What a module shows: what it exports, and what it loads when it is asked for."""
    shown = [name for name in dir(module) if not name.startswith("_")]
    lazily = shown if "__getattr__" in vars(module) else []
    return sorted({*getattr(module, "__all__", lazily), *lazily}, key=str.lower)


def collect() -> dict[str, Namespace]:
    """Return every public namespace by its name, with the place where each name is described.

    An object that several namespaces show is described in the first of them, in the order of
    ``GROUPS``; the others link to it.
    """
    order = [name for group in GROUPS.values() for name in group]
    modules = dict(_modules())
    tops = {top: index for index, top in enumerate(order)}

    def rank(name: str) -> tuple[int, str]:
        top = ".".join(name.split(".")[:2])
        return tops.get(top, len(tops)), name

    found: dict[str, Namespace] = {}
    homes: dict[int, Entry] = {}
    for name in sorted(modules, key=rank):
        namespace = found[name] = Namespace(name, modules[name])
        if "." in name:
            found[name.rpartition(".")[0]].below.append(name)
        for key in _names(modules[name]):
            value = getattr(modules[name], key)
            if inspect.ismodule(value):
                continue
            entry = Entry(name, key, value)
            home = entry
            if entry.kind in ("class", "function"):
                same = inspect.unwrap(value) if entry.kind == "function" else value
                home = homes.setdefault(id(same), entry)
            entry.home = home.dotted
            namespace.entries.append(entry)
    return found
