"""What the tests of the store share: small and large snapshots, an empty folder store, and stores of each kind: a folder, S3, fsspec's memory."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace

import pytest

from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store.files import FileStore
from driftwatch.store.opening import open_store
from tests.lab.s3_server import FaultyLine, S3Server

FILES = 700


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


@pytest.fixture
def large(snapshot):
    """Return a maker of snapshots with a list of source files of about 100 KB; ``files`` replaces some of their digests."""

    def make(host="gpu-a", taken_at="2026-03-04T03:12:00Z", files=None, **facts):
        listed = {f"sources/sglang/files/srt%2Fmodule_{number}.py": f"sha256:{number * 7919:064x} {number}" for number in range(FILES)}
        changed = {f"sources/sglang/files/{name}": digest for name, digest in (files or {}).items()}
        return replace(snapshot(host, taken_at), facts={**listed, **changed, **facts}, volatile=("system/*",))

    return make


@pytest.fixture(scope="session")
def s3():
    """Return an S3 on loopback."""
    server = S3Server()
    yield server
    server.close()


@pytest.fixture
def s3_url(s3, monkeypatch):
    """Return a URL in a bucket of its own; every S3 client of this test is led there."""
    for name, value in s3.environ().items():
        monkeypatch.setenv(name, value)
    name = f"test-{secrets.token_hex(6)}"
    s3.make_bucket(name)
    return f"s3://{name}/drift"


@pytest.fixture
def faulty(s3, s3_url, monkeypatch):
    """Return a line to the S3 that can be told to fail; every S3 client of this test goes through it."""
    line = FaultyLine(s3.port)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{line.port}")
    yield line
    line.close()


@pytest.fixture(params=["folder", "s3", "memory"])
def any_store(request, tmp_path):
    """Return an empty store of each kind."""
    place = {"folder": str(tmp_path / "any"), "memory": f"memory://{os.getpid()}-{secrets.token_hex(6)}"}.get(request.param)
    return open_store(place or request.getfixturevalue("s3_url"), tmp_path / "cache")


@pytest.fixture(params=["s3", "memory"])
def object_store(request, tmp_path):
    """Return an empty store of each kind that is no folder."""
    place = f"memory://{secrets.token_hex(6)}" if request.param == "memory" else request.getfixturevalue("s3_url")
    return open_store(place, tmp_path / "cache")


@pytest.fixture
def memory_store(tmp_path):
    """Return an empty store in fsspec's memory."""
    return open_store(f"memory://{secrets.token_hex(6)}", tmp_path / "cache")
