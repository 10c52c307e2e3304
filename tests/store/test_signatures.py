"""Signatures by real keys and the real ssh-keygen: whose they are is told, and forged, replayed, expired and revoked ones are refused."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from driftwatch.store.chain import keep_linked
from driftwatch.store.errors import StoreError
from driftwatch.store.records import SIGNATURE
from driftwatch.store.signatures import NAMESPACE, Signers, broken, refused, sign
from driftwatch.store.verifying import Demand, verify_host

DATA = b'{"a": 1}\n'
pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="signatures are ssh-keygen's")


@dataclass
class Keys:
    """Keys in a folder, and the line by which each is allowed."""

    folder: Path

    def make(self, name, *more):
        path = self.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path, *more], check=True, stdin=subprocess.DEVNULL)
        return path

    def allowed(self, **lines):
        path = self.folder / "allowed"
        path.write_text("".join(f"{name}@ops {more} {(self.folder / name).with_suffix('.pub').read_text()}" for name, more in lines.items()))
        return path


@pytest.fixture
def keys(tmp_path):
    made = Keys(tmp_path / "keys")
    made.folder.mkdir(mode=0o700)
    return made


OURS = f'namespaces="{NAMESPACE}"'


def test_who_signed_is_told(keys):
    ann, bob = keys.make("ann"), keys.make("bob")
    signers = Signers(keys.allowed(ann=OURS, bob=OURS))
    assert refused(DATA, sign(DATA, ann), signers) == ("ann@ops", "")
    assert refused(DATA, sign(DATA, bob), signers) == ("bob@ops", "")


def test_a_forged_signature_and_one_of_other_bytes_are_refused(keys):
    made = sign(DATA, keys.make("ann"))
    signers = Signers(keys.allowed(ann=OURS))
    assert refused(DATA + b" ", made, signers)[1]
    assert refused(DATA, made.replace(b"A", b"B", 1), signers)[1]
    assert refused(DATA, b"nothing", signers)[1]
    assert broken(DATA + b" ", made)
    assert not broken(DATA, made)


def test_a_key_that_nobody_allowed_is_refused(keys):
    keys.make("ann")
    assert "stands in no line" in refused(DATA, sign(DATA, keys.make("eve")), Signers(keys.allowed(ann=OURS)))[1]


def test_a_signature_made_for_something_else_is_refused(keys):
    ann = keys.make("ann")
    made = subprocess.run(["ssh-keygen", "-Y", "sign", "-f", ann, "-n", "git"], input=DATA, capture_output=True, check=True).stdout
    assert refused(DATA, made, Signers(keys.allowed(ann="")))[1]


@pytest.mark.parametrize(("times", "is_good"), [('valid-before="20200101"', False), ('valid-after="20200101"', True), ('valid-after="20990101"', False)])
def test_a_key_counts_only_in_its_time(keys, times, is_good):
    made = sign(DATA, keys.make("ann"))
    assert (refused(DATA, made, Signers(keys.allowed(ann=f"{OURS},{times}")))[1] == "") is is_good


def test_a_revoked_key_counts_no_more(keys):
    ann = keys.make("ann")
    made = sign(DATA, ann)
    assert refused(DATA, made, Signers(keys.allowed(ann=OURS), ann.with_suffix(".pub")))[1]


@pytest.fixture
def agent(keys, monkeypatch):
    """Start an agent and return what adds a key to it, with the certificate that stands beside; it is ended afterwards."""
    socket = keys.folder / "socket"
    running = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
    end = time.monotonic() + 20
    while not socket.exists() and time.monotonic() < end:
        time.sleep(0.01)
    yield lambda key: subprocess.run(["ssh-add", "-q", key], check=True, capture_output=True)
    running.terminate()
    running.wait(10)


def test_a_certificate_of_an_authority_counts_while_it_holds(keys, agent):
    authority, ann = keys.make("authority"), keys.make("ann")
    signers = keys.folder / "allowed"
    signers.write_text(f"*@ops cert-authority,{OURS} {authority.with_suffix('.pub').read_text()}")
    refusals = []
    for times in ("-1h:+1h", "20200101:20200201"):
        certify = ["ssh-keygen", "-q", "-s", authority, "-I", "ann", "-n", "ann@ops", "-V", times, ann.with_suffix(".pub")]
        subprocess.run(certify, check=True, capture_output=True)
        agent(ann)
        refusals.append(refused(DATA, sign(DATA, keys.folder / "ann-cert.pub"), Signers(signers))[1])
    assert [bool(one) for one in refusals] == [False, True]


def test_the_agent_signs_for_a_public_key(keys, agent):
    ann = keys.make("ann")
    agent(ann)
    ann.rename(keys.folder / "away")
    assert refused(DATA, sign(DATA, ann.with_suffix(".pub")), Signers(keys.allowed(ann=OURS))) == ("ann@ops", "")


def test_a_key_with_a_passphrase_and_nobody_to_ask_is_an_error_at_once(keys):
    path = keys.folder / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", path], check=True, stdin=subprocess.DEVNULL)
    with pytest.raises(StoreError, match="nothing was signed"):
        sign(DATA, path)


def test_a_signed_snapshot_verifies_and_its_signature_on_another_does_not(store, snapshot, keys):
    ann = keys.make("ann")
    demand = Demand(Signers(keys.allowed(ann=OURS)), is_required=True)
    one, other = (keep_linked(store, snapshot(taken_at=f"2026-03-0{day}T00:00:00Z"))[0] for day in (2, 3))
    store.write_beside(one, SIGNATURE, sign(store.read(one), ann))
    assert [(one.word, one.signer) for one in verify_host(store, "gpu-a", demand)] == [("ok", "ann@ops"), ("unsigned", "")]
    store.write_beside(other, SIGNATURE, store.read_beside(one, SIGNATURE))
    assert [one.word for one in verify_host(store, "gpu-a", demand)] == ["ok", "bad signature"]
