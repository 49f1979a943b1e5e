"""Detection of the cluster that a process belongs to, from environment variables.

`CLUSTERS` has a row for each kind of environment: the variables that mark it, and a reader for each
field of a `Membership`. `detect` fills in the fields that the caller left out, by, in this order:

1. variables that name a field: ``RICCI_NUM_PROCESSES``, or ``JAX_NUM_PROCESSES``, and so on;
2. the first row of `CLUSTERS` whose variables are set, or the row that the caller names.
"""

import os
import re
import socket
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, final

Environment = Mapping[str, str]

# Jobs of one user may share a machine, so the port follows from the job. JAX takes these ports too.
_FIRST_PORT = 61440
_PORTS = 4096
_TPU_PORT = 8482
_METADATA_SECONDS = 5.0
_NEEDED = ("coordinator_address", "num_processes", "process_id")


@final
@dataclass(frozen=True, slots=True)
class Membership:
    """The place of a process in a cluster; ``None`` for unknown fields.

    Attributes:
      coordinator_address: ``HOST:PORT`` at which process 0 listens.
      num_processes: the number of processes.
      process_id: the number of this process, from 0.
      local_device_ids: the GPUs of this machine that the process uses, by their numbers; ``None``
        for all.
    """

    coordinator_address: str | None = None
    num_processes: int | None = None
    process_id: int | None = None
    local_device_ids: tuple[int, ...] | None = None


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """A kind of environment, and its readers.

    Attributes:
      title: its name in messages.
      marks: the variables that are all set in such an environment only; empty, if it is
        read only when its name is given.
      advice: how to start processes so that the environment is complete.
      coordinator_address, num_processes, process_id, local_device_ids: the readers. A reader
        raises ``KeyError`` with the variable that is missing.
    """

    title: str
    marks: tuple[str, ...]
    advice: str
    coordinator_address: Callable[[Environment], str]
    num_processes: Callable[[Environment], int]
    process_id: Callable[[Environment], int]
    local_device_ids: Callable[[Environment], tuple[int, ...] | None] = lambda _: None


def detect(
    partial: Membership, method: str | None = None, environment: Environment = os.environ
) -> Membership:
    """Fill in fields of this process's membership from the environment.

    Args:
      partial: the fields that the caller passed, which take precedence.
      method: the kind of environment to read, a key of `CLUSTERS`; ``"deactivate"`` for none; by
        default the one whose variables are set.
      environment: the variables.

    Returns:
      The membership. Unknown fields are ``None``.

    Raises:
      ValueError: if a variable that the environment should have is missing or invalid.

    Example:
      >>> from ricci_parallel.processes._clusters import Membership, detect
      >>> variables = {"OMPI_MCA_orte_hnp_uri": "1531577321.0;tcp://10.0.0.7:34911",
      ...              "OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "3",
      ...              "OMPI_COMM_WORLD_LOCAL_RANK": "1"}
      >>> detect(Membership(), environment=variables)  # doctest: +NORMALIZE_WHITESPACE
      Membership(coordinator_address='10.0.0.7:62624', num_processes=8, process_id=3,
                 local_device_ids=(1,))
    """
    if method is not None and method != "deactivate" and method not in CLUSTERS:
        raise ValueError(
            f"cluster_detection_method={method!r} is not known; expected one of "
            f"{', '.join(map(repr, CLUSTERS))}, or 'deactivate'."
        )
    named = _named(partial, environment)
    if method == "deactivate" or all(_variable(field, environment) for field in _NEEDED):
        return named
    cluster = CLUSTERS[method] if method is not None else _present(environment)
    return named if cluster is None else _fill(named, cluster, environment)


def _present(environment: Environment) -> Cluster | None:
    for cluster in CLUSTERS.values():
        if cluster.marks and all(environment.get(mark) for mark in cluster.marks):
            return cluster
    return None


def _fill(partial: Membership, cluster: Cluster, environment: Environment) -> Membership:
    """Read the unset fields from one kind of environment."""
    values: dict[str, Any] = {}
    complete = all(getattr(partial, field) is not None for field in _NEEDED)
    for field in fields(Membership):
        if getattr(partial, field.name) is not None:
            continue
        try:
            values[field.name] = getattr(cluster, field.name)(environment)
        except (KeyError, ValueError) as error:
            if complete:
                continue  # the caller started the processes, perhaps inside of a job
            problem = f"{error.args[0]} is not set" if isinstance(error, KeyError) else str(error)
            raise ValueError(
                f"distributed.initialize: {field.name} cannot be read from the environment of "
                f"{cluster.title}: {problem}.\n{cluster.advice}, or pass {field.name} to "
                "initialize (cluster_detection_method='deactivate' reads no environment)."
            ) from None
    return replace(partial, **values)


# Reading variables


