"""Containers as docker and the settings files tell them: limits, devices, image, and what a daemon that does not answer leaves unknown."""

from __future__ import annotations

import json

import pytest

from driftwatch.agent.collectors import containers
from driftwatch.agent.container_texts import parse_cdi, parse_daemon, parse_gres, parse_inside, parse_inspect, parse_ps, parse_slurm, parse_toml, parse_version
from driftwatch.agent.probe import Unreadable
from driftwatch.agent.real import RealRoot
from driftwatch.agent.recorded import load
from driftwatch.agent.redact import Redactor
from tests.agent.recording import told
from tests.agent.serving_lab import host_of, record
from tests.lab import nvml_stand_in

ID = "d3e4cc36a296d7d0a5d52ffc97dffb89ab840064413d35e65cd760f3ed12c7fe"
PS = ("docker", "ps", "-a", "--no-trunc", "--format", "{{json .}}")
LISTED = json.dumps({"ID": ID, "Names": "vllm", "Image": "vllm/vllm-openai:v0.22.1", "State": "running"})
INSPECTED = [{
    "Id": ID, "Image": "sha256:944a", "Created": "2026-07-24T09:00:00Z", "Path": "vllm", "Args": ["serve", "/m", "--api-key", "planted-secret-1"],
    "State": {"Status": "running", "OOMKilled": False, "ExitCode": 0, "Pid": 8800, "StartedAt": "2026-07-24T09:00:01Z"},
    "Config": {"Image": "vllm/vllm-openai:v0.22.1", "Env": ["NVIDIA_VISIBLE_DEVICES=all", "HF_TOKEN=planted-secret-2", "OUR_OWN=x"]},
    "HostConfig": {"ShmSize": 67108864, "IpcMode": "private", "Runtime": "nvidia", "Ulimits": [{"Name": "memlock", "Soft": -1, "Hard": -1}],
                   "Devices": [{"PathOnHost": "/dev/infiniband/uverbs0"}], "DeviceRequests": [{"Count": -1}], "Memory": 0, "Privileged": False},
    "Mounts": [{"Source": "/data", "Destination": "/m", "RW": False}],
}]
TOML = """disable-require = false
# supported = 1
[nvidia-container-cli]
load-kmods = true # at start
ldconfig = "@/sbin/ldconfig"
[a.b]
runtimes = ["runc", "#x"]
"""
DAEMON = '{"default-runtime": "nvidia", "default-shm-size": "1G"}'
CDI = 'cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: "0"\n- name: all\ncontainerEdits:\n  mounts:\n  - hostPath: /usr/lib/libcuda.so.580.95.05\n'


def facts_of(host):
    facts, status, _ = told(containers.collect, host)
    assert status == "ok"
    return facts


def recorded(folder, files=(), commands=(), **described):
    """Return a recorded host; a command is told by its words and answers a text, or (exit code, output, errors)."""
    record(folder, dict(files), **described)
    answers = {tuple(words): (0, said, "") if isinstance(said, str) else said for words, said in dict(commands).items()}
    (folder / "commands.json").write_text(json.dumps([{"argv": words, "rc": rc, "stdout": out, "stderr": err} for words, (rc, out, err) in answers.items()]))
    return host_of(load(str(folder)))


def asked(folder, inspected, files=()):
    """Return the facts of a recorded host with one container."""
    return facts_of(recorded(folder, files, {PS: LISTED + "\n", ("docker", "inspect", ID): inspected}))


def test_a_container_tells_its_image_its_limits_and_what_was_given_to_it(tmp_path):
    facts = asked(tmp_path, json.dumps(INSPECTED))
    below = {path[len("containers/vllm/"):]: value for path, value in facts.items() if path.startswith("containers/vllm/")}
    assert (below["image"], below["digest"], below["runtime"], below["state"]) == ("vllm/vllm-openai:v0.22.1", "sha256:944a", "nvidia", "running")
    assert (below["shm_bytes"], below["ipc_mode"], below["ulimits"]) == (67108864, "private", {"memlock": {"soft": -1, "hard": -1}})
    assert (below["devices"], below["mounts"]) == (["/dev/infiniband/uverbs0"], ["/m: /data (read only)"])
    assert below["oom_killed"] is False
    assert not {"memory_bytes", "privileged", "exit_code"} & set(below)


