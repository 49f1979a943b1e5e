"""``setup_tpu`` outside of Google Colab, and where its runtime has no TPU."""

import importlib

import pytest

import ricci

pytestmark = pytest.mark.skipif(
    ricci.default_backend() == "tpu", reason="there is a TPU, which the function would find"
)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (None, r"is for notebooks on Google Colab.*\n.*devices\(\"tpu\"\) lists"),
        ("COLAB_RELEASE_TAG", "has no TPU that can be used(.|\n)*Change runtime type"),
        ("COLAB_TPU_ADDR", "has no TPU that can be used"),
    ],
)
def test_setup_tpu_names_what_is_missing(variable, message, monkeypatch):
    for name in ("COLAB_RELEASE_TAG", "COLAB_TPU_ADDR"):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, "1")
    setup_tpu = importlib.import_module("ricci.tools.colab_tpu").setup_tpu
    with pytest.raises(RuntimeError, match=message):
        setup_tpu()
    assert ricci.numpy.arange(3).sum() == 3  # the process goes on
