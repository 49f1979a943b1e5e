"""A bundle's executables by the keys of their StableHLO modules.

Single operations, and functions whose calls missed the bundle, are traced and lowered as usual;
this cache saves their compilation, which costs most.
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
    """The executables of a bundle.

    Attributes:
      codes: the executables as the runtime serializes them, by key.
      is_new: whether some were added.
    """

    def __init__(self):
        self.codes: dict[str, bytes] = {}
        self.is_new = False
        self._lock = threading.Lock()
        # The latest only, since a call looks up the key of its executable right after compiling.
        self._latest: deque[tuple[LoadedExecutable, str]] = deque(maxlen=64)

    def add(self, codes: Mapping[str, bytes]) -> None:
        """Add the executables of a file."""
        self.codes.update(codes)

    def load_or_compile(
        self,
        text: str | bytes,
        devices: Sequence[Device],
        options: CompileOptions,
        compile: Callable[[CompileOptions], LoadedExecutable],
    ) -> LoadedExecutable:
        """The executable of a StableHLO module: loaded if cached, else compiled and cached."""
        if not is_cacheable(text):
            return compile(options)
        key = program_key(text, devices, options, with_names=True).digest
        code = self.codes.get(key)
        if code is not None:
            try:
                loaded = _load(code, devices, options)
            except JaxRuntimeError:  # the machine differs in a property that is not in the key
                loaded = compile(options)
        else:
            loaded = compile(options)
            try:
                code = loaded.client.serialize_executable(loaded)
            except (JaxRuntimeError, NotImplementedError):  # this runtime cannot serialize
                return loaded
            with self._lock:
                self.codes[key] = code
                self.is_new = True
        self._latest.append((loaded, key))
        return loaded

    def key_of(self, loaded: LoadedExecutable) -> str:
        """The key of an executable that ``load_or_compile`` returned.

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
    device_list = DeviceList(tuple(devices))
    return devices[0].client.deserialize_executable(code, device_list, options)
