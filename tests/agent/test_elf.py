"""The reader of shared objects: what a compiler wrote is read back, from as few bytes as that takes, and what was cut or made up is refused."""

from __future__ import annotations

import contextlib
import os
import time

import pytest

from driftwatch.agent import elf
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Unknown, Unreadable
from driftwatch.agent.real import RealRoot
from tests.lab.shared_objects import defining, expecting, fat_binary, library, without_sections

WARN = "_ZN3c104warnERKNS_7WarningE"
EMPTY = "_ZNK2at6Tensor5emptyENSt7__cxx1112basic_stringE"


def host():
    return Host(RealRoot(), Settings())


def examined(path, question):
    return host().examine(str(path), question)


def linked(path):
    return examined(path, lambda read, size: elf.linked(read, elf.parse_image(read, size)))


def symbols(path):
    return examined(path, lambda read, size: [name.decode() for name in elf.of_torch(elf.undefined(read, elf.parse_image(read, size)))])


def architectures(path):
    return examined(path, lambda read, size: elf.architectures(read, elf.parse_image(read, size), size))


def defined(path, *names):
    wanted = [name.encode() for name in names]
    return set(examined(path, lambda read, size: sorted(name.decode() for name in elf.defined(read, elf.parse_image(read, size), wanted))))


def test_needed_libraries_own_name_and_search_path_are_read_back(tmp_path):
    library(tmp_path / "libnvrtc.so.12", "int nvrtc;", "-Wl,-soname,libnvrtc.so.12")
    made = library(tmp_path / "ops.so", "extern int nvrtc; int *go(void) { return &nvrtc; }", str(tmp_path / "libnvrtc.so.12"),
                   "-Wl,-soname,ops.so.1", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../nvidia/lib")
    assert linked(made) == {"needed": ["libnvrtc.so.12"], "soname": "ops.so.1", "runpath": "$ORIGIN/../nvidia/lib"}


def test_a_library_that_needs_nothing_says_so(tmp_path):
    assert linked(library(tmp_path / "plain.so", "int a;")) == {"needed": []}


def test_the_names_expected_of_torch_are_found_among_others(tmp_path):
    made = library(tmp_path / "ops.so", expecting(WARN, EMPTY, "cudaMalloc", "_ZNSt6thread4joinEv"))
    assert symbols(made) == [WARN, EMPTY]


def test_names_are_found_without_section_headers(tmp_path):
    made = without_sections(library(tmp_path / "ops.so", expecting(WARN, EMPTY), "-Wl,--hash-style=gnu"))
    assert symbols(made) == [WARN, EMPTY]
    assert symbols(without_sections(library(tmp_path / "old.so", expecting(WARN), "-Wl,--hash-style=sysv"))) == [WARN]


def test_a_summary_counts_names_of_the_newer_string():
    told = elf.summary([WARN.encode(), EMPTY.encode()])
    assert (told["count"], told["cxx11"], told["some"]) == (2, 1, [WARN, EMPTY])


def test_what_a_library_defines_is_looked_up_in_its_hash_table(tmp_path):
    names = [f"_ZN3c10{number}f{number}Ev" for number in range(300)]
    made = library(tmp_path / "libc10.so", defining(*names), "-Wl,--hash-style=gnu")
    assert defined(made, *names, "_ZN3c104goneEv") == set(names)


def test_without_that_table_all_symbols_are_looked_at(tmp_path):
    made = library(tmp_path / "old.so", defining(WARN), "-Wl,--hash-style=sysv")
    assert defined(made, WARN, EMPTY) == {WARN}
    assert defined(library(tmp_path / "user.so", expecting(WARN), "-Wl,--hash-style=sysv"), WARN) == set()


def test_architectures_of_all_fat_binaries_are_found(tmp_path):
    code = fat_binary(("sm", 80), ("sm", 90)) + bytes(24) + fat_binary(("sm", 100), ("compute", 90))
    assert architectures(library(tmp_path / "ops.so", "int a;", device_code=code)) == ["sm_80", "compute_90", "sm_90", "sm_100"]


def test_architectures_are_found_without_section_headers(tmp_path):
    made = without_sections(library(tmp_path / "ops.so", "int a;", device_code=fat_binary(("sm", 89))))
    assert architectures(made) == ["sm_89"]


def test_the_magic_number_alone_is_no_device_code(tmp_path):
    code = bytes.fromhex("50ed55ba") * 40 + fat_binary(("sm", 75))
    assert architectures(library(tmp_path / "ops.so", "int a;", device_code=code)) == ["sm_75"]


def test_a_library_of_the_host_alone_has_no_architectures(tmp_path):
    assert architectures(library(tmp_path / "plain.so", "int a;")) == []


def test_hundreds_of_mib_of_device_code_are_walked_and_not_read(tmp_path):
    made = library(tmp_path / "ops.so", "int a;", device_code=fat_binary(("sm", 90), payload=64))
    whole = made.stat().st_size
    with made.open("r+b") as file:  # one fat binary of 400 MiB with a hole for its code, behind the file as it was
        file.seek(whole)
        file.write(fat_binary(("sm", 80), payload=0)[:16][:8] + (64 + (400 << 20)).to_bytes(8, "little"))
        file.write(fat_binary(("sm", 80), payload=0)[16:24] + (400 << 20).to_bytes(8, "little") + fat_binary(("sm", 80), payload=0)[32:])
        file.truncate(whole + 16 + 64 + (400 << 20))
    begun = time.monotonic()
    assert architectures(without_sections(made)) == ["sm_80", "sm_90"]
    assert time.monotonic() - begun < 2


def test_a_file_that_was_cut_says_so(tmp_path):
    made = library(tmp_path / "ops.so", "int a[99999] = {1};")
    os.truncate(made, 9000)
    with pytest.raises(Unreadable, match=r"ops\.so: cut: its headers speak of \d+ bytes, 9000 are there"):
        linked(made)


@pytest.mark.parametrize(("data", "why"), [
    (b"", "cut: 0 bytes"), (b"\x7fELF\x02\x01\x01" + bytes(20), "cut: 27 bytes"),
    (b"\x7fELF\x01\x01\x01" + bytes(90), "no 64-bit"), (b"<html>" + bytes(90), "no 64-bit"),
    (b"\x7fELF\x02\x01\x01" + bytes(90), "without program headers"), (b"\x7fELF\x02\x01\x01" + b"\xff" * 90, "without program headers"),
    ((b"\x7fELF\x02\x01\x01" + bytes(25) + b"\xff" * 16 + bytes(6) + b"\x38\x00\x02\x00").ljust(90, b"\0"), "byte"),
])
def test_what_is_no_shared_object_is_refused_with_the_reason(tmp_path, data, why):
    path = tmp_path / "x.so"
    path.write_bytes(data)
    with pytest.raises(Unreadable, match=why):
        linked(path)


def look_at_all(data):
    """Ask everything of a file's bytes; only a refusal may come in the place of an answer."""
    def read(offset, size):
        return data[offset : offset + size]

    for question in (elf.linked, elf.undefined, lambda read, image: elf.architectures(read, image, len(data)), lambda *asked: elf.defined(*asked, [b"go"])):
        with contextlib.suppress(Unreadable):
            question(read, elf.parse_image(read, len(data)))


def test_no_cut_and_no_flipped_byte_of_the_headers_makes_anything_but_an_answer_or_a_refusal(tmp_path):
    data = library(tmp_path / "ops.so", expecting(WARN), device_code=fat_binary(("sm", 90))).read_bytes()
    for size in range(0, len(data), 997):
        look_at_all(data[:size])
    for at in range(0, 1000, 3):
        look_at_all(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1:])


def test_a_fifo_and_a_missing_file_hold_nobody(tmp_path):
    os.mkfifo(str(tmp_path / "pipe.so"))
    asked = host()
    assert asked.attempt(asked.examine, str(tmp_path / "pipe.so"), elf.parse_image).status == "error"
    assert asked.attempt(asked.examine, str(tmp_path / "gone.so"), elf.parse_image) is None


def test_a_question_that_does_not_end_costs_its_own_deadline(tmp_path):
    (tmp_path / "x.so").write_bytes(b"x")
    begun = time.monotonic()
    asked = host()
    found = asked.attempt(asked.examine, str(tmp_path / "x.so"), lambda _read, _size: time.sleep(60), 0.3)
    assert isinstance(found, Unknown)
    assert found.status == "timeout"
    assert time.monotonic() - begun < 3
