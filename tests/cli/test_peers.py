"""`driftwatch peers` as people run it: on the recorded fleet, on stored hosts, on what cannot be compared."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from driftwatch.explain.words import TIMES
from driftwatch.model import ProbeResult, Snapshot
from driftwatch.store import document
from driftwatch.store.files import FileStore
from driftwatch.store.labels import set_label
from tests.cli.conftest import Cli

FLEET = Path(__file__).parent.parent / "hosts" / "fleet-h100.tar.xz"
KEY = json.loads((FLEET.parent / "keys" / "fleet-h100.json").read_text())
PROBES = {name: ProbeResult("ok", tells=(f"{name}/*",)) for name in ("packages", "kernel", "driver", "servers", "gpus", "sources")}


def host(name, taken_at="2026-03-04T03:00:00Z", **facts):
    """Return a small host; a double underscore in a name stands for a slash."""
    told = {path.replace("__", "/"): value for path, value in facts.items()}
    usual = {"kernel/release": "6.8.0-79-generic", "driver/module/version": "580.95.05", "packages/torch/version": "2.9.1", "kernel/boot_id": name,
             "servers/sglang/env/NODE": f"node {name} at 192.0.2.{len(name)}"}
    return Snapshot(name, taken_at, probes=PROBES, facts={**usual, **told}, redaction={"key_id": "k"})


def without_answer(name):
    return Snapshot(name, "2026-03-04T03:00:00Z", probes={probe: replace(one, status="lost", reason="no answer on port 22") for probe, one in PROBES.items()})


def files(cli, hosts):
    paths = [cli.home / f"{one.host}.json" for one in hosts]
    for path, one in zip(paths, hosts, strict=True):
        path.write_bytes(document.to_bytes(one))
    return paths


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return the fleet of the recorded hosts, compared once, as JSON and as text."""
    cli = Cli(tmp_path_factory.mktemp("fleet"))
    ended = cli.run("peers", FLEET, "--format", "json")
    return ended.returncode, json.loads(ended.stdout)


def test_the_odd_host_of_the_recorded_fleet_stands_first_with_both_its_faults(told):
    code, found = told
    first = found["ways"][0]
    assert (code, found["word"], first["hosts"], first["state"]) == (1, "ODD", [KEY["culprit"]["name"]], "odd")
    named = " ".join(one["subject"]["name"] for one in first["suspects"])
    assert "nvidia-nccl-cu12" in named
    assert "0000:5d:00.0" in named


def test_the_innocent_hosts_of_the_recorded_fleet_differ_and_are_not_blamed(told):
    states = {one["host"]: one["state"] for one in told[1]["hosts"]}
    assert [states[f"gpu-f{number}"] for number in (1, 2, 3, 5)] == ["same", "differs", "differs", "differs"]
    assert [one["suspects"] for one in told[1]["ways"] if one["state"] == "differs"] == [[], [], []]


def test_the_host_that_was_not_reached_is_a_row_and_never_the_same(told):
    (row,) = [one for one in told[1]["hosts"] if one["host"] == KEY["unreachable"][0]]
    assert (row["state"], "Connection timed out" in row["reason"]) == ("unreachable", True)


def test_every_key_of_the_answer_is_documented(told):
    page = (FLEET.parents[2] / "docs" / "peers.md").read_text()
    way = told[1]["ways"][0]
    keys = {*told[1], *told[1]["hosts"][0], *way, *way["outliers"][0], *told[1]["facts"][0]}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", page)] == []


def test_the_odd_gpu_is_named_by_its_address(told):
    (odd,) = [one for one in told[1]["ways"][0]["outliers"] if one["path"] == "gpus/*/link/width"]
    assert (odd["devices"], odd["majority"], odd["mark"]) == (["0000:5d:00.0"], 16, "!")


def test_equal_hosts_end_with_0_and_say_what_was_compared(cli):
    ended = cli.run("peers", *files(cli, [host("gpu-a"), host("gpu-b"), host("gpu-c")]))
    assert (ended.returncode, "SAME     3 hosts agree in 4 facts" in ended.stdout) == (0, True)


def test_a_glob_of_facts_that_no_host_tells_is_wrong_use(cli):
    ended = cli.run("peers", *files(cli, [host("gpu-a"), host("gpu-b"), host("gpu-c")]), "--fact", "packages/*/vresion", "--fact", "kernel/*")
    assert (ended.returncode, ended.stderr) == (
        2, "error: no fact of these hosts fits packages/*/vresion\n    do: did you mean packages/*/version?\n")


