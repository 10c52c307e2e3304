"""The agent over ``exec -i``: what the clients are asked, what their complaints mean, and that no runtime can hold us.

The clients are stand-ins that take the real ones' command lines (tests/lab/containers.py); the real docker, podman and kubectl are asked where they are.
"""
from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from driftwatch.transports.destination import Options, parse_destination
from driftwatch.transports.opening import open_transport
from tests.lab.containers import OLD_PYTHON, Rooms, real_podman
from tests.lab.sshd import running_sshd
from tests.transports.listen import listen, processes_that_name, take
from tests.transports.payload import shipment

TO = {"docker": "docker://{}", "podman": "podman://{}", "kubectl": "kubectl://serving/{}"}
PYTHONS = ("no-such-python", "python3")
STALLS = {"silent": "gave no answer in 1 s", "floods": "sent more than 64 MiB", "complains": "gave no answer|sent more than", "drips": "gave no answer in 1 s",
          "lingers": "ended with code 1"}
MID_RUN = {"hang": "in mid-run", "deaf": "in mid-run", "drip": "in mid-run", "flood": "sent more than 64 MiB", "complain": "in mid-run|sent more than",
           "raises": "the agent failed", "leaves": "ended before its end frame"}


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    made = Rooms(tmp_path_factory.mktemp("rooms"))
    made.make("web")
    made.make("web.main")
    made.make("bare", noop="#!/bin/sh\n")
    made.make("aged", python3=OLD_PYTHON)
    made.make("off", "stopped")
    for state in STALLS:
        made.make(state, state)
    return made


@pytest.fixture
def on_path(rooms, monkeypatch):
    monkeypatch.setenv("PATH", rooms.path)


def ask(text, act="answer", deadline_s=5, pythons=PYTHONS, **options):
    return listen(open_transport(parse_destination(text), Options(**options)), shipment(act, pythons), deadline_s)


@pytest.mark.parametrize("to", [*(one.format("web") for one in TO.values()), "kubectl://serving/web/main"])
def test_the_agent_answers_from_inside_and_sees_the_container_s_own_environment(on_path, rooms, to):
    heard = ask(to)
    assert heard.kinds == ["begin", "facts", "end"]
    assert heard.frames[0]["home"].startswith(str(rooms.folder / "rooms/web"))


@pytest.mark.parametrize("scheme", TO)
def test_an_image_without_python_is_told_so_with_what_was_tried_and_what_to_do(on_path, scheme):
    assert ask(TO[scheme].format("bare")).said == (
        f"no Python in {TO[scheme].format('bare')} that starts: tried no-such-python, python3 | "
        "name one with --python PATH (3.8 or newer); an image without Python can only be looked at from its host")


@pytest.mark.parametrize("scheme", TO)
def test_a_too_old_python_is_told_with_its_version(on_path, scheme):
    assert "only a too old Python on the host: 3.6.8 at /usr/bin/python3" in ask(TO[scheme].format("aged")).said


def test_the_next_python_is_tried_after_one_that_is_too_old(on_path, rooms):
    rooms.make("mixed", python3=OLD_PYTHON)
    (rooms.folder / "rooms/mixed/bin/python3.11").symlink_to(sys.executable)
    assert ask("docker://mixed", pythons=("python3", "python3.11")).kinds == ["begin", "facts", "end"]


def test_the_next_python_is_tried_after_a_shim_that_stands_for_none(on_path, rooms):
    rooms.make("shim", python3="#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n")
    assert 'ended with code 127 before an agent could start: "pyenv: python3: command not found"' in ask("podman://shim").said
    (rooms.folder / "rooms/shim/bin/python3.11").symlink_to(sys.executable)
    assert ask("podman://shim", pythons=("python3", "python3.11")).kinds == ["begin", "facts", "end"]


@pytest.mark.parametrize(("scheme", "said"), [
    ("docker", "the container of docker://off does not run"), ("podman", "the container of podman://off does not run"),
    ("kubectl", "the container of kubectl://serving/off does not run"),
])
def test_a_container_that_does_not_run_is_no_hang(on_path, scheme, said):
    assert said in ask(TO[scheme].format("off")).said


