"""What the tests of the store share: small snapshots and an empty store."""

from __future__ import annotations

import pytest

from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store.files import FileStore


@pytest.fixture
def store(tmp_path):
    return FileStore(tmp_path / "store")


@pytest.fixture
def snapshot():
    """Return a maker of snapshots that differ in the given things."""

    def make(host="gpu-a", taken_at="2026-03-04T03:12:00Z", driver="580.95.05", *, partial=False):
        return Snapshot(
            host, taken_at, probes={"driver": ProbeResult("ok", 0.1, tells=("driver/*",))}, facts={"driver/version": driver},
            extra={"partial": True} if partial else {},
        )

    return make