def test_quiet_prints_nothing_where_all_agree(cli):
    ended = cli.run("peers", "-q", *files(cli, [host("gpu-a"), host("gpu-b"), host("gpu-c")]))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_hosts_that_agree_but_did_not_all_answer_end_with_3(cli):
    ended = cli.run("peers", *files(cli, [host("gpu-a"), host("gpu-b"), host("gpu-c"), without_answer("gpu-d")]))
    assert (ended.returncode, " x gpu-d: no answer on port 22" in ended.stdout) == (3, True)


def test_an_equal_split_is_said_and_blames_nobody(cli):
    hosts = [host(f"gpu-{number}", packages__torch__version="2.8.0" if number > 3 else "2.9.1") for number in range(1, 7)]
    ended = cli.run("peers", *files(cli, hosts))
    assert (ended.returncode, ended.stdout.count("ODD HOSTS")) == (1, 0)
    assert f" ~ torch  3 {TIMES} 2.8.0 (gpu-[4-6]) against 3 {TIMES} 2.9.1 (gpu-[1-3])" in ended.stdout


def test_two_hosts_are_pointed_to_diff(cli):
    first, second = files(cli, [host("gpu-a"), host("gpu-b")])
    ended = cli.run("peers", first, second)
    assert (ended.returncode, f"driftwatch diff {first} {second}" in ended.stderr) == (2, True)


def test_all_that_cannot_be_read_is_named_at_once(cli):
    good, *damaged = files(cli, [host("gpu-a"), host("gpu-b"), host("gpu-c")])
    for path in damaged:
        path.write_bytes(path.read_bytes().replace(b"2.9.1", b"2.9.2"))
    ended = cli.run("peers", good, *damaged)
    unknown = cli.run("peers", "gpu-x", "@nobody", good)
    assert (ended.returncode, ended.stderr.count("changed after it was written")) == (2, 2)
    assert (unknown.returncode, unknown.stderr.count("error:")) == (2, 2)


def test_another_baseline_than_the_majority_is_pointed_to_audit(cli):
    ended = cli.run("peers", *files(cli, [host("gpu-a"), host("gpu-b"), host("gpu-c")]), "--against", "gpu-a@good")
    assert (ended.returncode, "driftwatch audit --against gpu-a@good" in ended.stderr) == (2, True)


def test_stored_hosts_are_named_by_ranges_and_globs_and_an_earlier_look_is_a_further_sample(cli):
    store = FileStore(cli.store)
    for number in (1, 2, 3, 4):
        store.save(host(f"gpu-r07-{number:02d}", packages__torch__version="2.8.0" if number == 4 else "2.9.1"))
    before = json.loads(cli.run("peers", "gpu-r07-[01-04]", "--format", "json").stdout)
    store.save(host("gpu-r07-04", "2026-03-03T03:00:00Z"))
    after = json.loads(cli.run("peers", "gpu-r07-*", "--format", "json").stdout)
    once, twice = (one["ways"][0]["outliers"][0]["surprise"] for one in (before, after))
    assert [one["ref"] for one in before["hosts"]] == [one["ref"] for one in after["hosts"]] == [f"gpu-r07-{number:02d}@last" for number in (1, 2, 3, 4)]
    assert twice > once


def test_what_a_host_always_had_surprises_less(cli):
    store = FileStore(cli.store)
    for number in (1, 2, 3, 4):
        odd = {"packages__torch__version": "2.8.0", "kernel__release": "6.8.0-84-generic"} if number == 4 else {}
        store.save(host(f"gpu-{number}", **odd))
    old = store.save(host("gpu-4", "2026-03-01T03:00:00Z", packages__torch__version="2.8.0"))
    set_label(store, old, "good", set_at="2026-03-01T04:00:00Z")
    found = json.loads(cli.run("peers", "gpu-[1-4]", "--format", "json").stdout)
    surprise = {one["path"]: one["surprise"] for one in found["ways"][0]["outliers"]}
    assert surprise["packages/torch/version"] < surprise["kernel/release"]


def test_a_host_of_a_group_of_which_nothing_is_stored_is_a_row(cli):
    store = FileStore(cli.store)
    for number in (1, 2, 3):
        store.save(host(f"gpu-{number}"))
    (cli.home / "driftwatch.toml").write_text('[hosts]\nprod = ["gpu-[1-4]"]\n')
    found = json.loads(cli.run("peers", "@prod", "--format", "json").stdout)
    assert [one["state"] for one in found["hosts"]] == ["same", "same", "same", "unreachable"]


def test_a_site_says_what_is_each_hosts_own(cli):
    hosts = [host(f"gpu-{number}", kernel__site_tag=f"tag-{number}" if number < 3 else "tag") for number in range(1, 7)]
    before = cli.run("peers", *files(cli, hosts)).returncode
    (cli.home / "driftwatch.toml").write_text('[roles.serving]\nidentity = ["kernel/site_tag"]\n')
    assert (before, cli.run("peers", *files(cli, hosts)).returncode) == (1, 0)


