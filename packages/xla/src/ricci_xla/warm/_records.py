"""Records of a bundle: executables, each under the key of a call or of its StableHLO module.

Single operations, and functions whose calls missed the bundle, are traced and lowered as usual; the
executables by module save their compilation, which costs most.
"""

import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ricci_ir import no_effects
from ricci_pytree import PyTreeDef, registered_nodes
from ricci_xla import files
from ricci_xla.arrays import ArrayImpl, array_from_host
from ricci_xla.cache._key import program_key
from ricci_xla.cache._persistent import is_cacheable
from ricci_xla.compile import Executable, compile_options
from ricci_xla.compile._call import CompiledProgram
from ricci_xla.devices import Device, DeviceList, JaxRuntimeError
from ricci_xla.devices._native import NATIVE, missing_native_kernels
from ricci_xla.devices._registration import prepare_kernels
from ricci_xla.devices._runtime_types import CompileOptions, LoadedExecutable
from ricci_xla.files._shardings import ArrayRecord, encode_array
from ricci_xla.tracing._program import Program

from ._classes import NoFingerprint
from ._dependencies import ModuleRecord
from ._static_data import StaticData


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


_MOST_CONSTANT_BYTES = 256 * 2**20


class ProgramRecord(msgspec.Struct, frozen=True):
    """The attributes of an ``Executable``, and the structure of the results.

    Attributes:
      devices: the ids of the devices that it runs on.
      kept_args: whether it takes each argument, or drops it as unused.
      kernels: the names of the kernels that must be prepared for it.
      key: the key of its code in the bundle.
      is_large: whether it may need more memory than there is.
    """

    name: str
    arg_names: tuple[str, ...]
    devices: tuple[int, ...]
    in_types: list[files.TypeRecord]
    out_types: list[files.TypeRecord]
    in_shardings: list[files.ShardingRecord]
    out_shardings: list[files.ShardingRecord]
    kept_args: list[bool] = msgspec.field(name="kept")
    committed: bool
    consts: list[ArrayRecord]
    out_tree: files.TreeRecord
    kernels: str
    key: str
    is_large: bool


class CallRecord(msgspec.Struct, frozen=True):
    """A call of a jitted function: its dependencies, and its executable.

    Attributes:
      function: the function's module and qualified name.
      key: the fingerprint of each topic that the executable depends on.
      modules: the modules that it depends on, as positions in the bundle's list.
      seconds: the duration of tracing and compiling.
    """

    function: str
    key: dict[str, bytes]
    modules: tuple[int, ...]
    seconds: float
    program: ProgramRecord


class BundleRecord(msgspec.Struct):
    """A bundle.

    Attributes:
      environment: the environment that all executables depend on, by topic.
      modules: the modules that calls depend on.
      calls: the calls.
      programs: the executables by their keys, as the runtime serializes them.
    """

    environment: dict[str, str]
    modules: list[ModuleRecord]
    calls: list[CallRecord]
    programs: dict[str, bytes]


BUNDLE = files.FileKind("warm-start", 1, BundleRecord, "a bundle for a warm start")

_kernel = re.compile(rf"lapack_|hybrid|{NATIVE}\w*")


def encode_program(
    executable: Executable,
    text: str,
    programs: Programs,
    name: str,
    arg_names: Sequence[str],
    in_tree: PyTreeDef,
    static: object,
    out_tree: PyTreeDef,
    modules: Collection[str],
) -> ProgramRecord:
    """A record of an executable.

    Raises:
      NoFingerprint: if it has a part that cannot be written.
    """
    size = sum(const.nbytes for const in executable.consts)
    if size > _MOST_CONSTANT_BYTES:
        raise NoFingerprint(f"it closes over arrays of {size / 2**20:.0f} MiB. Pass them to it")
    devices = executable.loaded.local_devices()
    try:
        return ProgramRecord(
            name,
            tuple(arg_names),
            tuple(device.id for device in devices),
            [files.encode_type(aval) for aval in executable.in_avals],
            [files.encode_type(aval) for aval in executable.out_avals],
            [files.encode_sharding(s, devices) for s in executable.in_shardings],
            [files.encode_sharding(s, devices) for s in executable.out_shardings],
            executable.used_arguments,
            executable.committed,
            [encode_array(const, devices) for const in executable.consts],
            files.encode_tree(out_tree, _ResultNodes(in_tree, static, modules)),
            " ".join(sorted(set(_kernel.findall(text)))),
            programs.key_of(executable.loaded),
            executable.is_large,
        )
    except (TypeError, ValueError) as error:
        raise NoFingerprint(str(error)) from error


