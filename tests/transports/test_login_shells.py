"""The command line in real login shells, and stage 0 in real, old, broken and missing Pythons."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from driftwatch.transports.child import converse
from driftwatch.transports.conversation import Conversation
from driftwatch.transports.local import LocalTransport
from driftwatch.transports.wire import command
from tests.transports.listen import listen
from tests.transports.payload import shipment

SHELLS = ["bash", "dash", "fish", "tcsh", "ksh93", "zsh", "busybox"]


class Shell:
    """A login shell of this machine, as sshd would run it."""

    def __init__(self, *argv: str) -> None:
        self.argv = argv

    def stream(self, shipment, deadline_s):
        talk = Conversation(shipment, deadline_s)
        yield from converse([*self.argv, "-c", command(shipment.nonce, shipment.pythons)], talk, talk.lost_at_exit)


@pytest.fixture
def python(tmp_path):
    """Return a maker of stand-ins for python3: shell scripts in a folder of their own."""

    def make(name: str, script: str) -> str:
        made = tmp_path / name
        made.write_text(f"#!/bin/sh\n{script}\n")
        made.chmod(0o755)
        return str(made)

    return make


def old_pythons() -> list[Path]:
    """Return the Pythons of this machine that are too old, found by running them."""
    found = [Path("/usr/bin/python2"), *sorted((Path.home() / ".pyenv" / "versions").glob("*/bin/python"))]
    asked = "import sys; print(sys.version_info < (3, 8))"
    return [one for one in found if one.exists() and subprocess.run([one, "-c", asked], capture_output=True, text=True, check=False).stdout.strip() == "True"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_line_works_in_this_login_shell(shell):
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    argv = [found, "sh"] if shell == "busybox" else [found]
    heard = listen(Shell(*argv), shipment("answer", [sys.executable]), 5)
    assert (heard.kinds, heard.lost) == (["begin", "facts", "end"], None)


@pytest.mark.parametrize("shell", SHELLS)
def test_this_login_shell_tells_that_there_is_no_python(shell):
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    argv = [found, "sh"] if shell == "busybox" else [found]
    heard = listen(Shell(*argv), shipment("answer", ["no-such-python", "/no/such/python3"]), 5)
    assert "no Python on the host that starts: tried no-such-python, /no/such/python3" in heard.said
    assert "--python" in heard.said


def test_our_own_python_runs_the_agent_locally_and_the_payload_is_told_what_time_is_left():
    heard = listen(LocalTransport(), shipment("answer", ["/no/such/python"]), 5)
    begin = heard.frames[0]
    assert begin["python"] == sys.version.split()[0]
    assert 3 < begin["order"]["remaining_s"] <= 5


@pytest.mark.parametrize("broken", ["exit 127", "exit 126", "echo Fatal >&2; exit 1", "echo Unknown option: -E >&2; exit 2"])
def test_a_python_that_does_not_start_is_passed_over(python, broken):
    heard = listen(Shell("/bin/sh"), shipment("answer", [python("python3", broken), sys.executable]), 5)
    assert heard.kinds == ["begin", "facts", "end"]


def test_a_too_old_python_is_passed_over_for_a_newer_one():
    old = old_pythons()
    if not old:
        pytest.skip("no Python older than 3.8 here (looked in ~/.pyenv/versions and for /usr/bin/python2)")
    heard = listen(Shell("/bin/sh"), shipment("answer", [*map(str, old), sys.executable]), 5)
    assert heard.kinds == ["begin", "facts", "end"]


def test_where_all_are_too_old_each_is_named_with_version_and_path():
    old = old_pythons()
    if not old:
        pytest.skip("no Python older than 3.8 here (looked in ~/.pyenv/versions and for /usr/bin/python2)")
    heard = listen(Shell("/bin/sh"), shipment("answer", [*map(str, old)]), 5)
    assert "only a too old Python on the host: " in heard.said
    for one in old:
        assert str(one.parent) in heard.said
    assert "3.8 or newer" in heard.said


def test_a_python_without_memfd_keeps_the_code_in_nameless_memory(python):
    if not Path("/dev/shm").is_dir():
        pytest.skip("no /dev/shm here")
    before = sorted(Path("/dev/shm").iterdir())
    poor = python("python3", f'code="$5"; shift 5; exec {sys.executable} -E -s -S -c "import os; del os.memfd_create; $code" "$@"')
    heard = listen(Shell("/bin/sh"), shipment("answer", [poor]), 5)
    assert heard.kinds == ["begin", "facts", "end"]
    assert sorted(Path("/dev/shm").iterdir()) == before


def test_modules_in_the_login_folder_are_not_imported(tmp_path, monkeypatch):
    for name in ("json", "zlib", "signal", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('foreign code ran')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert listen(LocalTransport(), shipment("answer"), 5).kinds == ["begin", "facts", "end"]


@pytest.mark.parametrize(("act", "said"), [
    ("raises", 'the agent ended before its end frame: the agent failed; its last words: "ValueError: the agent has a bug"'),
    ("leaves", "the agent ended before its end frame"),
    ("flood", "more than 64 MiB"),
    ("complain", "more than 64 MiB"),
    ("one_long_frame", "longer than 8 MiB"),
])
def test_an_agent_that_breaks_the_rules_is_ended_at_once(act, said):
    heard = listen(LocalTransport(), shipment(act), 10)
    assert said in heard.said
    assert heard.kinds == ["begin"]
    assert heard.elapsed_s < 5


def test_a_process_that_holds_the_pipe_after_the_end_costs_two_seconds_at_most():
    heard = listen(LocalTransport(), shipment("holds_the_pipe"), 4)
    assert heard.kinds == ["begin", "child", "end"]


def test_a_login_shell_that_only_says_no_is_quoted_without_its_control_characters(python):
    heard = listen(Shell(python("nologin", r"printf '\033[2JThis account is not available.\n'; exit 1")), shipment("answer"), 5)
    assert r'the login shell ended with code 1 before an agent could start; its last words: "\x1b[2JThis account is not available."' in heard.said


def test_a_login_shell_that_hangs_is_ended_at_the_deadline(python):
    heard = listen(Shell(python("hang", "echo -n Password:; trap '' TERM HUP; sleep 60 & wait")), shipment("answer"), 1)
    assert "no answer from an agent in 1 s" in heard.said
    assert 'its last words: "Password:"' in heard.said
