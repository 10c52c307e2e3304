"""Scenes for the stall table: each a context that builds a faulty host, line or login, and takes it away again.

A scene that cannot be built here raises ``Impossible`` with the reason.
"""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from driftwatch.transports.destination import Destination, Options
from driftwatch.transports.jumps import Jumps
from driftwatch.transports.wire import Transport
from tests.lab import wires
from tests.lab.sshd import Place, Server, running_sshd, why_no_shell
from tests.transports import dead_servers
from tests.transports.listen import reach
from tests.transports.test_login_shells import old_pythons

USER = getpass.getuser()
NO_ANSWER_TO_A_LOGIN = ("AuthorizedKeysFile none", "AuthorizedKeysCommand /bin/sleep 600", f"AuthorizedKeysCommandUser {USER}")
# it says that it is ready, under the nonce that it was called with, and then never reads
READY_AND_DEAF = r"""set -- $(printf %s "$SSH_ORIGINAL_COMMAND" | grep -o '[0-9a-f]\{16\} DW1'); printf '\036DW1 %s {"frame":"ready"}\n' $1; sleep 600"""


class Impossible(Exception):
    """This scene cannot be built on this machine."""


@dataclass(frozen=True)
class Lab:
    """What all scenes share: a well-behaved sshd here, and the far machine's where there is one (else why not)."""

    server: Server
    wires: wires.Wires | None
    far: Server | None


@dataclass(frozen=True)
class Row:
    """One row of the table, one way: a folder of its own, and the class of the transport."""

    folder: Path
    way: Any
    number: int


@dataclass(frozen=True)
class Scene:
    """What is to be streamed, and which words name the processes of this row beside its nonce."""

    transport: Transport
    watch: Callable[[Mapping[str, Any]], None] = lambda _: None
    pythons: tuple[str, ...] = ("python3", "/usr/bin/python3")
    marks: tuple[str, ...] = field(default=())


def _to(row: Row, server: Server, port: int = 0, host: str = "127.0.0.1", **options: Any) -> Transport:
    """Return the transport to a server, or to another port or address with that server's host key."""
    made = reach(row.way, server, **options)
    return replace(made, destination=replace(made.destination, port=port or server.port, host=host))


def _knows(row: Row, server: Server, port: int) -> str:
    known = row.folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{port} {server.host_key}\n")
    return str(known)


@contextmanager
def shared(lab: Lab, row: Row) -> Iterator[Scene]:
    """The shared sshd: only what runs there misbehaves."""
    yield Scene(_to(row, lab.server))


@contextmanager
def own_server(behave: dead_servers.Behave, lab: Lab, row: Row) -> Iterator[Scene]:
    with dead_servers.listening(behave) as port:
        yield Scene(_to(row, lab.server, port))


@contextmanager
def unanswered(request: str, lab: Lab, row: Row) -> Iterator[Scene]:
    """An SSH server that leaves one request unanswered."""
    with dead_servers.listening(dead_servers.leaves_unanswered(request, str(lab.server.folder / "host_key"))) as port:
        yield Scene(_to(row, lab.server, port, known_hosts=_knows(row, lab.server, port)))


@contextmanager
def dropped_syn(lab: Lab, row: Row) -> Iterator[Scene]:
    with dead_servers.dropping() as port:
        yield Scene(_to(row, lab.server, port))


@contextmanager
def own_sshd(lines: tuple[str, ...], lab: Lab, row: Row, environment: str = "", pythons: tuple[str, ...] = ("python3", "/usr/bin/python3")) -> Iterator[Scene]:
    with running_sshd(row.folder / "host", *lines, environment=environment) as server:
        yield Scene(_to(row, server), pythons=pythons)


@contextmanager
def stopped_listener(lab: Lab, row: Row) -> Iterator[Scene]:
    with running_sshd(row.folder / "host") as server:
        os.kill(server.pid, signal.SIGSTOP)
        yield Scene(_to(row, server))


@contextmanager
def dead_ssh_agent(lab: Lab, row: Row) -> Iterator[Scene]:
    """Both are told of the agent by the user's configuration."""
    with dead_servers.dead_agent(str(row.folder / "agent")) as socket:
        config = _config(row, f"IdentityAgent {socket}")
        yield Scene(_to(row, lab.server, identity="", ssh_config=config), marks=(config,))


def _config(row: Row, *lines: str) -> str:
    made = row.folder / "ssh_config"
    made.write_text("".join(f"{line}\n" for line in lines))
    return str(made)


def _far(lab: Lab) -> tuple[Server, wires.Wires]:
    if lab.far is None or lab.wires is None:
        raise Impossible(wires.why_not() or "the far machine's sshd did not start")
    return lab.far, lab.wires


@contextmanager
def dead_name_server(lab: Lab, row: Row) -> Iterator[Scene]:
    name = f"gpu-{row.number}.example.invalid"
    yield Scene(_to(row, _far(lab)[0], host=name), marks=(name,))


@contextmanager
def narrow(lab: Lab, row: Row) -> Iterator[Scene]:
    yield Scene(_to(row, _far(lab)[0], host=wires.NARROW))


@contextmanager
def slow_link(lab: Lab, row: Row) -> Iterator[Scene]:
    yield Scene(_to(row, _far(lab)[0], host=wires.SLOW))


