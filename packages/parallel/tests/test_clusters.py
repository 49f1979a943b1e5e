"""Detection of clusters from recorded environments."""

import socket
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ricci_parallel.processes._clusters import CLUSTERS, Membership, detect, first_node

SLURM = {
    "SLURM_JOB_ID": "123456",
    "SLURM_STEP_NODELIST": "gpu[017-019,023]",
    "SLURM_NTASKS": "8",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
}
OMPI = {
    "OMPI_MCA_orte_hnp_uri": "1531577321.0;tcp://10.96.0.1,10.148.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}
OMPI_5 = {
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "PMIX_NAMESPACE": "prterun-host-4242@1",
    "PMIX_RANK": "1",
}
GKE = {"TPU_WORKER_HOSTNAMES": "job-0.svc,job-1.svc,job-2.svc,job-3.svc", "TPU_WORKER_ID": "2"}
SLICES = {
    **GKE,
    "MEGASCALE_COORDINATOR_ADDRESS": "set-slice-0-0.set:8081",
    "MEGASCALE_NUM_SLICES": "2",
    "MEGASCALE_SLICE_ID": "1",
}
KUBERNETES = {
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "JOB_COMPLETION_INDEX": "12",
    "HOSTNAME": "train-workers-0-12.train.default.svc.cluster.local",
    "RICCI_NUM_PROCESSES": "16",
}
NAMED = {
    "RICCI_COORDINATOR_ADDRESS": "127.0.0.1:4321",
    "RICCI_NUM_PROCESSES": "4",
    "RICCI_PROCESS_ID": "2",
}
JAX_NAMED = {name.replace("RICCI_", "JAX_"): value for name, value in NAMED.items()}
TORCHRUN = {
    "MASTER_ADDR": "node7",
    "MASTER_PORT": "29500",
    "WORLD_SIZE": "4",
    "RANK": "3",
    "LOCAL_RANK": "1",
}

# The ports 62016, 62624 and 8482 are those at which the oracle listens in these environments.
RECORDED = {
    "nothing": ({}, Membership()),
    "slurm": (SLURM, Membership("gpu017:62016", 8, 5, (1,))),
    "slurm_step": ({**SLURM, "SLURM_NTASKS": "16"}, Membership("gpu017:62016", 8, 5, (1,))),
    "slurm_old": (
        {k: v for k, v in SLURM.items() if k != "SLURM_STEP_NUM_TASKS"},
        Membership("gpu017:62016", 8, 5, (1,)),
    ),
    "slurm_gpus_per_task": (
        {**SLURM, "SLURM_GPUS_PER_TASK": "2", "CUDA_VISIBLE_DEVICES": "0,1"},
        Membership("gpu017:62016", 8, 5),
    ),
    "slurm_all_gpus": (
        {**SLURM, "CUDA_VISIBLE_DEVICES": "0,1,2,3"},
        Membership("gpu017:62016", 8, 5, (1,)),
    ),
    "ompi_one_gpu_visible": (
        {**OMPI, "CUDA_VISIBLE_DEVICES": "3"},
        Membership("10.96.0.1:62624", 4, 3),
    ),
    "ompi": (OMPI, Membership("10.96.0.1:62624", 4, 3, (1,))),
    "ompi_ipv6": (
        {**OMPI, "OMPI_MCA_orte_hnp_uri": "1531577321.0;tcp6://[fe80::1,fe80::2]:34911"},
        Membership("[fe80::1]:62624", 4, 3, (1,)),
    ),
    "ompi_in_slurm": ({**SLURM, **OMPI}, Membership("10.96.0.1:62624", 4, 3, (1,))),
    "ompi_5": (OMPI_5, Membership("127.0.0.1:65098", 2, 1, (1,))),
    "gke": (GKE, Membership("job-0.svc:8482", 4, 2)),
    "gke_slices": (SLICES, Membership("set-slice-0-0.set:8482", 8, 6)),
    "gke_in_kubernetes": ({**KUBERNETES, **GKE}, Membership("job-0.svc:8482", 16, 2)),
    "kubernetes": (
        KUBERNETES,
        Membership("train-workers-0-0.train.default.svc.cluster.local:8482", 16, 12),
    ),
    "named": (NAMED, Membership("127.0.0.1:4321", 4, 2)),
    "named_devices": (
        {**NAMED, "RICCI_LOCAL_DEVICE_IDS": "4,5"},
        Membership("127.0.0.1:4321", 4, 2, (4, 5)),
    ),
    "jax_named": (JAX_NAMED, Membership("127.0.0.1:4321", 4, 2)),
    "both_named": ({**JAX_NAMED, "RICCI_PROCESS_ID": "3"}, Membership("127.0.0.1:4321", 4, 3)),
    # The launcher was started inside of a job: its processes are not the job's tasks.
    "named_in_slurm": ({**SLURM, **NAMED}, Membership("127.0.0.1:4321", 4, 2)),
    "address_in_slurm": (
        {**SLURM, "JAX_COORDINATOR_ADDRESS": "node:23456"},
        Membership("node:23456", 8, 5, (1,)),
    ),
    "torchrun": (TORCHRUN, Membership()),
}


@pytest.mark.parametrize("case", RECORDED)
def test_recorded_environments(case):
    environment, expected = RECORDED[case]
    assert detect(Membership(), None, environment) == expected


def test_arguments_take_precedence_over_the_environment():
    given = Membership("head:1", None, 0, (3,))
    assert detect(given, None, SLURM) == Membership("head:1", 8, 0, (3,))
    assert detect(given, None, NAMED) == Membership("head:1", 4, 0, (3,))


def test_processes_started_by_hand_in_a_batch_job():
    """A batch script has ``SLURM_LOCALID``, which is not that of the processes it starts."""
    batch = {k: v for k, v in SLURM.items() if "STEP" not in k}
    given = Membership("head:1", 2, 0)
    assert detect(given, None, batch) == given
    assert detect(given, None, SLURM) == Membership("head:1", 2, 0, (1,))


@pytest.mark.parametrize(
    ("method", "environment", "expected"),
    [
        ("slurm", {**OMPI, **SLURM}, Membership("gpu017:62016", 8, 5, (1,))),
        ("torchrun", TORCHRUN, Membership("node7:62268", 4, 3, (1,))),
        ("deactivate", SLURM, Membership()),
        ("deactivate", NAMED, Membership("127.0.0.1:4321", 4, 2)),
    ],
)
def test_by_name(method, environment, expected):
    assert detect(Membership(), method, environment) == expected


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("node1", "node1"),
        ("node01,node02", "node01"),
        ("node[01-03,7],other", "node01"),
        ("node[7,01-03]", "node7"),
        ("other,node[01-03,7]", "other"),
        ("rack[2-3]node[01-03]-ib", "rack2node01-ib"),
        ("a-b.example.org", "a-b.example.org"),
    ],
)
def test_first_of_a_node_list(nodes, first):
    assert first_node(nodes) == first


