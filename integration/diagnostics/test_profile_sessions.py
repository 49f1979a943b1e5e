"""Profiles that are held in memory, and written later."""

import pytest
from jaxlib import _profiler

import ricci_numpy as jnp
from ricci_xla import profiler


def _record(session):
    with session:
        jnp.ones(3).block_until_ready()


def _files(folder):
    return sorted("".join(path.suffixes) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("in_a_folder", [False, True])
def test_session_holds_its_profile(in_a_folder, tmp_path):
    session = profiler.ProfileSession(tmp_path if in_a_folder else None)
    assert not session.is_running
    assert session.profile_data is None
    _record(session)
    assert not session.is_running
    assert list(session.profile_data.planes)
    assert _files(tmp_path) == ([".trace.json.gz", ".xplane.pb"] if in_a_folder else [])
    first = session.profile_data
    _record(session)
    assert session.profile_data is not first


def test_trace_without_a_folder_yields_the_session():
    with profiler.trace() as session:
        assert session.is_running
    assert session.profile_data is not None


def test_start_trace_and_stop_trace_return_session_and_profile():
    session = profiler.start_trace(None)
    assert profiler.stop_trace() is session.profile_data


def test_one_session_runs_at_a_time():
    with profiler.ProfileSession():
        other = profiler.ProfileSession()
        with pytest.raises(RuntimeError, match="running already"):
            other.start()
        with pytest.raises(RuntimeError, match="not running"):
            other.stop()


def test_failed_block_ends_the_profile():
    with pytest.raises(ZeroDivisionError), profiler.trace() as session:
        raise ZeroDivisionError
    assert not session.is_running


def test_profile_is_exported_later(tmp_path):
    session = profiler.ProfileSession()
    with pytest.raises(RuntimeError, match="no profile"):
        session.export_profile_data(tmp_path)
    _record(session)
    session.export_profile_data(tmp_path / "kept")
    assert _files(tmp_path / "kept") == [".trace.json.gz", ".xplane.pb"]
    if not hasattr(_profiler, "export_to_xprof"):
        with pytest.raises(NotImplementedError, match=r"jaxlib 0\.12"):
            profiler.export_profile_data(session.profile_data, tmp_path)
        return
    profiler.export_profile_data(session.profile_data, tmp_path, session_id="first")
    session.export_profile_data(tmp_path, create_perfetto_trace=True, session_id="second")
    folders = tmp_path / "plugins" / "profile"
    assert _files(folders / "first") == [".trace.json.gz", ".xplane.pb"]
    assert _files(folders / "second") == [".json.gz", ".trace.json.gz", ".xplane.pb"]


@pytest.mark.parametrize("value", [3, None])
def test_only_profiles_are_exported(value, tmp_path):
    with pytest.raises(TypeError, match="ProfileData"):
        profiler.export_profile_data(value, tmp_path)


def test_file_for_perfetto_needs_a_folder():
    with pytest.raises(ValueError, match="log_dir"):
        profiler.ProfileSession(create_perfetto_trace=True)
