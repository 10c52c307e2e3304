"""The twenty most likely mistakes, each with the whole message: what is wrong, where, and what to do, and an exit code that fits."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store import document
from driftwatch.store.files import FileStore
from driftwatch.store.labels import set_label
from tests.cli.conftest import ROOT, TOOL


@pytest.fixture
def one_snapshot(cli):
    """Store one snapshot of gpu-a, tagged good."""
    store = FileStore(cli.store)
    probes = {"driver": ProbeResult("ok", 0.1, tells=("driver/*",))}
    entry = store.save(Snapshot("gpu-a", "2026-03-02T03:12:00Z", probes=probes, facts={"driver/version": "580.1"}))
    set_label(store, entry, "good", set_at="2026-03-05T00:00:00Z")
    return cli


def said(ran, cli):
    """Return what a command said beside its answer, with its own home and its times taken out."""
    text = re.sub(r" \d+:\d\d(?= |$)", " 0:00", ran.stderr.replace(str(cli.home), "~"), flags=re.MULTILINE)
    return ran.returncode, re.sub(r"[\d,]+ B free, [\d,]+ inodes", "N B free, N inodes", text)


def test_wrong_host(cli):
    ran = cli.run("snapshot", "gpu-nowhere.invalid", "--only", "system")
    assert said(ran, cli)[0] == 3
    assert re.fullmatch(
        r"x gpu-nowhere\.invalid +the name gpu-nowhere\.invalid was not resolved: [A-Za-z ]+: check the name and the name server\n"
        r"1 host · 0 whole · 1 unreachable · \d:\d\d · exit 3\n", ran.stderr)


def test_no_key(cli, fake_ssh):
    ran = cli.run("snapshot", "root@gpu-z", "--only", "system", **fake_ssh('echo "root@gpu-z: Permission denied (publickey)." >&2; exit 255'))
    assert said(ran, cli) == (3, (
        "x gpu-z       gpu-z refused the login (it offers: publickey): check user and key: ssh -l root gpu-z\n"
        "1 host · 0 whole · 1 unreachable · 0:00 · exit 3\n"))


def test_wrong_label(one_snapshot):
    assert said(one_snapshot.run("show", "gpu-a@god"), one_snapshot) == (2, (
        'error: no snapshot of gpu-a is tagged "god"\n where: ~/store/hosts/gpu-a (1 snapshot, tags: good)\n'
        "    do: did you mean gpu-a@good?   or   driftwatch list gpu-a\n"))


def test_empty_store(cli):
    assert said(cli.run("diff", "gpu-a"), cli) == (2, (
        "error: no snapshot of gpu-a is stored\n where: ~/store (0 hosts)\n    do: driftwatch snapshot gpu-a   or   driftwatch list\n"))
    assert said(cli.run("list"), cli) == (0, "nothing is stored in ~/store; the first: driftwatch snapshot HOST --label good\n")


@pytest.mark.parametrize("words", [("verify",), ("gc", "--keep", "last=3"), ("list",)])
def test_a_store_that_is_not_there_is_no_empty_one(cli, words):
    assert said(cli.run(*words, "--store", "nonexistent"), cli) == (2, (
        "error: there is no store\n where: nonexistent\n"
        "    do: check --store, DRIFTWATCH_STORE and the config file; a first snapshot makes the default one\n"))


@pytest.mark.parametrize(("option", "value", "said_of_it"), [
    ("--source", "/no/src", "no such folder here"), ("--python", "/no/python", "no such program here"), ("--env-from-pid", "4194304", "no such process here"),
])
def test_what_is_to_be_looked_at_here_and_is_not_there(cli, option, value, said_of_it):
    code, told = said(cli.run("snapshot", option, value), cli)
    assert (code, told.splitlines()[0]) == (2, f"error: {option} {value}: {said_of_it}")


def test_one_snapshot_only(one_snapshot):
    ran = one_snapshot.run("diff", "gpu-a")
    assert said(ran, one_snapshot) == (0, (
        "note: both sides are one snapshot, taken 2026-03-02 03:12Z, so nothing can differ; take the broken side: driftwatch snapshot gpu-a\n"))
    assert "SAME" in ran.stdout


def test_one_snapshot_without_a_tag(one_snapshot):
    one_snapshot.run("untag", "gpu-a@good")
    assert said(one_snapshot.run("diff", "gpu-a"), one_snapshot) == (2, (
        'error: no snapshot of gpu-a is tagged "good"\n where: ~/store/hosts/gpu-a (1 snapshot, tags: none)\n'
        "    do: driftwatch tag good gpu-a@2026-03-02   or   driftwatch list gpu-a\n"))


def test_a_dump_of_another_tool(one_snapshot):
    (one_snapshot.home / "lsof.txt").write_text("COMMAND PID USER\nbash 1 root\n")
    code, told = said(one_snapshot.run("diff", "gpu-a@good", "lsof.txt"), one_snapshot)
    what, where, do = told.splitlines()
    assert (code, what, where) == (2, "error: lsof.txt is no snapshot, and no dump that is known", " where: lsof.txt")
    assert do.startswith("    do: paste the whole output of one of these, or name its kind with --as: ")
    assert "sglang-check-env" in do
    assert len(do) < 600


@pytest.mark.parametrize(("name", "do"), [
    ("lsf.txt", "did you mean lsof.txt?"), ("lsof.json.gz", "gunzip lsof.json.gz, and name what comes out"),
    ("none/x.txt", "check its path: the folder is not there either"),
])
def test_a_file_that_cannot_be_read_is_told_with_the_one_that_can(one_snapshot, name, do):
    (one_snapshot.home / "lsof.txt").write_text("COMMAND PID USER\n")
    (one_snapshot.home / "lsof.json.gz").write_bytes(gzip.compress(b"{}"))
    code, told = said(one_snapshot.run("show", f"./{name}"), one_snapshot)
    assert (code, told.splitlines()[-1]) == (2, f"    do: {do}")


def test_a_dump_that_tells_nothing(one_snapshot):
    (one_snapshot.home / "cut.txt").write_text("DeepSpeed general environment info:\ntorch install path ............... ['\n")
    code, told = said(one_snapshot.run("show", "./cut.txt"), one_snapshot)
    what, _, do = told.splitlines()
    assert (code, what.startswith("error: cut.txt tells nothing: it was read as ds-report")) == (2, True)
    assert do.endswith("ds_report (DeepSpeed)")


def test_a_snapshot_of_another_host(cli, snapshot_file):
    good, other = snapshot_file("good.json"), cli.home / "other.json"
    other.write_bytes(document.to_bytes(Snapshot("gpu-b", "2026-03-04T03:12:00Z", facts={})))
    assert said(cli.run("diff", good, other), cli)[1] == (
        "note: the sides are two hosts, gpu-a and gpu-b: what differs may always have differed; a good one of gpu-b would tell more\n")


def test_the_same_snapshot_twice(cli, snapshot_file):
    path = snapshot_file("x.json")
    ran = cli.run("diff", path, path)
    assert "both sides are one snapshot, taken 2026-03-04 03:12Z" in ran.stderr


def test_good_and_bad_swapped(cli):
    ran = cli.run("diff", ROOT / "snapshots/bad.json", ROOT / "snapshots/good.json", "--width", "120")
    verdict = " ".join(ran.stdout.partition("\n\n")[2].split())
    assert ran.returncode == 3
    assert verdict.startswith("UNKNOWN Are the sides swapped? The good side ended in an error, and the broken one serves. ")
    assert "Note: the good side is the newer one, taken 2026-03-02T12:37:23Z, the broken one 2026-02-26T15:20:00Z." in verdict


def test_no_gpu(cli, recorded):
    folder = recorded()
    shutil.rmtree(folder / "files/proc/driver")
    cli.run("snapshot", "--recorded", folder, "-o", "x.json")
    ran = cli.run("show", "./x.json", "driver/module/version", "gpus/count")
    assert (ran.returncode, ran.stdout) == (3, "driver/module/version  absent\n")
    assert re.fullmatch(r"\? gpus/count  not recorded: nvml: .+\n", ran.stderr)


def test_no_sglang(cli, snapshot_file):
    ran = cli.run("memory", snapshot_file("x.json"))
    assert (ran.returncode, ran.stderr) == (3, "")
    assert "free before load   ? not recorded: no probe that answers for it was asked" in ran.stdout


def test_no_permission(cli):
    path = cli.home / "x.json"
    reason = "/proc/4127/environ: Permission denied (uid 1000)"
    probes = {"servers": ProbeResult("denied", 0.1, 10.0, reason, tells=("servers/*",))}
    path.write_bytes(document.to_bytes(Snapshot("gpu-a", "2026-03-04T03:12:00Z", probes=probes)))
    ran = cli.run("show", path, "servers/sglang/env/NCCL_DEBUG")
    assert said(ran, cli) == (3, f"? servers/sglang/env/NCCL_DEBUG  denied: servers: {reason}\n")


OLD = r"""
for last; do :; done
nonce=$(printf %s "$last" | sed -n 's/.*DW1 \([0-9a-f]*\) .*/\1/p')
printf '\036DW1 %s {"frame": "old_python", "python": "3.6.8", "path": "/usr/bin/python3"}\n' "$nonce"
printf '\036DW1 %s {"frame": "no_python"}\n' "$nonce"
exit 127
"""


def test_old_python(cli, fake_ssh):
    code, told = said(cli.run("snapshot", "gpu-z", "--only", "system", **fake_ssh(OLD)), cli)
    assert code == 3
    assert re.match(r"x gpu-z +only a too old Python on the host: 3\.6\.8 at /usr/bin/python3; 3\.8 or newer is needed: .*--python PATH", told)


def mounted(cli, options, *words):
    """Run a snapshot whose store is on a file system of its own."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a file system of its own needs root and unshare")
    place = cli.home / "disk"
    place.mkdir()
    script = 'mount -t tmpfs -o "$0" none "$1" && shift && exec "$@"'
    argv = ["unshare", "--mount", "sh", "-c", script, options, str(place), *TOOL, *words, "--store", str(place / "store")]
    ran = subprocess.run(argv, env=cli.environ(), cwd=cli.home, capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"no mount here: {ran.stderr.strip()}")
    return ran


