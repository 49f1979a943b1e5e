"""Finding PJRT plugins in installed packages, without loading or importing them."""

import sys
from pathlib import Path

import pytest

from ricci_xla.devices._plugins import Plugin, cuda_options, find_cuda_plugin, find_plugins


def install(folder: Path, *files: str) -> None:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("raise AssertionError('must not be imported')")


@pytest.fixture
def site(tmp_path, monkeypatch):
    if find_cuda_plugin() is not None:
        pytest.skip("a CUDA plugin is installed here and would be found first")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [n for n in sys.modules if n.split(".")[0] == "jax_plugins"]:
        del sys.modules[name]


def test_nothing_is_found_where_nothing_is(site):
    assert find_plugins() == {}


@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize("kernels", [False, True])
def test_cuda_plugin_is_found_by_its_files(site, version, kernels):
    folder = f"jax_plugins/xla_cuda{version}"
    install(site, f"{folder}/__init__.py", f"{folder}/xla_cuda_plugin.so")
    package = f"jax_cuda{version}_plugin"
    if kernels:
        install(site, f"{package}/__init__.py")
    library = site / folder / "xla_cuda_plugin.so"
    assert find_plugins() == {"cuda": Plugin("cuda", library, package if kernels else "")}


def test_newer_cuda_comes_first(site):
    for version in (12, 13):
        install(site, f"jax_plugins/xla_cuda{version}/xla_cuda_plugin.so")
    assert "xla_cuda13" in str(find_plugins()["cuda"].library)


def test_plugin_named_in_the_environment(monkeypatch):
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "own:/opt/own.so")
    assert find_plugins()["own"] == Plugin("own", Path("/opt/own.so"))


def test_malformed_entry_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "own")
    with pytest.raises(RuntimeError, match="'own'; expected name:path"):
        find_plugins()


def test_cuda_client_joins_the_cluster():
    found = cuda_options({"client": object(), "process_id": 3, "num_processes": 8})
    assert (found["node_id"], found["num_nodes"]) == (3, 8)


def test_cuda_client_alone_names_no_cluster():
    assert not {"node_id", "num_nodes"} & set(cuda_options({}))
