"""Clients of the runtime: one for each platform, created when a device is first requested."""

import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from ricci_ir import UNSET, State, config, warn_user

from . import _factories as factories
from . import _plugins
from ._cpu_client import make_cpu_client
from ._jaxlib import runtime
from ._jaxlib_options import unguarded
from ._platforms import ALIASES, PLATFORMS, is_available, not_installed, requested_platforms
from ._registration import introduce_array_types
from ._runtime_types import Client, Device

__all__ = ["backend_xla_version", "backends", "backends_are_made", "clear_backends"]
__all__ += ["default_device", "get_backend", "get_default_device", "register_backend_cache"]
__all__ += ["register_backend_factory", "register_plugin", "set_distributed_client"]

default_device: State = config.state("jax_default_device")

# The options that clients are created with, and whether setting one afterwards is an error (else it
# is a warning).
_CLIENT_OPTIONS = {
    "jax_platforms": False,
    "jax_platform_name": False,
    "jax_num_cpu_devices": True,
    "jax_cpu_enable_async_dispatch": False,
    "jax_cpu_collectives_implementation": False,
    "jax_cpu_get_local_topology_timeout_minutes": True,
    "jax_cpu_get_global_topology_timeout_minutes": True,
    "jax_cuda_visible_devices": False,
    "jax_pjrt_client_create_options": False,
}
_PLATFORM_OPTIONS = ("jax_platforms", "jax_platform_name")


def _check_default_device(value: object, local: bool) -> None:
    if isinstance(value, str) and value not in PLATFORMS and value not in _plugins.find_plugins():
        raise ValueError(
            f"option jax_default_device takes a device such as devices()[0], or the name of a "
            f"platform, which is one of {', '.join((*PLATFORMS, *_plugins.find_plugins()))}; "
            f"got {value!r}"
        )


default_device.on_change(_check_default_device)


