"""A running server asked over loopback: real sockets that answer, never answer, flood, or want a key; and a real process that launches like SGLang."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

import pytest

from driftwatch.agent import processes
from driftwatch.agent.collectors import ask_server
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Absent, NotRecorded, Refusal, TimedOut
from driftwatch.agent.real import RealRoot
from driftwatch.model import matches
from tests.agent.recording import told
from tests.agent.serving_lab import host_of, process, record

SERVER = """
import http.server, json, os, sys, time
MODE, PORT, READY = os.environ["MODE"], int(sys.argv[sys.argv.index("--port") + 1]), int(os.environ["READY_ON"])
INFO = json.loads(os.environ["INFO"])

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if MODE == "mute":
            time.sleep(60)
        is_known = self.path == ("/get_server_info" if MODE == "old" else "/server_info")
        status = 401 if MODE == "key" else 200 if is_known else 404
        body = b"sorry" if MODE == "text" else json.dumps(INFO if status == 200 else {"error": "no"}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

served = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Page)
os.write(READY, b"x")
served.serve_forever()
"""
LISTENER = """
import socket, sys, time
address, said = sys.argv[1:]
door = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
door.bind((address, 0))
door.listen(4)
print(door.getsockname()[1], flush=True)
line, _ = door.accept()
line.recv(65536)
line.sendall(b"" if said == "mute" else b"HTTP/1.1 200 OK\\r\\n\\r\\n" if said == "flood" else bytes.fromhex(said))
while said == "flood":
    line.sendall(b"x" * 65536)
