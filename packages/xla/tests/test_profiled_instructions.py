"""The costs of instructions in a profile."""

import pytest

from ricci_xla.profiler import get_profiled_instructions_proto, trace


def test_a_profile_is_read_and_a_missing_one_is_named(tmp_path):
    with trace(tmp_path):
        pass
    assert isinstance(get_profiled_instructions_proto(tmp_path), bytes)
    with pytest.raises(RuntimeError, match="nowhere"):
        get_profiled_instructions_proto(tmp_path / "nowhere")