def _number(environment: Environment, *names: str) -> int:
    """Parse the whole number in the first of these variables that is set."""
    name = next((name for name in names if environment.get(name)), names[0])
    text = environment[name]
    if not re.fullmatch(r"\s*\d+\s*", text):
        raise ValueError(f"{name} is {text!r}; expected a whole number")
    return int(text)


def _numbers(environment: Environment, name: str) -> tuple[int, ...]:
    text = environment[name]
    if not re.fullmatch(r"\s*\d+(\s*,\s*\d+)*\s*", text):
        raise ValueError(f"{name} is {text!r}; expected whole numbers with commas between them")
    return tuple(map(int, text.split(",")))


def _reads_number(*names: str) -> Callable[[Environment], int]:
    return lambda environment: _number(environment, *names)


def _own_gpu(environment: Environment, *names: str) -> tuple[int, ...] | None:
    """Return the GPU of this process: the one with its number on the machine.

    A scheduler that gives GPUs to processes shows each only its own; these are used unchanged.
    """
    rank = _number(environment, *names)
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    bound = environment.get("SLURM_GPUS_PER_TASK") or (visible and "," not in visible)
    return None if bound else (rank,)


def _reads_own_gpu(*names: str) -> Callable[[Environment], tuple[int, ...] | None]:
    return lambda environment: _own_gpu(environment, *names)


def _port(number: int) -> int:
    return _FIRST_PORT + number % _PORTS


def _host(text: str) -> str:
    """Return the host of an address, without the port if there is one."""
    bracketed = re.fullmatch(r"(\[[^\]]*\])(:\d+)?", text)
    if bracketed:
        return bracketed[1]
    if text.count(":") > 1:
        return f"[{text}]"
    return text.partition(":")[0]


# Variables that name the fields themselves. `python -m ricci.distributed.run` sets them.

_NAMED: dict[str, Callable[[Environment, str], Any]] = {
    "coordinator_address": lambda environment, name: environment[name],
    "num_processes": _number,
    "process_id": _number,
    "local_device_ids": _numbers,
}


def _variable(field: str, environment: Environment) -> str | None:
    """Return the name of the variable that is set for a field."""
    names = (f"{prefix}_{field.upper()}" for prefix in ("RICCI", "JAX"))
    return next((name for name in names if environment.get(name)), None)


def _named(partial: Membership, environment: Environment) -> Membership:
    """Fill in the fields for which a variable ``RICCI_…`` or ``JAX_…`` is set."""
    values: dict[str, Any] = {}
    for field, read in _NAMED.items():
        name = _variable(field, environment)
        if name is None or getattr(partial, field) is not None:
            continue
        try:
            values[field] = read(environment, name)
        except ValueError as error:
            raise ValueError(
                f"distributed.initialize: {field} cannot be read: the environment variable {error}."
            ) from None
    return replace(partial, **values)


# Open MPI


def _ompi_coordinator(environment: Environment) -> str:
    """Return the machine of ``mpirun``, whose address each process has up to Open MPI 4.

    From version 5 on, processes know only the daemon of their own machine.
    """
    uri = environment.get("OMPI_MCA_orte_hnp_uri")
    if uri is None:
        return _prrte_coordinator(environment)
    # 1531577321.0;tcp://10.96.0.1,10.148.0.1:34911 (all addresses of the machine, one port), or
    # tcp6://[fe80::1,fe80::2]:34911
    match = re.match(r"(\d+)\.\d+;(?:tcp://([^][,:]+)|tcp6://\[([^][,]+))", uri)
    if match is None:
        raise ValueError(
            f"OMPI_MCA_orte_hnp_uri is {uri!r}; expected NUMBER.NUMBER;tcp://ADDRESS:PORT"
        )
    job, ipv4, ipv6 = match.groups()
    host = ipv4 or f"[{ipv6}]"
    return f"{host}:{_port(int(job) // _PORTS)}"  # the lower bits number the jobs of one mpirun


def _prrte_coordinator(environment: Environment) -> str:
    count = _number(environment, "OMPI_COMM_WORLD_SIZE")
    local_count = _number(environment, "OMPI_COMM_WORLD_LOCAL_SIZE")
    if count != local_count:
        raise ValueError(
            f"OMPI_MCA_orte_hnp_uri is not set, which Open MPI 5 and newer do not do, and only "
            f"{local_count} of the {count} processes run on this machine"
        )
    job = environment["PMIX_NAMESPACE"].partition("@")[0]
    return f"127.0.0.1:{_port(zlib.crc32(job.encode()))}"


# Slurm


