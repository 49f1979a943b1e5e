"""Compiled programs by the key of what they were compiled from.

Single operations and functions that were traced anew are traced and written as StableHLO as ever;
what costs most, compiling, is answered from here.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from ricci_xla.cache._key import program_key
from ricci_xla.cache._persistent import is_cacheable
from ricci_xla.devices._runtime_types import (
    CompileOptions,
    Device,
    DeviceList,
    JaxRuntimeError,
    LoadedExecutable,
)

from ._fingerprint import NoFingerprint


class Programs:
    """The compiled programs of a bundle.

    Attributes:
      codes: the programs as the runtime serializes them, by key.
      is_new: whether some were added.
    """

    def __init__(self):
        self.codes: dict[str, bytes] = {}
        self.is_new = False
        self._lock = threading.Lock()
        # A call asks for the key of its program as soon as that is compiled.
        self._latest: deque[tuple[LoadedExecutable, str]] = deque(maxlen=64)

    def add(self, codes: Mapping[str, bytes]) -> None:
        """Add programs that a file holds."""
        self.codes.update(codes)

    def compiled(
        self,
        text: str | bytes,
        devices: Sequence[Device],
        options: CompileOptions,
        compile: Callable[[CompileOptions], LoadedExecutable],
    ) -> LoadedExecutable:
        """The program of a StableHLO module: loaded if it is here, else compiled and kept."""
        if not is_cacheable(text):
            return compile(options)
        key = program_key(text, devices, options, with_names=True).digest
        code = self.codes.get(key)
        if code is not None:
            try:
                loaded = _load(code, devices, options)
            except JaxRuntimeError:  # compiled for a machine that differs in what no key says
                loaded = compile(options)
        else:
            loaded = compile(options)
            try:
                code = loaded.client.serialize_executable(loaded)
            except (JaxRuntimeError, NotImplementedError):  # this runtime serializes none
                return loaded
            with self._lock:
                self.codes[key] = code
                self.is_new = True
        self._latest.append((loaded, key))
        return loaded

    def key_of(self, loaded: LoadedExecutable) -> str:
        """The key of a program that was compiled or loaded here.

        Raises:
          NoFingerprint: if it was not.
        """
        for other, key in tuple(self._latest):
            if other is loaded:
                return key
        raise NoFingerprint("the runtime does not serialize it, or its compiler calls Python")


def _load(
    code: bytes, devices: Sequence[Device], options: CompileOptions | None
) -> LoadedExecutable:
    where = DeviceList(tuple(devices))
    return devices[0].client.deserialize_executable(code, where, options)