def test_pasted_lists_are_peers_too(cli):
    for name, version in (("a", "2.9.1"), ("b", "2.9.1"), ("c", "2.8.0")):
        (cli.home / f"{name}.txt").write_text(f"Package Version\n------- -------\npip     25.0\nnumpy   2.1.0\ntorch   {version}\n")
    ended = cli.run("peers", "./a.txt", "./b.txt", "./c.txt", "--format", "json")
    found = json.loads(ended.stdout)
    assert (ended.returncode, found["ways"][0]["hosts"], found["ways"][0]["outliers"][0]["value"]) == (1, ["./c.txt"], "2.8.0")


def test_two_hundred_hosts_need_nine_lines(cli):
    odd = {
        range(9): {"driver__module__version": "580.105.08", "kernel__release": "6.8.0-84-generic"}, range(20, 25): {"packages__torch__version": "2.8.0"},
        range(30, 32): {"servers__sglang__args__max_bs": 128}, range(40, 41): {"driver__module__version": "550.90.07"}, range(50, 51): {"gpus__count": 7},
    }
    hosts = []
    for number in range(200):
        told = next((facts for places, facts in odd.items() if number in places), {})
        usual = {"servers__sglang__running": True, "servers__sglang__args__max_bs": 512, "gpus__count": 8}
        hosts.append(host(f"gpu-r{number // 16 + 1:02d}-{number % 16 + 1:02d}", **{**usual, **told}))
    hosts[60:66] = [silent(one, "gpus") for one in hosts[60:66]]
    hosts[70:72] = [silent(one, "sources", "denied") for one in hosts[70:72]]
    hosts = [replace(one, facts={**one.facts, "sources/sglang/tree": "sha256:1"}) if one.probes["sources"].status == "ok" else one for one in hosts]
    hosts[190:194] = [without_answer(one.host) for one in hosts[190:194]]
    ended = cli.run("peers", *files(cli, hosts), "--width", "100")
    rows = [line for line in ended.stdout.splitlines() if re.match(r"[A-Z ] +\d+ (gpu-|all others)", line)]
    assert (ended.returncode, len(rows)) == (1, 9)
    assert any("170 all others" in row for row in rows)
    assert any(re.match(r". +9 gpu-r01-\[01-09\] +~ +~ ", row) for row in rows)


def silent(one, probe, status="timeout"):
    kept = {path: value for path, value in one.facts.items() if not path.startswith(f"{probe}/")}
    return replace(one, facts=kept, probes={**one.probes, probe: replace(one.probes[probe], status=status, reason="no answer in 20 s")})


def test_no_line_is_wider_than_the_page_and_ascii_stays_ascii(cli):
    hosts = [host(f"gpu-{number}", kernel__cmdline="x" * 300 if number == 3 else "y\x1b[31m") for number in range(1, 5)]
    ended = cli.run("peers", *files(cli, hosts), PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")
    lines = ended.stdout.splitlines()
    assert ended.returncode == 1
    assert ended.stdout.isascii()
    assert "\x1b" not in ended.stdout
    assert [line for line in lines if len(line) > 80 and str(cli.home) not in line] == []


def test_diff_of_two_machines_tells_no_names_addresses_and_uuids_as_drift(cli):
    ended = cli.run("diff", f"{FLEET}/fleet-h100/gpu-f1", f"{FLEET}/fleet-h100/gpu-f5", "--format", "json")
    found = json.loads(ended.stdout)
    seen = [one["path"] for one in found["changes"] if not one["folded"] and one["class"] != "unknown"]
    innocent = {one["name"] for one in KEY["innocent"] if one["host"] == "gpu-f5"}
    assert (ended.returncode, found["suspects"], len(seen)) == (1, [], 4)
    assert all(any(name in " ".join(seen) for name in (one, one.removeprefix("linux-image-"))) for one in innocent)


def test_a_key_of_a_role_that_there_is_not_is_refused_by_name(cli):
    (cli.home / "driftwatch.toml").write_text('[roles.serving]\nidentities = ["kernel/site_tag"]\n')
    ended = cli.run("peers", "a", "b", "c")
    assert (ended.returncode, "did you mean 'identity'?" in ended.stderr) == (2, True)


def test_where_no_host_is_clean_each_is_laid_beside_another(cli):
    hosts = [host(f"gpu-{number}", **{f"packages__p{number}__version": "1.0"}) for number in range(1, 5)]
    found = json.loads(cli.run("peers", *files(cli, hosts), "--format", "json").stdout)
    assert len(found["ways"]) == 4
    assert all(one["beside"] and one["beside"] != one["looked_at"] for one in found["ways"])
