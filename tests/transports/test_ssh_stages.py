"""What ssh prints of its progress is taken out of what the host complains, however the stream is cut, and tells the step that was reached."""

from __future__ import annotations

import random

import pytest

from driftwatch.transports.ssh_stages import STAGES, Progress

LOG = (b"debug1: Reading configuration data /dev/null\r\ndebug1: Connecting to 127.0.0.1 [127.0.0.1] port 22.\r\ndebug1: Connection established.\r\n"
       b"debug1: Remote protocol version 2.0, remote software version OpenSSH_9.2p1\r\nWelcome to gpu-a\r\ndebug1: SSH2_MSG_NEWKEYS received\r\n"
       b'debug1: SSH2_MSG_SERVICE_ACCEPT received\r\nAuthenticated to 127.0.0.1 ([127.0.0.1]:22) using "publickey".\r\ndebug1: Sending command: x\r\n'
       b"Password: ")


def test_the_hosts_own_words_stay_and_ssh_s_go_however_they_are_cut():
    for seed in range(100):
        cuts, progress, kept, rest = random.Random(seed), Progress(), b"", LOG
        while rest:
            size = cuts.randint(1, 50)
            kept += progress.hear(rest[:size])
            rest = rest[size:]
        assert kept == b"Welcome to gpu-a\r\nPassword: "
        assert "no agent answered in 6 s" in progress.lost("gpu-a", 6, "").reason


@pytest.mark.parametrize("number", range(len(STAGES)))
def test_the_step_that_was_reached_is_told(number):
    progress = Progress()
    for stage in STAGES[1:number + 1]:
        progress.hear(f"{stage.line} and so on\r\n".encode())
    lost = progress.lost("gpu-a port 22", 60, "Password:")
    assert lost.reason == STAGES[number].reason.format(host="gpu-a port 22", s=60) + '; its last words: "Password:"'
    assert lost.advice == STAGES[number].advice


def test_a_host_cannot_take_a_step_back_or_be_held_back_for_ever():
    progress = Progress()
    progress.hear(b"Authenticated to x\ndebug1: Connecting to y\n")
    assert "took the login" in progress.lost("gpu-a", 6, "").reason
    assert progress.hear(b"debug1: " + b"x" * 10_000) == b"debug1: " + b"x" * 10_000


def test_a_master_of_the_users_own_counts_as_logged_in():
    progress = Progress()
    progress.hear(b"debug1: auto-mux: Trying existing master at '/x'\r\ndebug1: mux_client_request_session: master session id: 2\r\n")
    assert "took the login" in progress.lost("gpu-a", 6, "").reason
