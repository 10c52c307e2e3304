"""`verify`, `sign`, `export`, `gc`, `spool` as people call them: what they print, where it goes, and how they end."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store import document
from driftwatch.store.chain import keep_linked
from driftwatch.store.files import FileStore
from driftwatch.store.labels import set_label
from tests.lab.s3_server import S3Server


def days_ago(days):
    return (datetime.now(tz=timezone.utc) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def kept(cli):
    """Store four snapshots of gpu-a of the last days; the oldest is tagged good."""
    store, probes = FileStore(cli.store), {"driver": ProbeResult("ok", 0.1, tells=("driver/*",))}
    entries = [keep_linked(store, Snapshot("gpu-a", days_ago(days), probes=probes, facts={"driver/version": f"580.{days}"}))[0] for days in (8, 6, 4, 2)]
    set_label(store, entries[0], "good", set_at=days_ago(1), by="ann@ops")
    return cli


@pytest.fixture
def key(cli):
    """Return a key, and the file of allowed signers that names it."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("signatures are ssh-keygen's")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", cli.home / "key"], check=True, stdin=subprocess.DEVNULL)
    (cli.home / "signers").write_text(f"ann@ops {(cli.home / 'key.pub').read_text()}")
    return cli.home / "key"


def test_verify_prints_a_line_a_snapshot_and_finds_a_changed_byte(kept):
    sound = kept.run("verify")
    assert (sound.returncode, [line[:5] for line in sound.stdout.splitlines()]) == (0, ["ok  g"] * 4)
    path = FileStore(kept.store).entries("gpu-a")[1].path
    path.write_bytes(path.read_bytes().replace(b"580.6", b"580.7"))
    broken = kept.run("verify", "-q")
    assert broken.returncode == 1
    assert broken.stdout.startswith("changed  gpu-a@")
    assert len(broken.stdout.splitlines()[0]) <= 80


def test_a_removed_file_is_a_missing_link(kept):
    FileStore(kept.store).entries("gpu-a")[2].path.unlink()
    ran = kept.run("verify", "--json")
    assert ran.returncode == 1
    assert [row["verdict"] for row in json.loads(ran.stdout)] == ["ok", "ok", "missing link"]


def test_sign_and_verify_with_signers(kept, key):
    assert kept.run("sign", "gpu-a@good", "--key", key).stdout.startswith("signed  gpu-a@")
    ran = kept.run("verify", "gpu-a@good", "--signers", "signers", "--require-signature")
    assert (ran.returncode, "by ann@ops" in ran.stdout) == (0, True)
    every = kept.run("verify", "--signers", "signers", "--require-signature", "--json")
    assert every.returncode == 1
    assert [row["verdict"] for row in json.loads(every.stdout)] == ["ok", "unsigned", "unsigned", "unsigned"]
    assert kept.run("verify", "--signers", "signers").returncode == 0


def test_a_baseline_whose_signature_is_none_of_it_is_not_compared(kept, key):
    kept.run("sign", "gpu-a@good", "gpu-a@last", "--key", key)
    first, *_, last = FileStore(kept.store).entries("gpu-a")
    assert kept.run("diff", "gpu-a").returncode in (1, 3)
    shutil.copy(f"{last.path}.sig", f"{first.path}.sig")
    ran = kept.run("diff", "gpu-a")
    assert ran.returncode == 2
    assert "has a signature that is none of it" in ran.stderr


def test_export_gives_the_file_and_its_signature(kept, key):
    kept.run("sign", "gpu-a@good", "--key", key)
    stored = FileStore(kept.store).entries("gpu-a")[0].path
    assert kept.run("export", "gpu-a@good").stdout.encode() == stored.read_bytes()
    kept.run("export", "gpu-a@good", "-o", "out.json")
    assert (kept.home / "out.json").read_bytes() == stored.read_bytes()
    assert kept.run("verify", "./out.json", "--signers", "signers", "--require-signature").returncode == 0


def test_gc_shows_and_only_removes_when_told_to(kept):
    shown = kept.run("gc", "--keep", "last=1")
    assert (shown.returncode, shown.stdout.split()[:4]) == (0, ["gpu-a", "2", "would", "go"])
    assert "repeat it with --delete" in shown.stderr
    assert len(FileStore(kept.store).entries("gpu-a")) == 4
    assert kept.run("gc", "--keep", "last=1", "--delete").returncode == 0
    assert len(FileStore(kept.store).entries("gpu-a")) == 2
    assert kept.run("verify").returncode == 0
    assert kept.run("show", "gpu-a@good", "driver/version").returncode == 0


@pytest.mark.parametrize("words", [(), ("--keep", "often"), ("--keep", "last=0"), ("--keep", "last=1,last=2")])
def test_gc_without_rules_that_keep_something_does_nothing(kept, words):
    assert kept.run("gc", *words, "--delete").returncode == 2
    assert len(FileStore(kept.store).entries("gpu-a")) == 4


def test_list_tells_where_a_tag_stood_and_who_moved_it(kept):
    moved = kept.run("tag", "good", "gpu-a@last", "--note", "after the upgrade")
    assert "note: good stood on gpu-a@" in moved.stderr
    newest, *_, oldest = json.loads(kept.run("list", "gpu-a", "--json").stdout)
    assert (newest["tags"], newest["tag_history"][0]["note"], newest["tag_history"][0]["until"]) == (["good"], "after the upgrade", "")
    assert oldest["tag_history"][0]["until"] == newest["tag_history"][0]["since"]
    assert "was good" in kept.run("list", "gpu-a").stdout


@pytest.fixture
def away():
    """Return an S3 on loopback."""
    server = S3Server()
    server.make_bucket("drift")
    yield server
    server.close()


def test_what_a_store_does_not_take_waits_and_the_next_run_delivers_it(cli, recorded, away):
    up, down = away.environ(), away.environ(port=9)
    words = ("snapshot", "--store", "s3://drift/prod", "--recorded")
    lost = cli.run(*words, recorded("r1", taken_at=days_ago(4)), "--label", "good", **down)
    assert lost.returncode == 4
    assert document.load(lost.stderr.strip().rpartition(" ")[2]).host == "gpu-a"
    waiting, = json.loads(cli.run("spool", "--json").stdout)
    assert (waiting["host"], waiting["store"]) == ("gpu-a", "s3://drift/prod")
    assert cli.run("spool", "--deliver", **down).returncode == 4
    stored = cli.run(*words, recorded("r2", taken_at=days_ago(2), driver="580.2"), **up)
    assert "delivered from the spool: gpu-a@" in stored.stderr
    assert json.loads(cli.run("spool", "--json").stdout) == []
    listed = json.loads(cli.run("list", "gpu-a", "--store", "s3://drift/prod", "--json", **up).stdout)
    assert [row["tags"] for row in listed] == [[], ["good"]]
    assert cli.run("verify", "--store", "s3://drift/prod", **up).returncode == 0
    assert document.parse(cli.run("export", "gpu-a@good", "--store", "s3://drift/prod", **up).stdout.encode(), "x").host == "gpu-a"


def test_a_place_that_nothing_carries_is_exit_2(cli):
    ran = cli.run("list", "--store", "nothing://x")
    assert (ran.returncode, "no store" in ran.stderr) == (2, True)
