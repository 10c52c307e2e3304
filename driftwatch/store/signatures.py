"""Signatures of snapshots, by OpenSSH's own ``ssh-keygen -Y``: over the bytes of the plain file, detached, in one namespace. Decides nothing itself.

ssh-keygen asks before it writes over a file, and without a terminal it then ends with 0 and signs nothing: so it only ever reads standard input and
writes standard output here, and what it wrote is verified before it is believed. Source: ssh-keygen(1), "ALLOWED SIGNERS".
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from driftwatch.store.errors import StoreError

NAMESPACE = "driftwatch-snapshot@v1"
CALL_S = 20.0
ASKED_S = 120.0
HEAD = b"-----BEGIN SSH SIGNATURE-----"
INSTALL = "install OpenSSH's client (ssh-keygen, 8.2 or newer)"


@dataclass(frozen=True)
class Signers:
    """Whose signatures count: OpenSSH's allowed_signers file, and a file of revoked keys (a KRL or public keys)."""

    allowed: Path
    revoked: Path | None = None


def sign(data: bytes, key: Path) -> bytes:
    """Return the signature of a file's bytes. ``key`` is a private key, or a public one or certificate whose private key the agent holds.

    Raises StoreError where none is made.
    """
    made = _run(["sign", "-f", str(key), "-n", NAMESPACE], data, may_ask=True)
    if made.returncode != 0 or not made.stdout.startswith(HEAD):
        do = "name a key that ssh-keygen can use: a private key, or a public one that is in the agent (ssh-add -l)"
        raise StoreError(f"nothing was signed: {_said(made)}", str(key), do)
    if fault := broken(data, made.stdout):
        raise StoreError(f"nothing was signed: what ssh-keygen made does not verify: {fault}", str(key), "repeat it, or name another key")
    return made.stdout


def broken(data: bytes, signature: bytes) -> str:
    """Return why a signature is none of these bytes, whoever made it; "" where it is one."""
    with _file(signature) as path:
        told = _run(["check-novalidate", "-n", NAMESPACE, "-s", path], data)
    return "" if told.returncode == 0 else _said(told)


def refused(data: bytes, signature: bytes, signers: Signers) -> tuple[str, str]:
    """Return who signed these bytes, and why the signature is refused: forged, of another key or namespace, expired, revoked. "" where it is not."""
    with _file(signature) as path:
        found = _run(["find-principals", "-s", path, "-f", str(signers.allowed)], b"")
        names = [line for line in found.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
        if found.returncode != 0 or not names:
            return "", broken(data, signature) or f"its key stands in no line of {signers.allowed.name} that holds now: {_said(found)}"
        revoked = ["-r", str(signers.revoked)] if signers.revoked is not None else []
        told = [_run(["verify", "-f", str(signers.allowed), "-I", name, "-n", NAMESPACE, "-s", path, *revoked], data) for name in names]
    for name, one in zip(names, told, strict=True):
        if one.returncode == 0:
            return name, ""
    return names[0], _said(told[0])


class _file:  # noqa: N801  # reads as the call that it is
    """A signature as a file for ssh-keygen, which takes it in no other way."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __enter__(self) -> str:
        self._kept = tempfile.NamedTemporaryFile(prefix="driftwatch-", suffix=".sig")  # closed on leaving
        self._kept.write(self._data)
        self._kept.flush()
        return self._kept.name

    def __exit__(self, *_: object) -> None:
        self._kept.close()


def _run(words: Sequence[str], data: bytes, *, may_ask: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Return the ended ssh-keygen. Only with ``may_ask`` may it ask for a passphrase, and then only at a terminal."""
    asks = may_ask and sys.stderr.isatty()
    environ = {**os.environ, "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", *words], input=data, capture_output=True, check=False, env=environ, start_new_session=not asks,
            timeout=ASKED_S if asks else CALL_S,
        )
    except FileNotFoundError:
        raise StoreError("signatures need ssh-keygen, which is not here", "PATH", INSTALL) from None
    except subprocess.TimeoutExpired as late:
        raise StoreError(f"ssh-keygen did not answer in {late.timeout:g} s", "ssh-keygen -Y", "see whether the agent or the security key waits") from None


def _said(ended: subprocess.CompletedProcess[bytes]) -> str:
    """Return what ssh-keygen said, on one line."""
    text = (ended.stderr or ended.stdout).decode("utf-8", "replace")
    return "; ".join(line.strip().rstrip(".") for line in text.splitlines() if line.strip())[:300] or f"exit {ended.returncode}"