def first_node(nodes: str) -> str:
    """Return the first machine of a list of Slurm's, such as ``node[01-03,7],other``.

    Example:
      >>> from ricci_parallel.processes._clusters import first_node
      >>> first_node("rack[2-3]node[01-03,7],other")
      'rack2node01'
    """
    first = re.match(r"(?:[^][,\s]|\[[^][]*\])+", nodes)
    name = re.sub(r"\[(\d+)(?:-\d+)?(?:,\d+(?:-\d+)?)*\]", r"\1", first[0]) if first else ""
    if not name or not re.match(r",|$", nodes[first.end() :] if first else "") or "[" in name:
        raise ValueError(
            f"SLURM_STEP_NODELIST is {nodes!r}; expected names such as node[01-03,7],other"
        )
    return name


def _slurm_coordinator(environment: Environment) -> str:
    host = first_node(environment["SLURM_STEP_NODELIST"])
    return f"{host}:{_port(_number(environment, 'SLURM_JOB_ID'))}"


def _slurm_gpu(environment: Environment) -> tuple[int, ...] | None:
    # A batch script has SLURM_LOCALID=0 too, which commands inherit that it starts without srun.
    _ = environment["SLURM_STEP_NODELIST"]
    return _own_gpu(environment, "SLURM_LOCALID")


# TPUs


def _workers(environment: Environment) -> list[str]:
    return [name.strip() for name in environment["TPU_WORKER_HOSTNAMES"].split(",")]


def _tpu_coordinator(environment: Environment) -> str:
    """Return the first machine of the first slice."""
    first = environment.get("MEGASCALE_COORDINATOR_ADDRESS") or _workers(environment)[0]
    return f"{_host(first)}:{_TPU_PORT}"


def _slices(environment: Environment) -> int:
    name = "MEGASCALE_NUM_SLICES"
    return _number(environment, name) if environment.get(name) else 1


def _over_slices(workers: Callable[[Environment], int]) -> Callable[[Environment], int]:
    """Return a reader of the number of processes in all slices, given one for a slice."""
    return lambda environment: _slices(environment) * workers(environment)


def _in_slices(
    worker: Callable[[Environment], int], workers: Callable[[Environment], int]
) -> Callable[[Environment], int]:
    """Return a reader of this process's number among those of all slices."""

    def process_id(environment: Environment) -> int:
        if _slices(environment) == 1:
            return worker(environment)
        before = _number(environment, "MEGASCALE_SLICE_ID") * workers(environment)
        return before + worker(environment)

    return process_id


def _gke_workers(environment: Environment) -> int:
    return len(_workers(environment))


def _metadata(environment: Environment, key: str) -> str:
    """Read an attribute of this machine from the metadata server of Google Compute Engine."""
    from urllib import request  # noqa: PLC0415 - lazy: it takes long

    server = environment.get("GCE_METADATA_HOST") or "metadata.google.internal"
    url = f"http://{server}/computeMetadata/v1/instance/attributes/{key}"
    query = request.Request(url, headers={"Metadata-Flavor": "Google"})
    try:
        with request.urlopen(query, timeout=_METADATA_SECONDS) as response:
            return response.read().decode()
    except OSError as error:
        raise ValueError(
            f"no answer from the metadata server at {url} within {_METADATA_SECONDS:g} s ({error})"
        ) from None


def _gce_endpoints(environment: Environment) -> list[str]:
    """Return the addresses of the machines: each of the entries is ``uid:name:address``."""
    text = _metadata(environment, "worker-network-endpoints")
    entries = [entry.split(":", 2) for entry in text.strip().split(",")]
    if any(len(entry) < 3 for entry in entries):
        raise ValueError(f"the attribute worker-network-endpoints of this machine is {text!r}")
    return [entry[2] for entry in entries]


def _gce_coordinator(environment: Environment) -> str:
    first = environment.get("MEGASCALE_COORDINATOR_ADDRESS") or _gce_endpoints(environment)[0]
    return f"{_host(first)}:{_TPU_PORT}"


def _gce_workers(environment: Environment) -> int:
    return len(_gce_endpoints(environment))


def _gce_worker(environment: Environment) -> int:
    name = "agent-worker-number"
    return _number({name: _metadata(environment, name)}, name)


# Kubernetes


def _kubernetes_coordinator(environment: Environment) -> str:
    """Return the pod with index 0 of this pod's indexed Job.

    Pods of a Job are called ``JOB-INDEX``. They find each other by that name only in the domain of
    a headless service, as JobSet makes it.
    """
    index = environment["JOB_COMPLETION_INDEX"]
    pod, _, domain = environment["HOSTNAME"].partition(".")
    domain = domain or _domain(pod)
    if not pod.endswith(f"-{index}"):
        raise ValueError(
            f"HOSTNAME is {pod!r}; expected a name that ends with -{index}, since "
            f"JOB_COMPLETION_INDEX is {index}"
        )
    if not domain:
        raise ValueError(
            f"the pod {pod} is in no domain, so that others cannot find it by its name; its "
            "template needs a `subdomain`, the name of a headless service"
        )
    return f"{pod.removesuffix(index)}0.{domain}:{_TPU_PORT}"


