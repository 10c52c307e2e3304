"""Hosts behind jump hosts, with real ones: one shared connection to each, a limit, our safety options there too, and nothing left at the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from driftwatch.transports.destination import Destination, Options
from driftwatch.transports.jumps import Jumps
from driftwatch.transports.openssh import OpenSSH
from tests.lab.sshd import Server, is_gone, make_key, running_sshd
from tests.transports.listen import processes_that_name, take
from tests.transports.payload import shipment

ROOT = Path(__file__).parents[2]
PYTHONS = [sys.executable]


@dataclass(frozen=True)
class Site:
    """A host behind two jump hosts, and the user's configuration that says so."""

    first: Server
    second: Server
    host: Server
    folder: Path

    def config(self, name: str, first: str = "", top: str = "") -> str:
        """Return a configuration; ``first`` are further lines for the first jump host, ``top`` lines that go before all."""
        made = self.folder / name
        known = "".join(Path(one.known_hosts).read_text() for one in (self.first, self.second, self.host))
        (self.folder / "known").write_text(known)
        made.write_text(top + "".join(
            f"Host {alias}\n HostName 127.0.0.1\n Port {server.port}\n HostKeyAlias [127.0.0.1]:{server.port}\n{more}\n"
            for alias, server, more in (
                ("first", self.first, first), ("second", self.second, " ProxyJump first"),
                ("gpu-a gpu-b gpu-c gpu-d gpu-e gpu-f", self.host, " ProxyJump second"),
                ("gpu-near", self.host, " ProxyJump first")))
            + f"Host *\n IdentityFile {self.host.identity}\n UserKnownHostsFile {self.folder}/known\n")
        return str(made)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if shutil.which("ssh") is None:
        pytest.skip("no ssh client here: install openssh-client")
    folder = tmp_path_factory.mktemp("site")
    with ExitStack() as stack:
        servers = [stack.enter_context(running_sshd(folder / name)) for name in ("first", "second", "host")]
        for one in servers[:2]:
            shutil.copy(servers[2].folder / "client_key.pub", one.folder / "authorized_keys")
        yield Site(*servers, folder)


@pytest.fixture
def jumps():
    made = Jumps()
    yield made
    made.close()


def ask(config: str, jumps: Jumps | None, name: str = "gpu-a", act: str = "answer", deadline_s: float = 10):
    return take(OpenSSH(Destination("openssh", name), Options(ssh_config=config, jumps=jumps)), shipment(act, PYTHONS), deadline_s)


def masters(config: str) -> list[int]:
    return [pid for pid in processes_that_name(config) if "-M" in Path(f"/proc/{pid}/cmdline").read_text().split("\0") and is_ssh(pid)]


