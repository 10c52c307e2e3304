"""Writes a small recorded host, so that a collector can be asked about a machine that is not here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from driftwatch.agent.host import Host, Settings
from driftwatch.agent.probe import Refusal
from driftwatch.agent.recorded import load


def recorded(folder: Path, files: dict[str, str], commands: dict[str, Any] | None = None, **described: Any) -> Host:
    """Return a host with these files (a text that begins with ``->`` is a link) and commands: a text, or ``(exit code, output, errors)``."""
    for path, text in files.items():
        where = folder / "files" / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            where.symlink_to(text[2:])
        else:
            where.write_text(text)
    (folder / "files").mkdir(parents=True, exist_ok=True)
    (folder / "host.json").write_text(json.dumps({"format": 1, "hostname": "gpu-a", "taken_at": "2026-03-02T10:00:00Z", "uid": 0, **described}))
    (folder / "commands.json").write_text(json.dumps([_command(line, said) for line, said in (commands or {}).items()]))
    return Host(load(str(folder)), Settings())


def _command(line: str, said: Any) -> dict[str, Any]:
    code, output, errors = (0, said, "") if isinstance(said, str) else said
    return {"argv": line.split(), "rc": code, "stdout": output, "stderr": errors}


def told(collect: Any, host: Host) -> tuple[dict[str, Any], str, str]:
    """Return the facts by path that a collector tells, and the status and reason with which it ends."""
    facts: dict[str, Any] = {}
    try:
        facts.update((path, value) for path, value in collect(host))
    except Refusal as refusal:
        return facts, refusal.status, str(refusal)
    return facts, "ok", ""
