"""A snapshot file: what is written is read back, and what is no whole snapshot is refused by name, quickly and in little memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from driftwatch.store import document
from driftwatch.store.errors import StoreError
from driftwatch.store.strict_json import JsonRefused, parse_json, parse_own


def test_a_snapshot_comes_back_as_it_was_written(snapshot, tmp_path):
    one = replace(snapshot(), facts={"env/NCCL_X": "a\x1b[2J\udcffü", "system/load/1m": 0.25, "x/unknown": {"unknown": "denied", "reason": "no"}, "n": None})
    path = tmp_path / "x.json"
    path.write_bytes(document.to_bytes(one))
    assert (document.load(path).facts, document.load(path).id) == (one.facts, one.id)


def test_each_fact_stands_on_a_line_of_its_own_in_ascii(snapshot):
    data = document.to_bytes(snapshot())
    assert b'\n "driver/version": "580.95.05"\n' in data
    assert data.isascii()


BASE = b'{"format": 1, "host": "gpu-a", "taken_at": null}'
REFUSED = {
    "empty": (b"", "empty"),
    "blank": (b" \n" * 50, "empty"),
    "nul bytes": (b"\0" * 4096, "no JSON"),
    "deep lists": (b"[" * 100_000 + b"]" * 100_000, "deeper than 64"),
    "deep objects": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "deeper than 64"),
    "a long number": (b'{"format": 1, "x": ' + b"9" * 5000 + b"}", "5,000 digits"),
    "NaN": (b'{"format": 1, "x": NaN}', "NaN"),
    "infinity": (b'{"format": 1, "x": -Infinity}', "-Infinity"),
    "a huge float": (b'{"format": 1, "x": 1e400}', "1e400"),
    "a key twice": (b'{"format": 1, "format": 1}', "stands twice"),
    "a byte order mark": (b"\xef\xbb\xbf" + BASE, "byte order mark"),
    "UTF-16": (BASE.decode().encode("utf-16"), "no UTF-8"),
    "no UTF-8": (b'{"format": 1, "x": "\xff"}', "no UTF-8"),
    "a newer format": (b'{"format": 999}', "newer than 1"),
    "no format": (b'{"host": "gpu-a"}', "'format'"),
    "true as format": (b'{"format": true}', "'format'"),
    "a list": (b"[1]", "no object"),
    "two documents": (BASE + b"\n" + BASE, "Extra data"),
    "a long string": (b'{"x": "' + b"a" * ((1 << 20) + 1) + b'"}', "string of more than 1 MiB"),
    "escapes that hide a bracket": (b'{"x": "\\\\", "y": [' + b"[" * 70 + b"]" * 71 + b"}", "deeper than 64"),
    "too many values": (b'{"x": [' + b"[]," * 600_000 + b"0]}", "more than 1,000,000"),
    "a pickle": (b"\x80\x04\x95\x1c\x00posix.", "no UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_snapshot_is_refused_with_the_file_and_the_reason(name, tmp_path):
    data, why = REFUSED[name]
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"bad\.json is no snapshot") as refused:
        document.load(path)
    assert why in refused.value.what
    assert refused.value.where == str(path)
    assert refused.value.code == 2


def test_a_changed_digit_is_refused_because_the_content_gives_another_id(snapshot, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(document.to_bytes(snapshot()).replace(b"580.95.05", b"580.95.04"))
    with pytest.raises(StoreError, match="changed after it was written"):
        document.load(path)


def test_quotes_and_backslashes_in_strings_do_not_confuse_the_limits():
    value = {"a\\": ['\\"', '"[[[{', "\\\\"], '"': "]" * 100}
    assert parse_json(json.dumps(value).encode()) == value


def test_wide_text_of_many_mebibytes_is_refused_before_it_is_decoded():
    with pytest.raises(JsonRefused, match="not plain ASCII"):
        parse_json(b'"' + "\U0001f600".encode() * (3 << 20) + b'"')


def special_files(folder):
    """Return paths that are no regular files, each with a word of the reason."""
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to(folder / "loop")
    return {folder: "is a folder", folder / "fifo": "not a regular file", folder / "loop": "symbolic link", folder / "none.json": "no such file",
            folder / ("x" * 300): "name too long", "/dev/zero": "not a regular file"}


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    for path, why in special_files(tmp_path).items():
        began = time.monotonic()
        with pytest.raises(StoreError) as refused:
            document.load(path)
        assert why in refused.value.what
        assert time.monotonic() - began < 2


def test_a_file_of_a_gibibyte_is_refused_by_its_size(tmp_path):
    path = tmp_path / "big.json"
    path.write_bytes(b"{}")
    os.truncate(path, 1 << 30)
    with pytest.raises(StoreError, match=r"big\.json is too large"):
        document.load(path)


WORST = {
    "keys": b'{"format": 1, "facts": {' + b",".join(b'"%06d": 0' % i for i in range(333_000)) + b"}}",
    "numbers": b'{"format": 1, "facts": [' + b"1.2345678901234567," * 900_000 + b"0]}",
    "one number": b'{"x": ' + b"9" * (31 << 20) + b"}",
    "quotes": b'"' * (32 << 20),
    "escaped quotes": b'{"x": "' + b'\\"' * (15 << 20) + b'"}',
}
SCRIPT = """
import sys
from driftwatch.store import document
from driftwatch.store.errors import StoreError
try:
    document.load(sys.argv[1])
except StoreError:
    sys.exit(2)
"""


@pytest.mark.parametrize("name", WORST)
def test_the_worst_files_are_refused_in_little_memory(name, tmp_path):
    path = tmp_path / "worst.json"
    path.write_bytes(WORST[name])

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    assert subprocess.run([sys.executable, "-c", SCRIPT, path], timeout=20, check=False, preexec_fn=limit).returncode == 2


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a": ' * 100_000, b"", b"{", b"\xff"])
def test_what_stands_beside_snapshots_is_refused_in_words_however_deep(data):
    with pytest.raises(JsonRefused):
        parse_own(data)
