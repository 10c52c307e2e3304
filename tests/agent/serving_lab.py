"""Makes hosts that serve: recorded ones from a few lines, and real processes that look like SGLang's to /proc."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from driftwatch.agent import recorded
from driftwatch.agent.host import Host, Settings
from driftwatch.agent.redact import Redactor

LAUNCH = """
import multiprocessing as mp, os, sys, time

def rank(title, ready):
    import setproctitle
    setproctitle.setproctitle(title)
    ready.set()
    time.sleep(300)

if __name__ == "__main__":
    spawn = mp.get_context("spawn")
    os.environ["NCCL_CUMEM_ENABLE"] = "0"
    for title in ("sglang::scheduler_TP0", "sglang::scheduler_TP1", "sglang::detokenizer"):
        ready = spawn.Event()
        spawn.Process(target=rank, args=(title, ready), daemon=True).start()
        ready.wait()
    print("server_args=ServerArgs(model_path='/models/m', port=%s, api_key='planted-key')" % sys.argv[-1], flush=True)
    print("The server is fired up and ready to roll!", flush=True)
    os.write(int(os.environ["READY_ON"]), b"x")
    time.sleep(300)
"""


def host_of(root: Any, **settings: Any) -> Host:
    """Return a host behind a root, masked with a key."""
    host = Host(root, Settings(**settings))
    host.mask = Redactor(b"key of the test", host.settings.also_show, host.settings.env_prefixes)
    return host


def record(folder: Path, files: dict[str, str | bytes], links: dict[str, str] | None = None, **described: Any) -> Any:
    """Write a recorded host of these files and links (paths as on the host) and return it as a root."""
    for path, content in files.items():
        where = folder / "files" / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(content.encode() if isinstance(content, str) else content)
    for path, target in (links or {}).items():
        where = folder / "files" / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.symlink_to(target)
    (folder / "host.json").write_text(json.dumps({"format": 1, "hostname": "h", "uid": 0, **described}))
    (folder / "commands.json").write_text("[]")
    return recorded.load(str(folder))


def process(pid: int, argv: tuple[str, ...], environ: dict[str, str] | bytes | None = None, *, ppid: int = 1, state: str = "S") -> dict[str, str | bytes]:
    """Return the files of /proc that a recorded process consists of; its short name is its program's."""
    name = (argv[0] if "::" in argv[0] else argv[0].rpartition("/")[2])[:15]
    cmdline = b"\0".join(one.encode() for one in argv) + b"\0" * (1 if len(argv) > 1 else 40)
    data = environ if isinstance(environ, bytes) else b"".join(f"{key}={value}".encode() + b"\0" for key, value in (environ or {}).items())
    return {
        f"/proc/{pid}/stat": f"{pid} ({name}) {state} {ppid} " + "0 " * 17 + f"{1000 + pid} 0 0\n",
        f"/proc/{pid}/comm": name + "\n",
        f"/proc/{pid}/cmdline": cmdline,
        f"/proc/{pid}/environ": data,
    }


def start_server(folder: Path, port: int, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that launches like SGLang, with two ranks and a detokenizer that retitle themselves, and wait until they have."""
    package = folder / "code" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "launch_server.py").write_text(LAUNCH)
    reader, writer = os.pipe()
    with (folder / "server.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "sglang.launch_server", "--model-path", "/models/m", "--tp", "2", "--api-key", "planted-key", "--port", str(port)],
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=folder,
            pass_fds=(writer,),
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(folder / "code"), "READY_ON": str(writer), **variables},
        )
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    return child


def end_server(child: subprocess.Popen[bytes]) -> None:
    """End a server that ``start_server`` began, with its ranks: they are of its own session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait(10)