def test_no_secret_of_a_container_leaves_and_only_listed_variables_are_named(tmp_path):
    facts = asked(tmp_path, json.dumps(INSPECTED))
    assert "planted" not in json.dumps(facts)
    assert facts["containers/vllm/env/NVIDIA_VISIBLE_DEVICES"] == "all"
    assert "keyed" in facts["containers/vllm/env/HF_TOKEN"]
    assert "containers/vllm/env/OUR_OWN" not in facts


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1]", "[null]", '[{"HostConfig": {"Ulimits": [1]}}]', '[{"State": "x"}]'])
def test_an_inspection_that_is_none_is_unreadable_and_what_was_listed_is_kept(tmp_path, text):
    with pytest.raises(Unreadable):
        parse_inspect(text, Redactor())
    facts = asked(tmp_path, text)
    assert facts["containers/vllm"].status == "error"
    assert facts["containers/vllm/image"] == "vllm/vllm-openai:v0.22.1"


@pytest.mark.parametrize(("answer", "status"), [
    ((1, "", "permission denied while trying to connect to the Docker daemon socket"), "denied"), ((1, "", "Cannot connect to the Docker daemon"), "error"),
    ("no json", "error"),
])
def test_containers_that_could_not_be_listed_are_unknown(tmp_path, answer, status):
    assert facts_of(recorded(tmp_path, commands={PS: answer}))["containers"].status == status


def test_a_daemon_that_hangs_is_asked_once_for_each_question(tmp_path):
    host = recorded(tmp_path, hangs=[["docker"]])
    assert facts_of(host)["containers"].status == "timeout"


def test_without_docker_there_are_no_containers_and_nothing_is_unknown(tmp_path):
    facts = facts_of(recorded(tmp_path, commands=dict.fromkeys([PS, ("nvidia-ctk", "--version"), ("slurmd", "-V")], (127, "", ""))))
    assert facts == {"container_runtime/inside": False}


def test_settings_files_tell_their_keys_and_digests(tmp_path):
    facts = asked(tmp_path, json.dumps(INSPECTED), {
        "/etc/nvidia-container-runtime/config.toml": TOML, "/etc/docker/daemon.json": DAEMON, "/etc/cdi/nvidia.yaml": CDI,
        "/etc/slurm/cgroup.conf": "ConstrainDevices=yes # all\n", "/etc/slurm/gres.conf": "# x\nName=gpu  File=/dev/nvidia[0-3]\n",
    })
    assert facts["container_runtime/docker/default-shm-size"] == "1G"
    assert facts["container_runtime/nvidia/nvidia-container-cli.load-kmods"] is True
    assert facts["container_runtime/cdi/%2Fetc%2Fcdi%2Fnvidia.yaml"]["driver"] == ["580.95.05"]
    assert (facts["slurm/cgroup/ConstrainDevices"], facts["slurm/gres"]) == ("yes", ["Name=gpu File=/dev/nvidia[0-3]"])
    assert facts["container_runtime/files/%2Fetc%2Fdocker%2Fdaemon.json"].startswith("sha256:")


@pytest.mark.parametrize(("command", "said", "path", "version"), [
    ("nvidia-ctk --version", "NVIDIA Container Toolkit CLI version 1.19.1\ncommit: 7a5bb0d\n", "container_runtime/nvidia_ctk", "1.19.1"),
    ("slurmd -V", "slurm 21.08.4\n", "slurm/version", "21.08.4"),
])
def test_a_tool_tells_its_version(tmp_path, command, said, path, version):
    assert facts_of(recorded(tmp_path, commands={tuple(command.split()): said}))[path] == version


@pytest.mark.parametrize(("cgroup", "mounts", "marks", "kind"), [
    ("0::/\n", "", (True, False), "docker"), ("0::/\n", "", (False, True), "podman"), ("0::/init.scope\n", "", (False, False), ""),
    (f"12:cpu:/docker/{ID}\n", "", (False, False), "docker"), ("1:cpu:/kubepods/burstable/pod1/2\n", "", (True, False), "kubernetes"),
    ("0::/\n", "1 2 8:1 /var/lib/kubelet/pods/1/etc-hosts /etc/hosts rw - ext4 /dev/sda rw\n", (False, False), "kubernetes"),
])
def test_the_container_we_are_in_is_named(cgroup, mounts, marks, kind):
    assert parse_inside(cgroup, mounts, is_docker=marks[0], is_podman=marks[1])[0] == kind


def test_its_id_is_read_from_the_mounts():
    assert parse_inside("0::/\n", f"1 2 8:1 /var/lib/docker/containers/{ID}/hostname /etc/hostname rw", is_docker=True, is_podman=False) == ("docker", ID)