@contextmanager
def black_hole(lab: Lab, row: Row) -> Iterator[Scene]:
    """The link is cut without a sound when the first facts have come."""
    server, cable = _far(lab)
    address = wires.BLACK_HOLES[row.way.SCHEME == "paramiko"]

    def cut(frame: Mapping[str, Any]) -> None:
        if frame["frame"] == "facts":
            cable.lose(address)

    yield Scene(_to(row, server, host=address), cut)


@contextmanager
def bashrc(script: str, lab: Lab, row: Row) -> Iterator[Scene]:
    """Bash as the login shell, with this ~/.bashrc; whether it was run is seen in the home folder."""
    own = pwd.getpwuid(os.getuid()).pw_shell
    found = own if own.endswith("/bash") else shutil.which("bash")
    if found is None or (found != own and why_no_shell()):
        raise Impossible(why_no_shell() if found else "no bash here")
    ran = row.folder / "host" / "home" / "bashrc-ran"
    with running_sshd(row.folder / "host", place=Place(shell="" if found == own else found)) as server:
        (server.home / ".bashrc").write_text(f"{script}\ntouch {ran}\n")
        yield Scene(_to(row, server))
        if not ran.exists():
            raise Impossible("the bash here reads no ~/.bashrc under sshd")


@contextmanager
def login_shell(name: str, lab: Lab, row: Row) -> Iterator[Scene]:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None or why_no_shell():
        raise Impossible(f"no {name} here" if found is None else why_no_shell())
    with running_sshd(row.folder / "host", place=Place(shell=found)) as server:
        yield Scene(_to(row, server))


@contextmanager
def no_python(lab: Lab, row: Row) -> Iterator[Scene]:
    (row.folder / "bin").mkdir()
    with own_sshd((), lab, row, f"PATH={row.folder}/bin", ("python3", "/no/such/python3")) as scene:
        yield scene


@contextmanager
def old_python(lab: Lab, row: Row) -> Iterator[Scene]:
    old = old_pythons()
    if not old:
        raise Impossible("no Python older than 3.8 here (looked in ~/.pyenv/versions and for /usr/bin/python2)")
    (row.folder / "bin").mkdir()
    (row.folder / "bin" / "python3").write_text(f'#!/bin/sh\nexec {old[-1]} "$@"\n')
    (row.folder / "bin" / "python3").chmod(0o755)
    with own_sshd((), lab, row, f"PATH={row.folder}/bin", ("python3",)) as scene:
        yield scene


@contextmanager
def _behind(lab: Lab, row: Row, jump: Server, target: tuple[int, str]) -> Iterator[Scene]:
    """A host that the user's configuration reaches through a jump host."""
    port, known = target
    config = _config(
        row, "Host jump", " HostName 127.0.0.1", f" Port {jump.port}", f" HostKeyAlias [127.0.0.1]:{jump.port}", f" UserKnownHostsFile {jump.known_hosts}",
        f" IdentityFile {jump.identity}", "Host gpu-a", " HostName 127.0.0.1", f" Port {port}", f" IdentityFile {lab.server.identity}",
        f" UserKnownHostsFile {known}", " ProxyJump jump")
    jumps = Jumps()
    made = row.way(Destination(row.way.SCHEME, "gpu-a", USER), Options(ssh_config=config, jumps=jumps))
    try:
        yield Scene(made, marks=(config,))
    finally:
        jumps.close()


@contextmanager
def stopped_jump(lab: Lab, row: Row) -> Iterator[Scene]:
    with running_sshd(row.folder / "jump") as jump:
        os.kill(jump.pid, signal.SIGSTOP)
        with _behind(lab, row, jump, (lab.server.port, lab.server.known_hosts)) as scene:
            yield scene


@contextmanager
def jump_without_login(lab: Lab, row: Row) -> Iterator[Scene]:
    with running_sshd(row.folder / "jump", *NO_ANSWER_TO_A_LOGIN) as jump, _behind(lab, row, jump, (lab.server.port, lab.server.known_hosts)) as scene:
        yield scene


@contextmanager
def silent_behind_jump(lab: Lab, row: Row) -> Iterator[Scene]:
    with ExitStack() as stack:
        port = stack.enter_context(dead_servers.listening(dead_servers.silent))
        jump = stack.enter_context(running_sshd(row.folder / "jump"))
        yield stack.enter_context(_behind(lab, row, jump, (port, lab.server.known_hosts)))


@contextmanager
def built(folder: Path, server: Server) -> Iterator[Lab]:
    """Yield the lab; its far machine is there where the kernel and our rights allow one."""
    with ExitStack() as stack:
        if wires.why_not():
            yield Lab(server, None, None)
            return
        laid = stack.enter_context(wires.laid(folder / "resolv.conf"))
        far = stack.enter_context(_far_sshd(laid, folder / "far"))
        yield Lab(server, laid, far)


@contextmanager
def _far_sshd(laid: wires.Wires, folder: Path) -> Iterator[Server]:
    """Run an sshd on the far machine, started by a thread that lives there."""
    running = running_sshd(folder, place=Place(2222, (wires.THERE, *wires.BLACK_HOLES, wires.NARROW, wires.SLOW)))
    begun: list[Server] = []

    def begin() -> None:
        wires.enter(laid.there)
        begun.append(running.__enter__())

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    try:
        yield begun[0]
    finally:
        running.__exit__(None, None, None)