time.sleep(60 if said == "mute" else 0)
"""
INFO = {
    "model_path": "/models/m", "tp_size": 2, "mem_fraction_static": 0.87512, "api_key": "planted-key", "admin_api_key": "planted-admin", "random_seed": 7,
    "version": "0.5.9", "max_total_num_tokens": 900_000, "status": "ready",
    "internal_states": [{"memory_usage": {"weight": 14.98765, "graph": {"decode": 1.5}, "token_capacity": 900_000}, "env_vars": {"HF_TOKEN": "hf_x"}}],
}


def free_port():
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return line.getsockname()[1]


@pytest.fixture
def serving(tmp_path):
    """Return a starter of a process that launches like SGLang and serves in some mode; it gives the facts of its ``info``."""
    package = tmp_path / "code" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "launch_server.py").write_text(SERVER)
    children = []

    def facts(mode, *arguments, info=INFO):
        port = free_port()
        reader, writer = os.pipe()
        argv = [sys.executable, "-m", "sglang.launch_server", "--model-path", "/models/m", "--port", str(port), *arguments]
        env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "code"), "MODE": mode, "READY_ON": str(writer), "INFO": json.dumps(info)}
        children.append(subprocess.Popen(argv, pass_fds=(writer,), env=env, stderr=subprocess.DEVNULL))
        os.close(writer)
        assert os.read(reader, 1) == b"x"
        os.close(reader)
        found, status, reason = told(ask_server.collect, host_of(RealRoot()))
        assert (status, reason) == ("ok", "")
        assert all(matches(path, ask_server.PROBES[0].tells) for path in found)
        name = f"sglang@{port}" if any(path.startswith(f"servers/sglang@{port}/") for path in found) else "sglang"
        return {path.partition("/info")[2].lstrip("/"): value for path, value in found.items() if path.startswith(f"servers/{name}/info")}

    yield facts
    for child in children:
        child.kill()
        child.wait()


@contextlib.contextmanager
def listening(answer, address="127.0.0.1"):
    """Give the port of a process that takes one connection: it sends ``answer``, floods (``flood``) or says nothing (``mute``)."""
    said = answer if isinstance(answer, str) else answer.hex()
    with subprocess.Popen([sys.executable, "-c", LISTENER, address, said], stdout=subprocess.PIPE, text=True) as child:
        try:
            port = child.stdout.readline().strip()
            if not port:
                pytest.skip(f"nothing can listen on {address} here")
            yield int(port)
        finally:
            child.kill()


def host():
    return Host(RealRoot(), Settings())


def test_a_server_tells_its_arguments_its_memory_and_its_version(serving):
    facts = serving("usual")
    assert facts["answers"] is True
    assert (facts["version"], facts["args/tp_size"], facts["scheduler/max_total_num_tokens"]) == ("0.5.9", 2, 900_000)
    memory = {path.rpartition("DP0/")[2]: value for path, value in facts.items() if path.startswith("memory_usage/")}
    assert memory == {"weight_gib": 14.988, "graph/decode_gib": 1.5, "token_capacity": 900_000}
    assert facts["args/mem_fraction_static"] == "0.87512"


def test_keys_are_masked_and_variables_are_not_told(serving):
    facts = serving("usual")
    assert "planted" not in json.dumps(facts)
    assert "hf_x" not in json.dumps(facts)
    assert set(facts["args/api_key"]) == set(facts["args/admin_api_key"]) == {"keyed"}


def test_a_release_that_knows_only_the_old_page_is_asked_there(serving):
    assert serving("old")["version"] == "0.5.9"


def test_a_server_that_wants_its_api_key_is_denied(serving):
    facts = serving("key")
    assert (list(facts), facts[""].status) == ([""], "denied")


def test_a_scheduler_that_does_not_answer_is_evidence_and_holds_nobody(serving):
    begun = time.monotonic()
    facts = serving("mute")
    assert time.monotonic() - begun < 9
    assert (facts["answers"], facts[""].status) == (False, "timeout")
    assert facts[""].reason.endswith("the scheduler does not answer")


def test_what_is_no_json_leaves_the_server_unknown(serving):
    facts = serving("text")
    assert (list(facts), facts[""].status) == ([""], "error")


def test_a_server_behind_tls_is_not_asked(serving):
    assert serving("usual", "--ssl-certfile", "/x")[""].status == "not_recorded"


def test_an_answer_of_odd_shapes_tells_what_it_has(serving):
    states = [None, {"memory_usage": [1]}, {"memory_usage": {"weight": True, "kvcache": 1e300}}]
    facts = serving("usual", info={"version": 5, "internal_states": states, "x/y": [None]})
    assert facts == {"answers": True, "args/x%2Fy": [None]}


def test_a_port_where_nothing_listens_is_absent():
    with pytest.raises(Absent, match="nothing listens"):
        host().ask_loopback(free_port(), "/server_info")


def test_a_server_that_never_answers_is_given_up():
    begun = time.monotonic()
    with listening("mute") as port, pytest.raises(TimedOut):
        host().ask_loopback(port, "/server_info", 0.5)
    assert time.monotonic() - begun < 3


def test_a_server_that_floods_is_cut():
    with listening("flood") as port, pytest.raises(Refusal, match="larger than 1048576 bytes") as refused:
        host().ask_loopback(port, "/server_info")
    assert refused.value.status == "error"


@pytest.mark.parametrize("data", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/9 900\r\n\r\n"])
def test_what_speaks_no_http_is_unreadable(data):
    with listening(data) as port, pytest.raises(Refusal, match="no HTTP answer") as refused:
        host().ask_loopback(port, "/server_info")
    assert refused.value.status == "error"


def test_a_redirect_is_not_followed():
    with listening(b"HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n") as port:
        assert host().ask_loopback(port, "/server_info") == (302, "")


def test_a_proxy_of_the_environment_is_not_used(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with listening(b"HTTP/1.1 200 OK\r\n\r\n{}") as port:
        assert host().ask_loopback(port, "/server_info") == (200, "{}")


def test_a_server_of_the_newer_protocol_alone_is_found():
    with listening(b"HTTP/1.1 200 OK\r\n\r\n{}", "::1") as port:
        assert host().ask_loopback(port, "/server_info").body == "{}"


def test_nothing_of_a_question_is_left_running():
    before = processes.below(os.getpid())
    with listening("mute") as port, contextlib.suppress(TimedOut):
        host().ask_loopback(port, "/server_info", 0.3)
    assert set(processes.below(os.getpid())) <= set(before)


def test_a_recorded_host_cannot_be_asked(tmp_path):
    argv = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--port", "30000")
    root = record(tmp_path, {"/proc/stat": "cpu 1\nbtime 1771056480\n", **process(40, argv)})
    found, status, _ = told(ask_server.collect, host_of(root))
    assert (status, found["servers/sglang/info"].status) == ("ok", "not_recorded")
    with pytest.raises(NotRecorded):
        host_of(root).ask_loopback(30000, "/server_info")


def test_without_a_server_the_probe_is_absent(tmp_path):
    root = record(tmp_path, {"/proc/stat": "cpu 1\nbtime 1771056480\n", **process(1, ("/sbin/init",), ppid=0)})
    assert told(ask_server.collect, host_of(root))[1] == "absent"


def test_a_server_in_another_network_namespace_is_not_asked(tmp_path):
    argv = ("/opt/venv/bin/python3", "-m", "sglang.launch_server", "--port", "30000")
    links = {"/proc/40/ns/net": "net:[4026532999]", "/proc/self/ns/net": "net:[4026531840]"}
    found, _, _ = told(ask_server.collect, host_of(record(tmp_path, {"/proc/stat": "cpu 1\nbtime 1771056480\n", **process(40, argv)}, links)))
    assert "namespace" in found["servers/sglang/info"].reason
