"""A pytest plugin: within a process XLA compiles a module once.

Tests that run a function in many forms compile the same modules again and again: two of three in
the tests of custom rules and of `HiPrim`, which takes half of their processor time. (In the tests
of packages one of twelve is equal to an earlier one.) Tracing, lowering, Ricci's caches, their
events and their contracts are as without the plugin; only the compiler is not asked again.

`nox -s integration-cpu` loads it; `nox -s integration-full` does not. A test that counts the
executables in memory is marked ``frees_executables``.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from hashlib import blake2b
from typing import Any

import pytest
from jaxlib import _jax  # pyright: ignore[reportAttributeAccessIssue]

MOST = 512  # executables that are held: each has memory maps, of which a process may have 65,530
# A compilation of these calls Python: to partition an operation, or to show a sharding.
CALLING_PYTHON = ("CustomSPMDPartitioning", "InspectSharding")


class CompiledOnce:
    """A method of clients that compiles by another one, with a cache of executables.

    Modules that are not text, that call functions of Python, or whose compilation raises an error,
    are compiled each time.

    Args:
      compile: the other method.
      most: the number of executables that the cache holds.

    Attributes:
      is_enabled: whether the cache is used.
      executables: the last executables.

    >>> compile = CompiledOnce(lambda client, text, devices, options: [text])
    >>> class Options:
    ...     def SerializeAsString(self):
    ...         return b""
    >>> first = compile("client", "module", (0,), Options())
    >>> compile("client", "module", (0,), Options()) is first
    True
    >>> compile("client", "module", (1,), Options()) is first
    False
    """

    def __init__(self, compile: Callable[..., Any], most: int = MOST):
        self._compile = compile
        self._most: int = most
        self._lock: threading.Lock = threading.Lock()
        self.is_enabled: bool = True
        self.executables: OrderedDict[Any, Any] = OrderedDict()

    def __call__(self, client: Any, *args: Any, **kwargs: Any) -> Any:
        is_text = len(args) == 3 and isinstance(args[0], str) and not kwargs
        if not (self.is_enabled and is_text) or any(name in args[0] for name in CALLING_PYTHON):
            return self._compile(client, *args, **kwargs)
        text, devices, options = args
        digest = blake2b(text.encode()).digest()
        key = (client, digest, devices, options.SerializeAsString())
        with self._lock:
            if key in self.executables:
                self.executables.move_to_end(key)
                return self.executables[key]
        executable = self._compile(client, *args)
        with self._lock:
            self.executables[key] = executable
            if len(self.executables) > self._most:
                self.executables.popitem(last=False)
        return executable


compile_once = CompiledOnce(_jax.Client.compile_and_load)


def pytest_sessionstart() -> None:
    """Replace the method of jaxlib's clients for the session."""
    _jax.Client.compile_and_load = lambda client, *args, **kwargs: compile_once(
        client, *args, **kwargs
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test that counts executables without the cache."""
    compile_once.is_enabled = "frees_executables" not in item.keywords
    if not compile_once.is_enabled:
        compile_once.executables.clear()
    return (yield)