@pytest.mark.parametrize("scheme", TO)
def test_a_container_that_is_not_there_is_named(on_path, scheme):
    assert f"there is no {'pod' if scheme == 'kubectl' else 'container'} for {TO[scheme].format('nosuch')}" in ask(TO[scheme].format("nosuch")).said


@pytest.mark.parametrize(("words", "said"), [
    ('Error from server (Forbidden): pods "web" is forbidden: User "ops" cannot create resource "pods/exec" in API group "" in the namespace "serving"',
     "the cluster refuses exec"),
    ("error: You must be logged in to the server (Unauthorized)", "does not take this login"),
    ("Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout", "the cluster cannot be reached"),
    ("error: cannot exec into a container in a completed pod; current phase is Succeeded", "does not run"),
    ('Error from server (NotFound): namespaces "serving" not found', "there is no namespace"),
    ("something new \x1b[2J", r'before an agent could start: "something new \x1b[2J" | try it by hand: kubectl exec -i --namespace=serving'),
])
def test_what_kubectl_says_without_access_is_one_sentence_with_what_to_do(on_path, rooms, words, said):
    rooms.make(f"pod-{abs(hash(words))}", words)
    heard = ask(f"kubectl://serving/pod-{abs(hash(words))}")
    assert said in heard.said
    assert heard.lost.reason.isprintable()


@pytest.mark.parametrize(("words", "said"), [
    ("permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock", "this user may not ask docker's daemon"),
    ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "docker's daemon cannot be reached"),
    ("Error response from daemon: Container 3f is paused, unpause the container before exec", "is paused"),
])
def test_what_docker_says_is_one_sentence_with_what_to_do(on_path, rooms, words, said):
    rooms.make(f"c{abs(hash(words))}", words)
    assert said in ask(f"docker://c{abs(hash(words))}").said


@pytest.fixture(scope="module")
def stalls(rooms):
    """Take all that stalls side by side: what was heard by (container, act), and the nonces."""
    before = os.environ["PATH"]
    os.environ["PATH"] = rooms.path
    rows = [*((name, "answer") for name in STALLS), *(("web", act) for act in MID_RUN)]
    sent = {row: shipment(row[1], ("python3",)) for row in rows}
    try:
        with ThreadPoolExecutor(4) as pool:
            asked = {row: pool.submit(take, open_transport(parse_destination(f"docker://{row[0]}"), Options()), sent[row], 1) for row in rows}
            return {row: (one.result(), sent[row].nonce) for row, one in asked.items()}
    finally:
        os.environ["PATH"] = before


@pytest.mark.parametrize("row", [*((name, "answer") for name in STALLS), *(("web", act) for act in MID_RUN)], ids="-".join)
def test_no_runtime_and_no_agent_inside_can_hold_us(stalls, row):
    heard, nonce = stalls[row]
    assert heard.elapsed_s < 5
    assert re.search({**STALLS, **MID_RUN}[row[0] if row[1] == "answer" else row[1]], heard.said)
    assert [pid for pid in processes_that_name(nonce) if row[1] != "deaf"] == []


def test_a_client_that_is_not_installed_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no docker on this machine's PATH" in ask("docker://web").said
    assert "there is no kubectl on this machine's PATH" in ask("kubectl://n/p").said


def test_a_container_on_another_machine_is_reached_through_its_sshd(rooms, tmp_path):
    with running_sshd(tmp_path / "host", environment=f"PATH={rooms.path}") as server:
        ways = {"known_hosts": server.known_hosts, "identity": server.identity, "ssh_config": "/dev/null"}
        at = f"@{server.user}@127.0.0.1:{server.port}"
        assert ask(f"docker://web{at}", **ways).kinds == ["begin", "facts", "end"]
        assert "no Python in docker://bare@" in ask(f"docker://bare{at}", **ways).said
        assert "the container of podman://off@" in ask(f"podman://off{at}", **ways).said
        assert "is not known" in ask(f"docker://web{at}", **{**ways, "known_hosts": "/dev/null"}).said


