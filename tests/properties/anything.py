"""What a host, a file or a pipe may hold: any text at all, and text made of the pieces that the parsers look for, which reaches deeper into them."""

from __future__ import annotations

import json

from hypothesis import settings
from hypothesis import strategies as st

PIECES = (
    "0", "1", "-1", "18446744073709551616", "1e999", "3.5", "0x1f", "=", ":", " : ", ",", " ", "\t", "\n", "\r\n", "\n\n", "/", "\\", '"', "'",
    "[", "]", "{", "}", "(", ")", "<", ">", "#", "%", "-", "--", "+", "|", "\x00", "\x1b[31m", "\u202e", "\ud800", "é", "N/A", "[N/A]", "ERR!", "None",
    "null", "true", "NaN", "GPU", "GPU-", "GPU 0", "MiB", " MiB", "python", "torch", "sglang", "==", ">=", " @ ", "git+https://", "Version", "Name", "name",
    "id", "/usr/lib/libcuda.so.1", "0000:17:00.0", "sha256:", "sha256=", "2026-03-04T03:12:00Z", "Mar  4 03:12:00", "NVRM: Xid", "Start-Date", "Commandline",
    "Install", "status", "installed", "install ok installed", "Package", "kB", "cpu", "max", "unlimited", "$ ", "```", "> ", "Traceback", "Error: ",
    "server_args=", "ServerArgs(", "mem_fraction_static", "driver", "<nvidia_smi_log>", "</", "/>", "<?xml", "Filesystem", "drwxr-xr-x",
)
CALM = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def texts(most: int = 40) -> st.SearchStrategy[str]:
    """Return any text, or one of pieces that parsers know, or JSON of any shape."""
    return st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=most).map("".join), values().map(json.dumps))


def values() -> st.SearchStrategy:
    """Return JSON values of any shape, with names and words that parsers know among them."""
    words = st.one_of(st.text(max_size=12), st.sampled_from(PIECES))
    plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), words)
    return st.recursive(plain, lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(words, below, max_size=4)), max_leaves=12)
