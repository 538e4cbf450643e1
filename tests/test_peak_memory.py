"""The peak of a test's memory is its own, not its predecessor's."""

import numpy as np

from aiscore import peak_memory

SIZE = 200 << 20


def test_a_reset_forgets_what_was_freed() -> None:
    block = np.ones(SIZE, np.uint8)
    high = peak_memory.peak_rss_bytes()
    del block
    assert peak_memory.reset()
    low = peak_memory.peak_rss_bytes()
    assert high - low > SIZE / 2


def test_the_peak_grows_with_use() -> None:
    peak_memory.reset()
    low = peak_memory.peak_rss_bytes()
    block = np.ones(SIZE, np.uint8)
    assert peak_memory.peak_rss_bytes() - low > SIZE / 2
    del block


def test_without_proc_the_whole_life_of_the_process_counts(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(peak_memory, "STATUS", tmp_path / "absent")
    monkeypatch.setattr(peak_memory, "CLEAR_REFS", tmp_path / "none" / "absent")
    assert not peak_memory.reset()
    assert peak_memory.peak_rss_bytes() > 0
