"""A snapshot of a container, as a user asks for it: kept under a name of its own, and it says from inside of what the host was seen."""
from __future__ import annotations

import json
import os

import pytest

from driftwatch.store.document import load
from tests.lab.containers import Rooms, real_podman
from tests.lab.sshd import running_sshd


@pytest.fixture
def rooms(tmp_path):
    made = Rooms(tmp_path / "rooms")
    made.make("web")
    made.make("sglang-0")
    return made


def the_only(cli, name):
    (path,) = (cli.store / "hosts" / name).glob("*--*.json")
    return load(path)


def test_inside_and_outside_are_two_views_of_one_host_and_mask_secrets_alike(cli, rooms):
    here = os.uname().nodename
    taken = cli.run("snapshot", "docker://web", "local", "--only", "system,env", "--save", PATH=rooms.path)
    assert taken.returncode == 0, taken.stderr
    inside, outside = the_only(cli, f"web.docker.{here}"), the_only(cli, here)
    assert inside.extra["view"] == {"inside": "docker", "container": "web", "of": here}
    assert "view" not in outside.extra
    assert inside.redaction == outside.redaction
    told = cli.run("diff", f"{here}@{outside.id[7:15]}", f"web.docker.{here}@{inside.id[7:15]}", "--width", "120")
    assert [", inside docker web" in line for line in told.stdout.splitlines()[:2]] == [False, True]
    assert inside.facts["env/PATH"] != outside.facts["env/PATH"]


def test_what_a_real_container_lacks_is_a_change_against_its_host(cli):
    here = os.uname().nodename
    with real_podman("dw-shm") as clients:
        path = f"{clients}:{os.environ['PATH']}"
        cli.run("snapshot", "podman://dw-shm", "local", "--only", "containers,disks", "--save", "--label", "seen", PATH=path)
    inside, outside = the_only(cli, f"dw-shm.podman.{here}"), the_only(cli, here)
    assert inside.facts["container_runtime/inside"] == "podman" != outside.facts["container_runtime/inside"]
    assert inside.facts["shm/size_bytes"] == 64_000 << 10 != outside.facts["shm/size_bytes"]
    told = cli.run("diff", f"{here}@seen", f"dw-shm.podman.{here}@seen")
    assert "/dev/shm" in told.stdout.partition("NOT CHECKED")[0]


def test_a_container_of_another_machine_is_kept_under_that_machine_s_name(cli, rooms, tmp_path):
    with running_sshd(tmp_path / "host", environment=f"PATH={rooms.path}") as server:
        ways = [f"UserKnownHostsFile={server.known_hosts}", f"IdentityFile={server.identity}", "IdentitiesOnly=yes"]
        (cli.home / "driftwatch.toml").write_text(f"ssh_options = {json.dumps(ways)}\n")
        taken = cli.run("snapshot", f"docker://web@{server.user}@127.0.0.1:{server.port}", "--only", "system", "--save")
    assert taken.returncode == 0, taken.stderr
    assert the_only(cli, "web.docker.127.0.0.1").extra["view"] == {"inside": "docker", "container": "web", "of": "127.0.0.1"}


def test_a_pod_is_kept_under_its_own_name(cli, rooms):
    assert cli.run("snapshot", "kubectl://serving/sglang-0", "--only", "system", "--save", PATH=rooms.path).returncode == 0
    assert the_only(cli, "sglang-0.serving.kubectl").extra["view"] == {"inside": "kubernetes", "namespace": "serving", "pod": "sglang-0"}


def test_a_container_that_cannot_be_reached_is_one_sentence_and_all_probes_lost(cli, rooms):
    refused = cli.run("snapshot", "podman://nosuch", PATH=rooms.path)
    assert refused.returncode == 3
    assert "there is no container for podman://nosuch" in refused.stderr


@pytest.mark.parametrize(("dest", "said"), [
    ("slurm://[n[1-3]", "a bracket without its other half"), ("docker://-v", "is no destination"), ("kubectl://pod", "is no destination"),
    ("slurm://", "is no destination"),
])
def test_a_bad_name_is_refused_before_anything_is_asked(cli, dest, said):
    refused = cli.run("snapshot", dest)
    assert refused.returncode == 2
    assert said in refused.stderr


def test_a_set_of_nodes_is_one_snapshot_a_node(cli, tmp_path):
    (tmp_path / "bin").mkdir()
    sinfo = 'for w in "$@"; do case $w in --nodes=*) echo "${w#--nodes=}|drained|2026-03-01T02:00:00|bad fan"; esac; done'
    for name, text in {"srun": "exit 1", "scancel": "", "sinfo": sinfo}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    told = cli.run("snapshot", "slurm://[gpu[001-003],login]", "--only", "system", "--save", "--json", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    rows = json.loads(told.stdout)
    assert sorted(row["host"] for row in rows) == ["gpu001", "gpu002", "gpu003", "login"]
    assert {row["unanswered"]["system"]["reason"].partition(": it can")[0] for row in rows} == {
        f"Slurm lists {node} as drained since 2026-03-01T02:00:00: bad fan" for node in ("gpu001", "gpu002", "gpu003", "login")}
    assert the_only(cli, "gpu002").extra["view"] == {"inside": "slurm step"}


def test_a_job_that_is_no_number_is_refused(cli):
    refused = cli.run("snapshot", "slurm://n1", "--jobid", "7;x")
    assert (refused.returncode, "no number of a job" in refused.stderr) == (2, True)
