"""What the TensorFlow backend says of itself."""

import pytest

pytestmark = pytest.mark.framework


def test_the_switches_of_tensorflow_are_recorded():
    from aiscore.backends.tensorflow import TensorFlowBackend

    software = TensorFlowBackend().software()
    assert software["tf32"] == "on"
    assert software["xla"] == "off"
    assert software["onednn"] in {"on", "off"}
    assert software["intra_op_threads"] == software["inter_op_threads"] == "automatic"