@pytest.mark.parametrize(("options", "why", "room", "mend"), [
    ("ro", "read-only file system", "", "mount it for writing"), ("size=8k", "no space left on device", r" \(N B free, N inodes\)", "make room"),
])
def test_read_only_store_and_full_disk(cli, options, why, room, mend):
    code, told = said(mounted(cli, options, "snapshot", "--only", "system", "--save"), cli)
    what, where, do = told.splitlines()[-3:]
    assert (code, what) == (4, f"error: the snapshot was not stored: {why}")
    assert re.match(rf" where: ~/disk/store/hosts/[^/ ]*{room}$", where)
    assert do.startswith(f"    do: {mend}, or name another store with --store; ")
    kept = re.search(r"it is complete in (\S+\.json)$|was written to (\S+\.json)$", do)
    assert json.loads(Path(next(filter(None, kept.groups())).replace("~", str(cli.home))).read_text())["facts"]


def test_a_store_that_takes_nothing_holds_no_diff_back(one_snapshot, fake_ssh):
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a mount of its own needs root and unshare")
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    argv = ["unshare", "--mount", "sh", "-c", script, str(one_snapshot.store), *TOOL, "diff", "gpu-a@good", "--now"]
    environ = one_snapshot.environ(**fake_ssh("exit 255"))
    ran = subprocess.run(argv, env=environ, cwd=one_snapshot.home, capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in ran.stderr or "mount:" in ran.stderr:
        pytest.skip(f"no mount here: {ran.stderr.strip()}")
    assert (ran.returncode, "UNKNOWN" in ran.stdout) == (4, True)
    assert "error: the snapshot was not stored: read-only file system" in ran.stderr


def test_bad_toml(cli):
    (cli.home / "bad.toml").write_text("store = [\n")
    assert said(cli.run("list", "--config", "bad.toml"), cli) == (2, (
        "error: the config file is no TOML: Invalid value (at end of document)\n where: bad.toml\n    do: correct it\n"))
    (cli.home / "bad.toml").write_text('stroe = "x"\n')
    assert said(cli.run("list", "--config", "bad.toml"), cli) == (2, "error: unknown key 'stroe'\n where: bad.toml\n    do: did you mean 'store'?\n")


def test_unknown_option(cli):
    code, told = said(cli.run("diff", "a", "b", "--formt", "json"), cli)
    assert code == 2
    assert re.fullmatch(r"error: no such option: --formt \(Possible options: --format[^)]*\)\n {4}do: driftwatch diff --help\n", told)


def test_unknown_command(cli):
    assert said(cli.run("dif", "gpu-a"), cli) == (2, "error: there is no command 'dif'; did you mean 'diff'?\n    do: driftwatch --help\n")


def test_unknown_format(cli):
    code, told = said(cli.run("diff", "./a.json", "./b.json", "--format", "xml"), cli)
    assert (code, told) == (2, "error: --format xml: there is no such one here\n    do: one of: text, html, json, markdown\n")


def test_pipe_closed(cli):
    running = cli.start("show", ROOT / "snapshots/bad.json", "--all")
    running.stdout.readline()
    running.stdout.close()
    assert running.stderr.read() == ""
    running.stderr.close()
    assert running.wait(30) == 141


def test_ctrl_c(cli, fake_ssh):
    running = cli.start("snapshot", "gpu-z", "--only", "system", **fake_ssh("echo up >&2; touch up; exec sleep 60"))
    try:
        while not (cli.home / "up").exists() and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, told = running.communicate(timeout=30)
    finally:
        running.kill()
    assert (running.returncode, out) == (130, "")
    assert told.splitlines()[-1].endswith("exit 130") or told.splitlines()[-1] == "stopped"


@pytest.mark.parametrize("words", [
    ("diff", "./a.json", "{long}"), ("show", "{long}.json"), ("peers", "{long}", "./b", "./c"), ("verify", "{long}.json"), ("memory", "{long}"),
    ("plan", "{long}", "{long}"), ("export", "{long}"), ("import", "{long}", "--host", "x"), ("snapshot", "--recorded", "{long}"),
    ("snapshot", "local", "--log", "{long}"), ("audit", "{long}"), ("hosts", "--from", "list:{long}"), ("--config", "{long}", "list"),
])
def test_a_name_that_no_file_can_have(cli, words):
    told = cli.run(*(word.replace("{long}", "./" + "x" * 300) for word in words))
    assert (told.returncode, told.stderr.startswith("error: ")) == (2, True)