class _Clients:
    """The clients created so far, in order of preference, and why others could not be."""

    def __init__(self):
        self.lock = threading.RLock()
        self.by_platform: dict[str, Client] | None = None
        self.first: Device | None = None  # this process's first device of the default platform
        self.options: dict[str, Any] = {}  # the values that the clients were created with
        self.failed: dict[str, str] = {}
        self.distributed: dict[str, Any] = {}
        self.forked = False  # whether this process was forked after clients were created

    def all(self) -> dict[str, Client]:
        """The clients by platform, created at the first call."""
        clients = self.by_platform
        if clients is None:
            check_not_forked()
            # Checked again under the lock: another thread may have made the clients meanwhile.
            with self.lock:
                if self.by_platform is None:
                    with self.distributed.get("waiting", nullcontext)():
                        clients = self.make()
                    first = next(iter(clients.values())).local_devices()[0]
                    self.options = {name: config.read(name) for name in _CLIENT_OPTIONS}
                    with unguarded():  # the user may forbid transfers before making an array
                        introduce_array_types(first)
                    self.by_platform, self.first = clients, first
                clients = self.by_platform
        return clients

    def make(self) -> dict[str, Client]:
        """Create the clients of the platforms that the options select, by default of all."""
        self.failed.clear()
        plugins = _plugins.find_plugins()
        requested = requested_platforms()
        if requested is None or not all(is_available(name, plugins) for name in requested):
            _plugins.plugin_modules.initialize(_PLUGIN_FUNCTIONS)
        if requested is None:
            for message in _plugins.plugin_modules.failed.values():
                warnings.warn(message, stacklevel=2)
            clients = {}
            for name, plugin in _plugins.likely_plugins(plugins).items():
                try:
                    clients[name] = _plugins.make_plugin_client(plugin, self.distributed)
                except RuntimeError as error:
                    self.failed[name] = str(error)
                    if name == "tpu" and not _plugins.has_tpu():
                        continue  # only environment variables announce one
                    warnings.warn(
                        f"The {name} plugin {plugin.library} is installed but could not be "
                        f"started, so it is not used: {error}\nWith "
                        f"jax_platforms={name!r} this is an error, with jax_platforms='cpu' it is "
                        "not tried.",
                        stacklevel=2,
                    )
            if "tpu" not in plugins and _plugins.has_tpu():
                warnings.warn(
                    "This machine has a TPU, which is not used, since libtpu is not installed. "
                    "Install it with `pip install 'ricci[tpu]'`.",
                    stacklevel=2,
                )
            # Last, so that an accelerator is the default platform, and the CPU is always there.
            clients["cpu"] = make_cpu_client(self.distributed)
            return self.with_registered(clients) if factories.factories else clients
        clients = {}
        for name in requested:
            for platform in ALIASES.get(name, (name,)):
                if platform == "cpu":
                    clients[platform] = make_cpu_client(self.distributed)
                elif platform in factories.factories:
                    clients[platform] = self.make_requested(
                        platform, factories.factories[platform].make
                    )
                elif platform in plugins:
                    plugin = plugins[platform]
                    make = partial(_plugins.make_plugin_client, plugin, self.distributed)
                    clients[platform] = self.make_requested(platform, make)
            if not any(platform in clients for platform in ALIASES.get(name, (name,))):
                raise RuntimeError(not_installed(name, plugins))
        return clients

    def with_registered(self, clients: dict[str, Client]) -> dict[str, Client]:
        """Return the clients and those of registered platforms, by descending priority."""
        ranked = [
            (factories.PRIORITIES.get(name, factories.PLUGIN_PRIORITY), name, c)
            for name, c in clients.items()
        ]
        ranked += factories.make_registered(self.failed)
        ranked.sort(key=lambda row: -row[0])
        return {name: client for _, name, client in ranked}

    def make_requested(self, platform: str, make: Callable[[], Client | None]) -> Client:
        """Create a client that the options select by name, so that failing is an error."""
        try:
            client = make()
            if client is None:
                raise RuntimeError("its factory returned None")
        except RuntimeError as error:
            raise RuntimeError(
                f"Unable to initialize backend {platform!r}: {error}\n"
                f"It was asked for by jax_platforms={config.jax_platforms!r} (environment "
                "variables RICCI_PLATFORMS and JAX_PLATFORMS)."
            ) from error
        return client


_clients = _Clients()


def check_not_forked() -> None:
    """Raise an error in a process that was forked from one that had clients already.

    The clients' threads do not exist in the child, so its computations would never end.

    Raises:
      RuntimeError: if this is such a process.
    """
    if _clients.forked:
        raise RuntimeError(
            "this process was forked from one that had used devices already. Their threads do not "
            "exist here, so a computation would wait forever. Start processes with "
            "multiprocessing.get_context('spawn'), or fork before the first array is made."
        )


def check_computed(arrays: Iterable[Any]) -> None:
    """Raise an error if an array was still being computed when this process was forked.

    Args:
      arrays: arrays that are about to be waited for.

    Raises:
      RuntimeError: if one is not ready in a forked process, where it never will be.
    """
    if _clients.forked and not all(array.is_deleted() or array.is_ready() for array in arrays):
        check_not_forked()


def note_fork() -> bool:
    """Drop the clients in the child of a fork; return whether there were any."""
    if _clients.by_platform is None:
        return False
    # The runtime's threads do not exist in the child, so that its clients would wait forever.
    _clients.lock = threading.RLock()  # another thread may have held it
    _clients.by_platform, _clients.first, _clients.forked = None, None, True
    return True


def _is_default_platform(requested: list[str] | None) -> bool:
    """Whether the first requested platform is the default platform of the existing clients."""
    # Setting the platforms to those in use changes nothing, and needs no warning.
    default = next(iter(_clients.by_platform or ()), None)
    return bool(requested) and default in ALIASES.get(requested[0], (requested[0],))


