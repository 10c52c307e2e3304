"""Frames among noise, the command line of stage 0, and foreign text made fit for a message."""

from __future__ import annotations

import random
import re

import pytest

from driftwatch.transports.wire import STAGE0, FrameReader, LinkLost, command, visible

FRAME = b'\x1eDW1 k7 {"frame":"facts","n":1}\n'


def test_frames_are_found_however_the_stream_is_cut():
    stream = b"motd without newline" + FRAME + b"noise\n" + FRAME + b"\x1eDW1 other {}\n" + FRAME + b"tail\x1eDW"
    for seed in range(200):
        cuts = random.Random(seed)
        reader, frames, rest = FrameReader("k7"), [], stream
        while rest:
            size = cuts.randint(1, 40)
            frames += reader.feed(rest[:size])
            rest = rest[size:]
        assert frames == [{"frame": "facts", "n": 1}] * 3
        assert reader.noise == b"motd without newlinenoise\n\x1eDW1 other {}\ntail"
        assert reader.noise_bytes == len(reader.noise)


@pytest.mark.parametrize("body", [b"{", b"[1]", b"7", b'{"a":NaN}', b'{"a":Infinity}', b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}", b'{"a":"\xff"}', b""])
def test_a_line_with_our_mark_that_is_no_frame_is_noise(body):
    reader = FrameReader("k7")
    assert reader.feed(b"\x1eDW1 k7 " + body + b"\n" + FRAME) == [{"frame": "facts", "n": 1}]
    assert reader.broken_frames == 1
    assert reader.noise_bytes == len(body) + 8


def test_a_frame_whose_writer_was_killed_does_not_break_the_next_one():
    assert FrameReader("k7").feed(b'\x1eDW1 k7 {"frame":"fac' + FRAME) == [{"frame": "facts", "n": 1}]


def test_only_the_end_of_a_flood_of_noise_is_kept():
    reader = FrameReader("k7")
    for _ in range(1000):
        assert reader.feed(b"y" * 65536) == []
    assert reader.feed(b"the end" + FRAME) != []
    assert (len(reader.noise), reader.noise[-7:], reader.noise_bytes) == (4096, b"the end", 65_536_007)


def test_a_frame_longer_than_8_mib_is_an_error():
    reader = FrameReader("k7")
    reader.feed(b"\x1eDW1 k7 " + b"x" * ((8 << 20) - 8))
    with pytest.raises(LinkLost, match="longer than 8 MiB"):
        reader.feed(b"x")


def test_stage_0_holds_nothing_that_a_shell_or_a_quote_would_change():
    assert set(STAGE0) & set("'\"\\$`!\t") == set()


def test_the_command_is_one_line_of_single_quotes_without_what_login_shells_expand():
    text = command("k7", ["python3", "/opt/with blank/bin/python", "/opt/@x/py,thon~+3"])
    assert re.fullmatch(r"exec /bin/sh -c '[^'!\n]+'", text)
    assert '"python3" "/opt/with blank/bin/python" "/opt/@x/py,thon~+3"' in text


@pytest.mark.parametrize("python", ["a'b", 'a"b', "a$(x)", "a`x`", "a\\b", "a!b", "a\nb", ""])
def test_a_python_that_cannot_be_named_in_quotes_is_left_out(python):
    assert command("k7", [python, "python3"]) == command("k7", ["python3"])
    with pytest.raises(LinkLost, match="no Python to try"):
        command("k7", [python])


@pytest.mark.parametrize("nonce", ["", "a b", "a'b", "$(x)", "k7\n"])
def test_a_nonce_is_letters_and_digits(nonce):
    with pytest.raises(ValueError, match="letters and digits"):
        command(nonce, ["python3"])


def test_foreign_text_is_escaped_and_cut():
    assert visible("a\x1b[2J\x9b\u202eb\n\udcff") == r"a\x1b[2J\x9b\u202eb\n\udcff"
    assert len(visible("x" * 10_000)) < 210