def load_program(
    record: ProgramRecord, programs: Programs, devices: Sequence[Device]
) -> LoadedExecutable:
    """Load the executable of a record into the runtime.

    Args:
      record: the record.
      programs: the bundle's executables.
      devices: the devices of this process.

    Raises:
      FileError: if it needs other devices.
      RuntimeError: if the runtime cannot load it.
    """
    own_devices = _devices(record, devices)
    code = programs.codes.get(record.key)
    if code is None:
        raise files.FileError("its program is not in the bundle")
    if missing_native_kernels(record.kernels.split()):
        raise files.FileError("it calls kernels of ricci-native that are not installed here")
    options = None
    if len(own_devices) > 1:
        options = compile_options(own_devices, num_partitions=len(own_devices))
    return own_devices[0].client.deserialize_executable(
        code, DeviceList(tuple(own_devices)), options
    )


def decode_program(
    record: ProgramRecord,
    loaded: LoadedExecutable,
    devices: Sequence[Device],
    in_tree: PyTreeDef,
    static: object,
    modules: Collection[str],
) -> CompiledProgram:
    """Build the compiled function of a record.

    Args:
      record: the record.
      loaded: the result of ``load_program`` for it.
      devices: the devices of this process.
      in_tree: the structure of the call's arguments.
      static: its static arguments.
      modules: the names of the modules that the call depends on.

    Raises:
      FileError: if this process lacks one of its devices or classes, or the record is inconsistent.
    """
    own_devices = _devices(record, devices)
    prepare_kernels(record.kernels, own_devices[0].platform)
    out_tree = files.decode_tree(record.out_tree, _ResultNodes(in_tree, static, modules))
    _check_counts(record, out_tree)
    executable = Executable(
        loaded,
        [files.decode_type(r) for r in record.in_types],
        [files.decode_type(r) for r in record.out_types],
        in_shardings=[files.decode_sharding(r, own_devices) for r in record.in_shardings],
        out_shardings=[files.decode_sharding(r, own_devices) for r in record.out_shardings],
        used_arguments=record.kept_args,
        committed=record.committed,
        consts=[_decode_array(r, own_devices) for r in record.consts],
        effects=no_effects,
        is_large=record.is_large,
    )
    program = Program.of_executable(
        executable.in_avals, in_tree, out_tree, record.name, record.arg_names
    )
    return CompiledProgram(program, executable)


def _check_counts(record: ProgramRecord, out_tree: PyTreeDef) -> None:
    """Refuse a record whose lists of arguments or of results differ in length."""
    arguments = {len(x) for x in (record.in_types, record.in_shardings, record.kept_args)}
    results = {len(record.out_types), len(record.out_shardings), out_tree.num_leaves}
    if len(arguments) > 1 or len(results) > 1:
        raise files.FileError("its record has different numbers of arguments or of results")


def _devices(record: ProgramRecord, devices: Sequence[Device]) -> list[Device]:
    by_id = {device.id: device for device in devices}
    if not record.devices or any(number not in by_id for number in record.devices):
        raise files.FileError(
            f"it runs on the devices {record.devices}, which are not all available"
        )
    return [by_id[number] for number in record.devices]


def _decode_array(record: ArrayRecord, devices: Sequence[Device]) -> ArrayImpl:
    aval: Any = files.decode_type(record.type)
    try:
        values = np.frombuffer(record.data, aval.dtype).reshape(aval.shape)
    except ValueError as error:
        raise files.FileError(
            f"the record has an array of another size than its type: {error}"
        ) from error
    return array_from_host(values, aval, files.decode_sharding(record.sharding, devices))


class _ResultNodes(files.NodeForms):
    """Forms of the results' nodes: classes by module and name, and their static data.

    Data that is not plain, such as the functions in a training state, can come from the arguments
    only; objects of classes in the modules that the call depends on are built again. Classes are
    looked up in imported modules only: results cannot hold objects of a class that is not imported
    yet.
    """

    def __init__(self, in_tree: PyTreeDef, static: object, modules: Collection[str]):
        super().__init__()
        self._data = StaticData(in_tree, static, self, modules)

    def of_kind(self, kind: type) -> files.NodeForm | None:
        """The form of nodes of a class."""
        if "<locals>" in kind.__qualname__:
            raise TypeError(f"its results hold objects of a class inside of a function, {kind}")
        return self._form(kind)

    def of_name(self, name: str) -> files.NodeForm | None:
        """The form of nodes of a name."""
        module, _, path = name.partition(":")
        value: Any = sys.modules.get(module)
        for part in path.split("."):
            value = getattr(value, part, None)
        return self._form(value) if isinstance(value, type) else None

    def _form(self, kind: type) -> files.NodeForm:
        name = f"{kind.__module__}:{kind.__qualname__}"
        if issubclass(kind, tuple) and kind not in registered_nodes:  # a named tuple
            return files.NodeForm(kind, name, lambda data: b"", lambda data: kind)
        read = lambda data: self._data.decode(msgspec.msgpack.decode(data))
        return files.NodeForm(kind, name, lambda data: self._write(kind, data), read)

    def _write(self, kind: type, data: object) -> bytes:
        try:
            return msgspec.msgpack.encode(self._data.encode(data))
        except TypeError as error:
            raise TypeError(
                f"its results hold a {kind.__qualname__} of its own: {error}"
            ) from error