def test_running_containers_are_listed_first():
    lines = [{"ID": "1", "Names": "a", "State": "exited"}, {"ID": "2", "Names": "b", "State": "running"}]
    assert [one["ID"] for one in parse_ps("\n".join(map(json.dumps, lines)))] == ["2", "1"]


def test_the_texts_of_settings_are_understood():
    assert parse_toml(TOML) == {
        "disable-require": False, "nvidia-container-cli.load-kmods": True, "nvidia-container-cli.ldconfig": "@/sbin/ldconfig", "a.b.runtimes": ["runc", "#x"]}
    assert parse_cdi(CDI) == {"kind": "nvidia.com/gpu", "devices": ["0", "all"], "driver": ["580.95.05"]}
    assert parse_slurm("GresTypes=gpu\nSlurmctldHost=head\ntaskplugin=task/cgroup\n") == {"GresTypes": "gpu", "TaskPlugin": "task/cgroup"}
    assert parse_gres("# none\n\n") == []
    for parse in (parse_daemon, parse_version):
        with pytest.raises(Unreadable):
            parse("nothing of that kind")


PODMAN = "/var/lib/containers/storage/overlay"
KEPT = [{"id": ID, "names": ["trial"], "image": "d85669", "created": "2026-11-30T02:14:26Z", "metadata": json.dumps({"image-name": "localhost/sglang:1"})}]
SETTINGS = {
    "process": {"args": ["serve", "--api-key", "planted-secret-3"], "env": ["NCCL_DEBUG=INFO", "HF_TOKEN=planted-secret-4", "OUR_OWN=x"],
                "rlimits": [{"type": "RLIMIT_MEMLOCK", "hard": 2**64 - 1, "soft": 65536}]},
    "mounts": [{"destination": "/data", "type": "bind", "source": "/tmp", "options": ["ro"]}, {"destination": "/proc", "type": "proc", "source": "proc"}],
    "linux": {"resources": {"memory": {"limit": 536870912}, "pids": {"limit": 2048}}, "cgroupsPath": "/machine/libpod-1"},
}


def podman(folder, **more):
    files = {f"{PODMAN}-containers/containers.json": json.dumps(KEPT), f"{PODMAN}-images/images.json": '[{"id": "d85669"}]', **more}
    return facts_of(recorded(folder, files))


def test_podmans_containers_are_read_from_its_files_and_their_secrets_are_masked(tmp_path):
    facts = podman(tmp_path, **{f"{PODMAN}-containers/{ID}/userdata/config.json": json.dumps(SETTINGS)})
    assert {path.rpartition("/")[2]: value for path, value in facts.items() if path.startswith("containers/podman:trial/")} == {
        "id": ID, "image": "localhost/sglang:1", "digest": "sha256:d85669", "created_at": "2026-11-30T02:14:26Z", "state": "created",
        "command": facts["containers/podman:trial/command"], "ulimits": {"memlock": {"soft": 65536, "hard": -1}}, "mounts": ["/data: /tmp (read only)"],
        "memory_bytes": 536870912, "pids_limit": 2048, "cgroup_parent": "/machine", "NCCL_DEBUG": "INFO",
        "HF_TOKEN": facts["containers/podman:trial/env/HF_TOKEN"],
    }
    assert "planted-secret" not in json.dumps(facts)


def test_a_container_whose_noted_process_is_there_runs(tmp_path):
    noted = f"/run/containers/storage/overlay-containers/{ID}/userdata/pidfile"
    assert podman(tmp_path, **{noted: "41\n", "/proc/41/stat": "41 (x) S"})["containers/podman:trial/state"] == "running"


def test_settings_of_podman_that_are_none_leave_the_rest_told(tmp_path):
    facts = podman(tmp_path, **{f"{PODMAN}-containers/{ID}/userdata/config.json": "["})
    assert facts["containers/podman:trial"].status == "error"
    assert facts["containers/podman:trial/image"] == "localhost/sglang:1"


def test_this_machine_is_told_and_no_probe_of_it_fails():
    facts = facts_of(host_of(RealRoot()))
    assert facts["container_runtime/inside"] in (False, "docker", "podman", "kubernetes", "lxc")


def test_containers_are_told_on_the_oldest_python(tmp_path):
    answer = nvml_stand_in.told(nvml_stand_in.start("containers", tmp_path, python=nvml_stand_in.oldest_python()))
    assert answer.status == "ok"
