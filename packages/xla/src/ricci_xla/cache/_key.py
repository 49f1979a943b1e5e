"""The key of an executable: all inputs that its machine code depends on, and nothing else.

A key consists of parts, so that a miss can be explained by the part that differs. There are no
paths, line numbers or process ids among them, and no ids of single devices: an executable for one
device can be loaded on any.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ricci_stablehlo import without_locations
from ricci_xla.devices import machine_of
from ricci_xla.devices._jaxlib import jaxlib_version, runtime
from ricci_xla.devices._runtime_types import CompileOptions, Device

__all__ = ["program_key", "ProgramKey"]


class ProgramKey(NamedTuple):
    """The key of an executable.

    Attributes:
      name: the module's name, such as ``jit_step``.
      parts: the inputs that the executable depends on, by topic.
      notes: readable descriptions of the parts, which are not part of the digest.
      digest: the digest of all parts.
    """

    name: str
    parts: dict[str, str]
    notes: dict[str, str]
    digest: str


# Flags of dumps, logging and the client, which do not change executables.
_FLAGS_WITHOUT_EFFECT: dict[str, Any] = {
    "xla_detailed_logging": True,
    "xla_dump_compress_protos": False,
    "xla_dump_disable_metadata": False,
    "xla_dump_fusion_visualization": False,
    "xla_dump_hlo_as_dot": False,
    "xla_dump_hlo_as_html": False,
    "xla_dump_hlo_as_long_text": False,
    "xla_dump_hlo_as_proto": False,
    "xla_dump_hlo_as_text": False,
    "xla_dump_hlo_as_url": False,
    "xla_dump_hlo_module_re": "",
    "xla_dump_hlo_pass_re": "",
    "xla_dump_hlo_pipeline_re": "",
    "xla_dump_hlo_snapshots": False,
    "xla_dump_max_hlo_modules": -1,
    "xla_dump_module_metadata": False,
    "xla_dump_to": "",
    "xla_force_host_platform_device_count": 1,
    "xla_gpu_cuda_data_dir": "",
    "xla_gpu_dump_autotune_logs_to": "",
    "xla_gpu_dump_autotune_results_to": "",
    "xla_gpu_kernel_cache_file": "",
    "xla_gpu_per_fusion_autotune_cache_dir": "",
}
_module_name = re.compile(r'^module @("(?:[^"\\]|\\.)*"|[^ {(]+)', re.MULTILINE)
_source = re.compile(r'^#loc[0-9]+ = loc\("(?:[^"\\]|\\.)*"\(', re.MULTILINE)
_result_name = re.compile(r'jax\.result_info = "(?:[^"\\]|\\.)*"(?:, )?')
_NOTE_LENGTH = 2000


def program_key(
    text: str | bytes,
    devices: Sequence[Device],
    options: CompileOptions,
    *,
    with_names: bool = False,
) -> ProgramKey:
    """The key of the executable of a StableHLO module.

    Args:
      text: the module's assembly, or its bytecode.
      devices: the devices that it is compiled for.
      options: the options of compilation.
      with_names: whether the names of operations in profiles are part of the key; else a module
        that differs in these alone has the same key, unless it has source lines.
    """
    client = devices[0].client
    name, signature = "program", ""
    if isinstance(text, str):
        match = _module_name.search(text)
        if match:
            name = match[1].strip('"')
            # Source lines were requested to be read in the executable's profile.
            with_names = with_names or _source.search(text, 0, match.start()) is not None
        text, signature = _without_result_names(text)
    parts = {
        "program": _digest(_module_bytes(text, with_names)),
        "options": _digest(_options_that_matter(options, len(devices))),
        "devices": _place(devices, options),
        "platform": f"{devices[0].platform}: {devices[0].device_kind}",
        "machine": machine_of(client),
        "runtime": client.platform_version,
        "jaxlib": jaxlib_version,
    }
    notes = {
        "types": signature[:_NOTE_LENGTH],
        "compiler_options": str(sorted(options.env_option_overrides)),
        "xla_flags": " ".join(_flags_that_matter()),
        "compiler": _compiler_settings(options),
    }
    whole = "\n".join(f"{topic}={value!r}" for topic, value in parts.items())
    return ProgramKey(name, parts, notes, _digest(whole.encode()))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _without_result_names(text: str) -> tuple[str, str]:
    """Remove the user's names of results from a module; return it and the types of ``@main``."""
    start = text.find("@main(")
    if start < 0:
        return text, ""
    end = text.find("\n", start)
    main = _result_name.sub("", text[start:end]).replace(" {}", "")
    return f"{text[:start]}{main}{text[end:]}", main.removeprefix("@main").removesuffix(" {")


def _module_bytes(text: str | bytes, with_names: bool) -> bytes:
    if isinstance(text, bytes):
        return text
    return (text if with_names else without_locations(text)).encode()


def _options_that_matter(options: CompileOptions, count: int) -> bytes:
    copy: Any = CompileOptions.ParseFromString(options.SerializeAsString())
    build = copy.executable_build_options
    copy.env_option_overrides = sorted(copy.env_option_overrides)
    if count == 1:  # the device is chosen when the program is loaded
        first = runtime.DeviceAssignment.create(np.zeros((1, 1), np.int32))
        copy.device_assignment = build.device_assignment = first
    for name, value in _FLAGS_WITHOUT_EFFECT.items():
        if hasattr(build.debug_options, name):  # each jaxlib has its own
            setattr(build.debug_options, name, value)
    return copy.SerializeAsString()


def _place(devices: Sequence[Device], options: CompileOptions) -> str:
    """The number of devices, with the ids of several, which collectives are compiled for."""
    if len(devices) == 1:
        return "1"
    ids = " ".join(f"{device.process_index}.{device.id}" for device in devices)
    return f"{options.num_replicas}x{options.num_partitions}: {ids}"


def _flags_that_matter() -> list[str]:
    flags = os.environ.get("XLA_FLAGS", "").split()
    return sorted(f for f in flags if f.lstrip("-").split("=")[0] not in _FLAGS_WITHOUT_EFFECT)


def _compiler_settings(options: CompileOptions) -> str:
    """The compiler's settings by Ricci's options, for explanations."""
    build = options.executable_build_options
    debug = build.debug_options
    return (
        f"optimization_level={build.optimization_level} "
        f"memory_fitting_level={build.memory_fitting_level} "
        f"backend_optimization_level={debug.xla_backend_optimization_level} "
        f"disabled_passes={debug.xla_disable_hlo_passes!r} "
        f"profile_version={options.profile_version}"
    )