@pytest.mark.parametrize("nodes", ["", "node[", "node[1-]", "node[a]", ",node", "a b", "node[1]]"])
def test_bad_node_lists(nodes):
    with pytest.raises(ValueError, match="SLURM_STEP_NODELIST is"):
        first_node(nodes)


FAULTS = {
    "salloc": (
        {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "2"},
        "coordinator_address cannot be read .* Slurm: SLURM_STEP_NODELIST is not set.\n.*srun",
    ),
    "rank": ({**SLURM, "SLURM_PROCID": "x"}, "process_id .*SLURM_PROCID is 'x'; expected a whole"),
    "uri": ({**OMPI, "OMPI_MCA_orte_hnp_uri": "?"}, r"OMPI_MCA_orte_hnp_uri is '\?'; expected"),
    "ompi_5_machines": (
        {**OMPI_5, "OMPI_COMM_WORLD_SIZE": "4"},
        "only 2 of the 4 processes run on this machine.\n.*mpi4py",
    ),
    "pods": (
        {k: v for k, v in KUBERNETES.items() if k != "RICCI_NUM_PROCESSES"},
        "num_processes .* Kubernetes: .*set RICCI_NUM_PROCESSES",
    ),
    "pod_name": ({**KUBERNETES, "HOSTNAME": "mine.x"}, "HOSTNAME is 'mine'; expected .* -12"),
    "pod_domain": ({**KUBERNETES, "HOSTNAME": "job-12"}, "job-12 is in no domain"),
    "slice": (
        {k: v for k, v in SLICES.items() if k != "MEGASCALE_SLICE_ID"},
        "MEGASCALE_SLICE_ID is not set",
    ),
    "count": ({**NAMED, "RICCI_NUM_PROCESSES": "-1"}, "variable RICCI_NUM_PROCESSES is '-1'"),
    "devices": ({**NAMED, "RICCI_LOCAL_DEVICE_IDS": "0;1"}, "RICCI_LOCAL_DEVICE_IDS is '0;1'"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_explained(case, monkeypatch):
    monkeypatch.setattr(socket, "getfqdn", lambda name="": name)
    environment, message = FAULTS[case]
    with pytest.raises(ValueError, match=f"(?s){message}"):
        detect(Membership(), None, environment)


def test_an_unknown_name():
    with pytest.raises(ValueError, match="cluster_detection_method='lsf' .* 'ompi', 'slurm'"):
        detect(Membership(), "lsf", {})


def test_method_names_include_those_of_jax():
    assert {"slurm", "ompi", "mpi4py", "gketpu", "gcetpu"} <= set(CLUSTERS)


class Metadata(BaseHTTPRequestHandler):
    """The metadata server of the second of two machines."""

    attributes = {
        "agent-worker-number": "1",
        "worker-network-endpoints": "unknown:unknown:10.164.0.2,unknown:unknown:10.164.0.7",
    }

    def do_GET(self):
        text = self.attributes.get(self.path.rpartition("/")[2])
        known = text is not None and self.headers["Metadata-Flavor"] == "Google"
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write((text or "").encode())

    def log_message(self, format, *args):
        pass


def test_metadata_of_tpu_machines():
    with HTTPServer(("127.0.0.1", 0), Metadata) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = {"GCE_METADATA_HOST": f"127.0.0.1:{server.server_port}"}
        found = detect(Membership(), "gcetpu", here)
        slices = {**here, "MEGASCALE_NUM_SLICES": "2", "MEGASCALE_SLICE_ID": "1"}
        second = detect(Membership("head:1"), "gcetpu", slices)
        server.shutdown()
    assert found == Membership("10.164.0.2:8482", 2, 1)
    assert second == Membership("head:1", 4, 3)
    with pytest.raises(ValueError, match="no answer from the metadata server"):
        detect(Membership(), "gcetpu", here)


def test_mpi_is_read_only_if_it_is_named(monkeypatch):
    class World:
        def Get_rank(self):
            return 0

        def Get_size(self):
            return 3

        def bcast(self, value, root):
            return value

        def Split_type(self, kind):
            return self

    mpi = types.SimpleNamespace(COMM_WORLD=World(), COMM_TYPE_SHARED=0)
    monkeypatch.setitem(sys.modules, "mpi4py", types.SimpleNamespace(MPI=mpi))
    found = detect(Membership(), "mpi4py", {})
    host, _, port = (found.coordinator_address or "").rpartition(":")
    assert host == socket.gethostname() and port.isdigit()
    assert found == Membership(found.coordinator_address, 3, 0, (0,))


def test_mpi_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(ValueError, match="MPI: mpi4py cannot be imported"):
        detect(Membership(), "mpi4py", {})
