"""Makes real shared objects with the C compiler, and fat binaries as CUDA's tools lay them out, without CUDA."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest


def fat_binary(*pieces: tuple[str, int], payload: int = 200) -> bytes:
    """Return one fat binary with these pieces: ("sm" or "compute", number), each with this many bytes of code."""
    entries = b""
    for kind, number in pieces:
        head = struct.pack("<HHIQ12xI", 2 if kind == "sm" else 1, 0x101, 64, payload, number)
        entries += head.ljust(64, b"\0") + b"\xcc" * payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def library(path: Path, source: str, *options: str, device_code: bytes = b"") -> Path:
    """Compile a shared object; its device code goes into the section where CUDA puts it. Skips the test where there is no compiler."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here: shared objects cannot be made")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.with_suffix(".c")
    text.write_text(source)
    if device_code:
        blob = path.with_suffix(".bin")
        blob.write_bytes(device_code)
        text.write_text(source + f'\n__asm__(".section .nv_fatbin,\\"a\\"\\n.balign 8\\n.incbin \\"{blob}\\"\\n.text");\n')
    subprocess.run(["gcc", "-shared", "-fPIC", "-nostdlib", "-o", str(path), str(text), *options], check=True)
    for rest in (text, path.with_suffix(".bin")):
        rest.unlink(missing_ok=True)
    return path


def expecting(*names: str) -> str:
    """Return C source that calls functions of these mangled names, which others must define."""
    declared = "".join(f'extern int f{number}(void) __asm__("{name}");\n' for number, name in enumerate(names))
    return declared + "int go(void) { return " + " + ".join([f"f{number}()" for number in range(len(names))] or ["0"]) + "; }\n"


def defining(*names: str) -> str:
    """Return C source that defines functions of these mangled names."""
    return "".join(f'int f{number}(void) __asm__("{name}"); int f{number}(void) {{ return 0; }}\n' for number, name in enumerate(names))


def without_sections(path: Path) -> Path:
    """Take the section headers out of a shared object, as some strippers do."""
    with path.open("r+b") as file:
        for at, size in ((40, 8), (58, 6)):
            file.seek(at)
            file.write(bytes(size))
    return path