def _warn_if_set_late(name: str, strict: bool) -> None:
    """Warn or raise when an option that clients are created with is set afterwards.

    Args:
      name: the option's name.
      strict: whether to raise an error; else it is a warning.
    """

    def check(value: object, local: bool) -> None:
        if _clients.by_platform is None or value is UNSET or value == _clients.options.get(name):
            return
        if name in _PLATFORM_OPTIONS and _is_default_platform(requested_platforms()):
            return
        message = (
            f"the option {name}={value!r} comes too late: the devices were made with "
            f"{_clients.options.get(name)!r}. Set it before the first array is made or device "
            "asked for."
        )
        if strict:
            raise RuntimeError(message)
        warn_user(message)

    config.on_change(name, check)


for _name, _strict in _CLIENT_OPTIONS.items():
    _warn_if_set_late(_name, _strict)


def set_distributed_client(
    client: Client,
    process_id: int,
    num_processes: int,
    waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> None:
    """Make the clients part of a cluster. Call this before the first device is asked for.

    Args:
      client: the connected client that jaxlib's ``get_distributed_runtime_client`` returned.
      process_id: the number of this process, from 0.
      num_processes: the number of processes.
      waiting: makes a context in which this process waits for the others to make their clients.

    Raises:
      RuntimeError: if clients have been made already.
    """
    with _clients.lock:
        if _clients.by_platform is not None:
            raise RuntimeError(
                "the cluster must be joined before the first array is made or device asked for; "
                "call initialize() at the start of the program."
            )
        _clients.distributed = {
            "client": client,
            "process_id": process_id,
            "num_processes": num_processes,
            "waiting": waiting,
        }


def backends_are_made() -> bool:
    """Whether any client has been created."""
    return _clients.by_platform is not None


def clear_backends() -> None:
    """Drop all clients. The next use creates new ones, with the options of that time."""
    with _clients.lock:
        _clients.by_platform = _clients.first = None
    factories.clear_backend_caches()


def register_backend_factory(
    name: str,
    factory: Callable[[], Client | None],
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Callable[..., Any] | None = None,
    c_api: Any = None,
) -> None:
    """Add a platform, whose client a function creates when devices are first requested.

    It is available unless ``jax_platforms`` selects others. Existing clients are not changed:
    register platforms at the start of a program, or call ``clear_backends``.

    Args:
      name: the platform's name.
      factory: creates jaxlib's client for it.
      priority: the platform of the highest priority is the default; that of CPUs is 0, those
        of plugins are 400 and more.
      fail_quietly: whether a failure is reported only when the platform is requested by name.
      experimental, make_topology, c_api: accepted for compatibility, and ignored.

    Raises:
      RuntimeError: if the platform's client has been made already.
    """
    with _clients.lock:
        if name in (_clients.by_platform or {}):
            raise RuntimeError(
                f"the client of the platform {name!r} has been made already. Register its factory "
                "before the first device is asked for, or call clear_backends first."
            )
        factories.factories[name] = factories.BackendFactory(factory, priority, fail_quietly)


def register_plugin(
    plugin_name: str,
    *,
    priority: int = factories.PLUGIN_PRIORITY,
    library_path: str | None = None,
    options: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    c_api: object = None,
    factory: Callable[[], Client | None] | None = None,
    make_topology: Callable[..., Any] | None = None,
) -> Any:
    """Load a PJRT plugin, and add its platform; modules in ``jax_plugins`` call this.

    Args:
      plugin_name: the name of the platform.
      priority: the platform of the highest priority is the default.
      library_path: the shared object.
      options: options of the client, or a function that returns them.
      c_api: the plugin's C API, in place of a shared object.
      factory: makes the client; by default the plugin's C API does.
      make_topology: accepted for compatibility, and ignored.

    Returns:
      The plugin's C API, or ``None`` if there is only a factory.

    Raises:
      ValueError: if there is neither a shared object nor a C API nor a factory.
      JaxRuntimeError: if the shared object cannot be loaded.
    """
    has_library = library_path is not None or c_api is not None
    if not has_library and factory is None:
        raise ValueError(
            f"register_plugin: the plugin {plugin_name!r} needs library_path, the path of its "
            "shared object, or c_api or factory."
        )
    # A library is loaded once for a process.
    if has_library and not runtime.pjrt_plugin_loaded(plugin_name):
        runtime.load_pjrt_plugin(plugin_name, library_path, c_api)

    def make() -> Client:
        _plugins.load_plugin(plugin_name, None)
        chosen = options() if callable(options) else options
        coordinator = _clients.distributed.get("client")
        settings = {**(chosen or {}), **_plugins.client_options()}
        return _plugins.make_client(plugin_name, settings, coordinator)

    register_backend_factory(plugin_name, factory or make, priority=priority, fail_quietly=False)
    return runtime.get_pjrt_plugin(plugin_name) if has_library else None


# The functions that modules of plugins import from ``jax._src.xla_bridge``.
_PLUGIN_FUNCTIONS = {
    "register_backend_factory": register_backend_factory,
    "register_plugin": register_plugin,
}


def register_backend_cache(cache: factories.BackendCache, for_what: str) -> None:
    """Have ``clear_backends`` clear a cache of a library.

    Args:
      cache: has a method ``cache_clear``.
      for_what: a description of its contents.

    Example:
      >>> from functools import lru_cache
      >>> from ricci.extend.backend import register_backend_cache
      >>> @lru_cache
      ... def table_of(device):
      ...     return {}
      >>> register_backend_cache(table_of, "tables of devices")
    """
    factories.caches.setdefault(for_what, []).append(cache)


def backend_xla_version(platform: str | Client | None = None) -> int | None:
    """The version number of a client's XLA, or ``None`` if the client does not report it.

    Args:
      platform: the platform's name, or a client; by default the default platform.

    Returns:
      An int or ``None``.

    Raises:
      RuntimeError: if there is no such platform.

    Example:
      >>> from ricci.extend.backend import backend_xla_version
      >>> version = backend_xla_version("cpu")
    """
    return getattr(get_backend(platform), "xla_version", None)


def backends() -> dict[str, Client]:
    """The client of each platform by name, the default platform first.

    Example:
      >>> from ricci.extend.backend import backends
      >>> "cpu" in backends()
      True
    """
    return dict(_clients.all())


def get_backend(platform: str | Client | None = None) -> Client:
    """The client of a platform.

    Args:
      platform: the platform's name (``"gpu"`` selects CUDA or ROCm), or ``None`` for the
        default platform. A client is returned unchanged.

    Returns:
      The client.

    Raises:
      RuntimeError: if there is no such platform.

    Example:
      >>> from ricci.extend.backend import get_backend
      >>> get_backend("cpu").platform
      'cpu'
    """
    if platform is not None and not isinstance(platform, str):
        return platform
    clients = _clients.all()
    if platform is None:
        return next(iter(clients.values()))
    for name in ALIASES.get(platform, (platform,)):
        if name in clients:
            return clients[name]
    reasons = [
        f"\n{name} is installed but could not be started: {_clients.failed[name]}"
        for name in ALIASES.get(platform, (platform,))
        if name in _clients.failed
    ]
    raise RuntimeError(
        f"no backend named {platform!r}; there are {', '.join(clients)}.{''.join(reasons)}"
    )


def get_default_device() -> Device:
    """The default device of new arrays: ``jax_default_device``, else the first local device.

    Raises:
      RuntimeError: if ``jax_default_device`` names a platform that is not available.

    Example:
      >>> import ricci
      >>> from ricci.extend.backend import get_default_device
      >>> get_default_device() == ricci.devices()[0]
      True
    """
    chosen = default_device.value
    if chosen is None:
        first = _clients.first
        return get_backend().local_devices()[0] if first is None else first
    return get_backend(chosen).local_devices()[0] if isinstance(chosen, str) else chosen
