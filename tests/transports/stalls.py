"""The stall table: every way in which a host or the line to it was seen to hang, made real, and what both ways over SSH must say of it.

Each row has a scene (``scenes.py`` builds it), what the host's end does, which frames are kept, and the sentence. The page docs/transports.md lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from tests.transports import dead_servers, scenes
from tests.transports.scenes import Lab, Row, Scene

KEPT = ("begin", "facts")
DONE = ("begin", "facts", "end")
BROKE = "the connection to .* broke in mid-run"
IN_MID_RUN = "the deadline of .* s came in mid-run .frames heard: 2, no end frame.*raise --deadline"
SILENT = "did not answer in .*check that the host is up"
NO_BANNER = "took the connection and sent no SSH banner.*whether sshd hangs there"
NO_KEYS = "the key exchange with .* did not end in .*MTU"
NO_LOGIN = "did not answer the login in .*a command for keys, may hang"
NO_SESSION = "took the login and opened no session in .*look at sshd there"
NO_AGENT = "took the login and no agent answered in . s .no ready frame.: the login shell hangs, or sshd.*log in by hand with ssh -v"
NO_SERVER = "did not answer in time, or not as an SSH server.*check that the host is up, the port"


@dataclass(frozen=True)
class Stall:
    """One row. ``said`` is a pattern for reason and advice, "" where all goes well; ``paramiko`` is its own where it sees more or less than ssh.

    ``kept`` are the kinds of the frames that are heard, "…" for more of the last. A row that ends by itself has a long deadline, which costs nothing.
    ``leaves`` says how long something may live on there.
    """

    name: str
    scene: Callable[[Lab, Row], AbstractContextManager[Scene]]
    said: str
    act: str = "answer"
    kept: tuple[str, ...] = ()
    deadline_s: float = 6
    paramiko: str | None = None
    is_far: bool = False
    leaves: str = ""
    is_busy: bool = False

    def words(self, scheme: str) -> str:
        return self.said if scheme == "openssh" or self.paramiko is None else self.paramiko


def _server(behave: dead_servers.Behave) -> Callable[[Lab, Row], AbstractContextManager[Scene]]:
    return partial(scenes.own_server, behave)


BEFORE_LOGIN = (
    Stall("every SYN is dropped", scenes.dropped_syn, SILENT),
    Stall("the port is silent", _server(dead_servers.silent), NO_BANNER, paramiko=NO_SERVER),
    Stall("endless lines before the banner", _server(dead_servers.endless_lines), NO_BANNER, paramiko=NO_SERVER),
    Stall("endless bytes before the banner", _server(dead_servers.endless_bytes), f"closed the connection: banner exchange|{NO_BANNER}", paramiko=NO_SERVER),
    Stall("sshd is stopped before the login", scenes.stopped_listener, NO_BANNER, paramiko=NO_SERVER),
    Stall("no key exchange after the banner", _server(dead_servers.banner_only), NO_KEYS),
    Stall("the login is never answered", partial(scenes.own_sshd, scenes.NO_ANSWER_TO_A_LOGIN), NO_LOGIN),
    Stall("the ssh-agent never answers", scenes.dead_ssh_agent, "the ssh-agent here did not answer.*ssh-add -l",
          paramiko="the ssh-agent at .* did not answer in . s.*ssh-add -l"),
    Stall("the name server never answers", scenes.dead_name_server, "did not get to connect to .*its name was not resolved.*check the name and the name server",
          paramiko="the name gpu-.* was not resolved in 6 s.*check the name server", is_far=True),
    Stall("large packets are lost from the start", scenes.narrow, NO_KEYS, is_far=True),
)
BEFORE_THE_AGENT = (
    Stall("the channel is never opened", partial(scenes.unanswered, "channel"), NO_SESSION),
    Stall("the command is never answered", partial(scenes.unanswered, "exec"), NO_AGENT),
    Stall("the session's sshd is killed before the agent starts", partial(scenes.own_sshd, ("ForceCommand kill -9 $PPID",)), "closed the connection",
          deadline_s=30, paramiko="the connection to .* broke before an agent could start"),
    Stall("the login shell hangs", partial(scenes.own_sshd, ("ForceCommand printf Password: >&2; sleep 600",)),
          "no agent answered.*its last words: .Password:"),
    Stall("the login shell ends and a child keeps its output open", partial(scenes.own_sshd, ("ForceCommand sleep 600 & exit 0",)), NO_AGENT,
          paramiko="the login shell ended with code 0 before an agent could start"),
)
IN_MID_RUN_ROWS = (
    Stall("the command is silent", scenes.shared, IN_MID_RUN, "hang", KEPT, deadline_s=10),
    Stall("the command drips", scenes.shared, IN_MID_RUN, "drip", KEPT, deadline_s=10),
    Stall("the command hears nothing and ignores signals", scenes.shared, IN_MID_RUN, "deaf", KEPT, deadline_s=10, leaves="until its own deadline"),
    Stall("a flood on standard output", scenes.shared, "more than 64 MiB.*cut off", "flood", KEPT, deadline_s=60, is_busy=True),
    Stall("a flood on standard error", scenes.shared, "more than 64 MiB.*cut off", "complain", KEPT, deadline_s=60, is_busy=True),
    Stall("a child keeps the output open after the end", scenes.shared, "", "holds_the_pipe", ("begin", "facts", "child", "end"), deadline_s=30,
          leaves="3 s, by order"),
    Stall("standard input is never read", partial(scenes.own_sshd, (f"ForceCommand {scenes.READY_AND_DEAF}",)),
          "the deadline of .* s came in mid-run", "big", deadline_s=10),
    Stall("sshd is stopped after the login", scenes.shared, BROKE + ".*not responding", "stop_the_line", KEPT, deadline_s=14, paramiko=IN_MID_RUN,
          leaves="stopped with its sshd"),
    Stall("the session's sshd is killed", scenes.shared, BROKE, "cut_the_line", KEPT, deadline_s=30),
    Stall("all packets are lost after the login", scenes.black_hole, IN_MID_RUN, "hang", KEPT, deadline_s=10, is_far=True, leaves="until its own deadline"),
    Stall("a slow link", scenes.slow_link, "the deadline of .* s came in mid-run", "tells_much", ("begin", "facts", "…"), deadline_s=12, is_far=True,
          leaves="until its output is refused"),
    Stall("the agent leaves while its words are still on a slow link", scenes.slow_link, "", "tells_and_leaves", ("begin", "facts", "…"), deadline_s=30,
          is_far=True),
)
LOGIN_SHELLS = (
    Stall("the login shell prints", partial(scenes.bashrc, "printf 'no newline at the end'; echo on stderr >&2"), "", kept=DONE, deadline_s=30),
    Stall("the login shell reads standard input", partial(scenes.bashrc, 'read -r line; echo "read: $line"'), "", kept=DONE, deadline_s=30),
    Stall("the login shell forges a frame", partial(scenes.bashrc, r"""printf '\036DW1 0000 {"frame":"end"}\n'"""), "", kept=DONE, deadline_s=30),
    Stall("fish is the login shell", partial(scenes.login_shell, "fish"), "", kept=DONE, deadline_s=30),
    Stall("tcsh is the login shell", partial(scenes.login_shell, "tcsh"), "", kept=DONE, deadline_s=30),
    Stall("nologin is the login shell", partial(scenes.login_shell, "nologin"),
          "the login shell ended with code 1 before an agent could start; its last words: .This account is currently not available", deadline_s=30),
    Stall("the host has no Python", scenes.no_python, "no Python on the host that starts: tried python3, /no/such/python3.*--python PATH", deadline_s=30),
    Stall("the host's Python is too old", scenes.old_python,
          r"only a too old Python on the host: [23]\.\d+\.\d+ at .*3.8 or newer is needed.*--python PATH", deadline_s=30),
)
JUMPS = (
    Stall("the jump host is stopped", scenes.stopped_jump, "at the jump host: jump did not answer in time", paramiko="asks for proxyjump.*use ssh://HOST"),
    Stall("the jump host never answers the login", scenes.jump_without_login, "no answer from the jump host jump in 6 s", paramiko="asks for proxyjump"),
    Stall("the host behind a jump host is silent", scenes.silent_behind_jump,
          "nothing came from gpu-a through its jump host|gpu-a did not answer in time: it took the connection", paramiko="asks for proxyjump"),
)
TABLE = (*BEFORE_LOGIN, *BEFORE_THE_AGENT, *IN_MID_RUN_ROWS, *LOGIN_SHELLS, *JUMPS)