def test_a_far_client_that_hangs_does_not_outlive_us_for_long(rooms, tmp_path):
    with running_sshd(tmp_path / "host", environment=f"PATH={rooms.path}") as server:
        to = parse_destination(f"docker://silent@{server.user}@127.0.0.1:{server.port}")
        sent = shipment("answer", PYTHONS)
        options = Options(known_hosts=server.known_hosts, identity=server.identity, ssh_config="/dev/null")
        assert "gave no answer in 1 s" in listen(open_transport(to, options), sent, 1).said
        stop = time.monotonic() + 5
        while processes_that_name(sent.nonce):
            assert time.monotonic() < stop
            time.sleep(0.1)


def test_a_far_machine_that_never_speaks_ssh_is_told_by_the_step_at_which_ssh_stopped():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = ask(f"docker://web@127.0.0.1:{silent.getsockname()[1]}", deadline_s=1.5, ssh_config="/dev/null").said
    assert "sent no SSH banner" in said or "did not answer in time" in said


def test_a_host_without_the_client_is_told_so(tmp_path):
    with running_sshd(tmp_path / "host", environment=f"PATH={tmp_path}") as server:
        ways = {"known_hosts": server.known_hosts, "identity": server.identity, "ssh_config": "/dev/null"}
        assert "podman is not found on 127.0.0.1" in ask(f"podman://web@{server.user}@127.0.0.1:{server.port}", **ways).said


def test_a_real_container_is_seen_from_inside_and_its_agent_ends_with_the_client(monkeypatch):
    with real_podman("dw-web") as clients:
        monkeypatch.setenv("PATH", f"{clients}:{os.environ['PATH']}")
        heard = ask("podman://dw-web")
        assert heard.kinds == ["begin", "facts", "end"]
        assert heard.agent_pid < 1000  # it has process numbers of its own
        sent = shipment("hang", ("python3",))
        cut = listen(open_transport(parse_destination("podman://dw-web"), Options()), sent, 2)
        assert "in mid-run" in cut.said
        assert processes_that_name(sent.nonce) == []
        assert "no Python in podman://dw-web that starts" in ask("podman://dw-web", pythons=("no-such-python", "/no/python", "/etc/passwd")).said
        subprocess.run([clients / "podman", "stop", "--time=0", "dw-web"], check=True, capture_output=True)
        assert "the container of podman://dw-web does not run" in ask("podman://dw-web").said
        assert "there is no container for podman://nosuch" in ask("podman://nosuch").said


@pytest.mark.parametrize(("client", "to", "said"), [("docker", "docker://web", "docker's daemon cannot be reached"),
                                                    ("kubectl", "kubectl://serving/web", "the cluster cannot be reached")])
def test_the_real_client_s_words_for_a_dead_daemon_are_understood(client, to, said, tmp_path, monkeypatch):
    require_real(client)
    point_at(tmp_path, monkeypatch, f"unix://{tmp_path}/nobody.sock", "http://127.0.0.1:9")
    assert said in ask(to).said


@pytest.mark.parametrize(("client", "to"), [("docker", "docker://web"), ("kubectl", "kubectl://serving/web")])
def test_the_real_client_of_a_daemon_that_never_answers_is_left_at_the_deadline(client, to, tmp_path, monkeypatch):
    require_real(client)
    with socket.socket(socket.AF_UNIX) as daemon, socket.create_server(("127.0.0.1", 0)) as server:
        daemon.bind(str(tmp_path / "d.sock"))
        daemon.listen()
        point_at(tmp_path, monkeypatch, f"unix://{tmp_path}/d.sock", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert "gave no answer in 1 s (no ready frame)" in ask(to, deadline_s=1).said


def require_real(client):
    if shutil.which(client) is None:
        pytest.skip(f"no real {client} here")


def point_at(folder, monkeypatch, daemon, server):
    """Point the real clients at a daemon and a cluster of this test's own."""
    (folder / "kubeconfig").write_text(
        f"apiVersion: v1\nkind: Config\ncurrent-context: t\nclusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
        "users: [{name: u, user: {token: t}}]\ncontexts: [{name: t, context: {cluster: c, user: u}}]\n")
    monkeypatch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("DOCKER_HOST", daemon)