def is_ssh(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text() == "ssh\n"


def test_one_connection_to_each_jump_host_serves_all_hosts_behind_it(site, jumps):
    config = site.config("shared")
    for name in ("gpu-a", "gpu-b", "gpu-near"):
        heard = ask(config, jumps, name)
        assert heard.kinds == ["begin", "facts", "end"], heard.lost
    assert len(masters(config)) == 2
    jumps.close()
    assert processes_that_name(config) == []


def test_without_shared_jumps_ssh_does_them_by_itself(site):
    config = site.config("alone")
    assert ask(config, None).kinds == ["begin", "facts", "end"]
    assert all(is_gone(pid) for pid in processes_that_name(config))


def test_no_more_hosts_than_allowed_are_reached_through_a_jump_host_at_once(site):
    config, jumps, lock, now, most = site.config("limited"), Jumps(2), threading.Lock(), set(), []

    def watch(name, frame):
        with lock:
            (now.add if frame["frame"] == "begin" else now.discard)(name)
            most.append(len(now))

    def one(name):
        transport = OpenSSH(Destination("openssh", name), Options(ssh_config=config, jumps=jumps))
        return take(transport, shipment("answer", PYTHONS), 10, lambda frame: watch(name, frame) if frame["frame"] != "facts" else time.sleep(0.2))

    with ThreadPoolExecutor(6) as pool:
        heard = list(pool.map(one, ["gpu-a", "gpu-b", "gpu-c", "gpu-d", "gpu-e", "gpu-f"]))
    jumps.close()
    assert [one.kinds for one in heard] == [["begin", "facts", "end"]] * 6
    assert max(most) == 2


def test_masters_end_with_a_controller_that_is_killed(site):
    config = site.config("killed")
    program = f"""
import time
from tests.transports.test_jumps import ask, Jumps
jumps = Jumps()
print(ask({config!r}, jumps).kinds, [one.folder for one in jumps._jumps.values()], flush=True)
time.sleep(60)
"""
    controller = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    told = controller.stdout.readline()
    assert told.startswith("['begin', 'facts', 'end']")
    folders = [word.strip("[],'\n") for word in told.split() if "/dw" in word]
    assert len(masters(config)) == len(folders) == 2
    controller.kill()
    controller.communicate()
    stop = time.monotonic() + 3
    while (processes_that_name(config) or any(map(os.path.exists, folders))) and time.monotonic() < stop:
        time.sleep(0.05)
    assert processes_that_name(config) == []
    assert not any(map(os.path.exists, folders))


def test_a_master_of_the_users_own_is_used_and_left_alone(site, jumps):
    socket = site.folder / "own"
    config = site.config("own-master", f" ControlPath {socket}")
    own = subprocess.Popen(["ssh", "-F", config, "-M", "-N", "first"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        stop = time.monotonic() + 5
        while not socket.exists() and time.monotonic() < stop:
            time.sleep(0.02)
        assert ask(config, jumps, "gpu-near").kinds == ["begin", "facts", "end"]
        assert masters(config) == [own.pid]
        jumps.close()
        assert own.poll() is None
    finally:
        own.terminate()
        own.wait(5)


def test_the_users_wishes_for_a_jump_host_keep_nothing_there_and_take_no_key(site, jumps):
    ran = site.folder / "PWNED"
    config = site.config("wishes", f" ControlMaster auto\n ControlPath {site.folder}/wished\n ControlPersist yes\n ForwardAgent yes\n PermitLocalCommand yes\n"
                         f" LocalCommand touch {ran}\n RequestTTY force\n LogLevel QUIET")
    assert ask(config, jumps, "gpu-near").kinds == ["begin", "facts", "end"]
    jumps.close()
    assert processes_that_name(config) == []
    assert not ran.exists()
    strange = site.config("strange", f" StrictHostKeyChecking no\n UserKnownHostsFile {site.folder}/nobody")
    assert "at the jump host: the host key of first is not known" in ask(strange, Jumps(), "gpu-near").said
    assert not (site.folder / "nobody").exists()


RELAY = """
import os, socket, sys, threading
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def up():
    while piece := os.read(0, 65536):
        line.sendall(piece)
    os._exit(0)
threading.Thread(target=up).start()
while piece := line.recv(65536):
    os.write(1, piece)
os._exit(0)
"""


def test_a_jump_host_behind_a_proxy_command_is_reached_through_it(site, jumps):
    (site.folder / "relay.py").write_text(RELAY)
    config = site.config("relayed", top=f"Host first\n Port 1\n ProxyCommand {sys.executable} {site.folder}/relay.py {site.first.port}\n")
    assert ask(config, jumps, "gpu-near").kinds == ["begin", "facts", "end"]


def test_a_jump_host_that_refuses_is_named_and_not_asked_again_at_once(site, jumps):
    make_key(site.folder / "stranger")
    config = site.config("refused", f" IdentityFile {site.folder}/stranger\n IdentitiesOnly yes", "")
    Path(config).write_text(Path(config).read_text().replace(f"Host *\n IdentityFile {site.host.identity}\n", "Host *\n"))
    first, second = (ask(config, jumps, name).lost for name in ("gpu-a", "gpu-b"))
    assert "at the jump host: first refused the login" in first.reason
    assert first is second


def test_a_host_that_is_not_there_behind_the_jump_is_not_blamed_on_it(site, jumps):
    config = site.config("gone", top=f"Host gpu-gone\n HostName 127.0.0.1\n Port 1\n UserKnownHostsFile {site.folder}/known\n ProxyJump first\n")
    assert ask(config, jumps, "gpu-gone").said.startswith("gpu-gone was not reached from its jump host")


def test_jumps_in_a_circle_are_told(site, jumps):
    config = site.config("circle", " ProxyJump second")
    assert "the jump hosts of " in ask(config, jumps).said
    assert "in a circle" in ask(config, jumps).said


def test_a_jump_that_only_ssh_can_read_is_left_to_ssh(site, jumps):
    config = site.config("odd", top="Host gpu-odd\n ProxyJump [first\n")
    assert ask(config, jumps, "gpu-odd").lost is not None
    assert masters(config) == []