def _domain(pod: str) -> str:
    """Return the domain of a host; empty if there is none."""
    full = socket.getfqdn(pod)
    return full.removeprefix(f"{pod}.") if full.startswith(f"{pod}.") else ""


def _kubernetes_processes(environment: Environment) -> int:
    raise ValueError(
        "pods are not told how many there are; set RICCI_NUM_PROCESSES to the Job's `completions` "
        "in the pod's template"
    )


# MPI, through mpi4py


def _mpi() -> Any:
    try:
        from mpi4py import MPI  # noqa: PLC0415  # pyright: ignore - lazy: an optional dependency
    except ImportError as error:
        raise ValueError(f"mpi4py cannot be imported ({error})") from None
    return MPI


def _mpi_coordinator(environment: Environment) -> str:
    """Return the machine of rank 0, at a free port there. All processes call this together."""
    world = _mpi().COMM_WORLD
    address = None
    if world.Get_rank() == 0:
        with socket.create_server(("", 0)) as server:
            address = f"{socket.gethostname()}:{server.getsockname()[1]}"
    return world.bcast(address, root=0)


def _mpi_gpu(environment: Environment) -> tuple[int, ...] | None:
    mpi = _mpi()
    machine = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
    return _own_gpu({**environment, "local rank": str(machine.Get_rank())}, "local rank")


# torchrun


def _torchrun_coordinator(environment: Environment) -> str:
    """Return the machine at ``MASTER_ADDR``; its ``MASTER_PORT`` belongs to torchrun's store."""
    host = _host(environment["MASTER_ADDR"])
    return f"{host}:{_port(_number(environment, 'MASTER_PORT'))}"


# mpirun may be started inside of a job of Slurm's, and TPU pods run in Kubernetes: the inner one
# comes first. torchrun's variables are often exported by hand for other libraries, and the
# metadata server and MPI cost time, so that these are read only when their names are given.
CLUSTERS: dict[str, Cluster] = {
    "ompi": Cluster(
        title="Open MPI",
        marks=("OMPI_COMM_WORLD_RANK",),
        advice="Start the processes with mpirun, on several machines with "
        "cluster_detection_method='mpi4py'",
        coordinator_address=_ompi_coordinator,
        num_processes=_reads_number("OMPI_COMM_WORLD_SIZE"),
        process_id=_reads_number("OMPI_COMM_WORLD_RANK"),
        local_device_ids=_reads_own_gpu("OMPI_COMM_WORLD_LOCAL_RANK"),
    ),
    "slurm": Cluster(
        title="Slurm",
        marks=("SLURM_JOB_ID",),
        advice="Start the processes with srun",
        coordinator_address=_slurm_coordinator,
        num_processes=_reads_number("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        process_id=_reads_number("SLURM_PROCID"),
        local_device_ids=_slurm_gpu,
    ),
    "gketpu": Cluster(
        title="TPUs on Google Kubernetes Engine",
        marks=("TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID"),
        advice="Request TPUs (google.com/tpu) in the pod's template",
        coordinator_address=_tpu_coordinator,
        num_processes=_over_slices(_gke_workers),
        process_id=_in_slices(_reads_number("TPU_WORKER_ID"), _gke_workers),
    ),
    "k8s": Cluster(
        title="Kubernetes",
        marks=("KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX"),
        advice="Start the pods as a Job with `completionMode: Indexed` and a headless service, or "
        "as a JobSet",
        coordinator_address=_kubernetes_coordinator,
        num_processes=_kubernetes_processes,
        process_id=_reads_number("JOB_COMPLETION_INDEX"),
    ),
    "gcetpu": Cluster(
        title="TPU virtual machines",
        marks=(),
        advice="Start the program on all machines of a TPU slice",
        coordinator_address=_gce_coordinator,
        num_processes=_over_slices(_gce_workers),
        process_id=_in_slices(_gce_worker, _gce_workers),
    ),
    "mpi4py": Cluster(
        title="MPI",
        marks=(),
        advice="Install mpi4py, and start the processes with mpirun",
        coordinator_address=_mpi_coordinator,
        num_processes=lambda _: _mpi().COMM_WORLD.Get_size(),
        process_id=lambda _: _mpi().COMM_WORLD.Get_rank(),
        local_device_ids=_mpi_gpu,
    ),
    "torchrun": Cluster(
        title="torchrun",
        marks=(),
        advice="Start the processes with torchrun",
        coordinator_address=_torchrun_coordinator,
        num_processes=_reads_number("WORLD_SIZE"),
        process_id=_reads_number("RANK"),
        local_device_ids=_reads_own_gpu("LOCAL_RANK"),
    ),
}
