"""The store's key is made once, is nobody else's to read, and gives each host its own."""

from __future__ import annotations

import stat
import subprocess
import sys

import pytest

from driftwatch.store import keys
from driftwatch.store.errors import StoreError


def test_the_key_is_made_once_and_is_private(tmp_path):
    made = keys.load_key(tmp_path / "store")
    assert keys.load_key(tmp_path / "store") == made
    assert stat.S_IMODE((tmp_path / "store" / "key").stat().st_mode) == 0o600


def test_each_host_has_its_own_key_under_its_own_name(tmp_path):
    made = keys.load_key(tmp_path)
    found = {keys.host_key(made, host).key_id for host in ("gpu-a", "gpu-b", "gpu-c")}
    assert len(found) == 3
    assert keys.host_key(made, "gpu-a") == keys.host_key(made, "gpu-a")


def test_a_key_is_not_printed(tmp_path):
    made = keys.host_key(keys.load_key(tmp_path), "gpu-a")
    assert made.key.hex() not in repr(made)
    assert repr(made.key) not in repr(made)


def test_many_who_make_the_key_at_once_get_the_same(tmp_path):
    script = "import sys; from pathlib import Path; from driftwatch.store import keys; print(keys.load_key(Path(sys.argv[1])).hex())"
    running = [subprocess.Popen([sys.executable, "-c", script, tmp_path / "store"], stdout=subprocess.PIPE) for _ in range(6)]
    assert len({one.communicate(timeout=30)[0] for one in running}) == 1


def test_a_damaged_key_is_refused_and_not_replaced(tmp_path):
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(StoreError, match="damaged: 5 bytes"):
        keys.load_key(tmp_path)
    assert (tmp_path / "key").read_bytes() == b"short"
