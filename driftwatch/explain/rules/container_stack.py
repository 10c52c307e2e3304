"""How GPUs get into containers: NVIDIA's toolkit, the engine, their settings, the device list made for one driver, and the container itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.compare.change import Change
from driftwatch.compare.equal import FIRST_HAND
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.error_words import LACKS
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.families import os_package_family
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.rules.driver_pair import MODULE as _MODULE
from driftwatch.explain.rules.driver_pair import odd_ones
from driftwatch.explain.terms import mark, term
from driftwatch.explain.transactions import carrier, transactions
from driftwatch.explain.words import command, listed, moved
from driftwatch.model import plain

TOOLKIT = Subject("container", "nvidia-container-toolkit")
_TOOLKIT = re.compile(r"(?:lib)?nvidia-container.*|nvidia-docker.*")
_CORE = re.compile(r"os_packages/(?:nvidia-container-toolkit(?:-base)?|libnvidia-container(?:1|-tools))/version")
_TEXT = re.compile(
    r"cuInit|no cuda-capable|nvml.*(?:unknown error|not found)|nvidia-container|failed to create shim|OCI runtime|unknown error|CDI device"
    r"|lib(?:cuda|nvidia-ml)\.so\S*: cannot open|found no nvidia driver|failed to infer device type|select device driver|invalid runtime name", re.IGNORECASE
)
_LOST_INSIDE = re.compile(r"initialize nvml: unknown error|nvml.*unknown error|nvmlInit.*999", re.IGNORECASE)
_LOST_PERHAPS = re.compile(r"CUDA unknown error|CUDA_ERROR_UNKNOWN|cuInit\D{0,20}999", re.IGNORECASE)  # also of a driver that is not set up
_ASIDE = re.compile(r"log-.*|debug|labels|metrics-addr|.*registr.*|max-(?:concurrent|download).*|hosts|tls.*|dns.*|bip|mtu|default-address-pools|fixed-cidr.*")
_DEFAULT, _GIVES = "default-runtime", ("runtime", "device_requests", "devices")
_GPU_DEVICE = re.compile(r"nvidia|/dev/(?:kfd|dri|davinci|accel)")
_MADE = ("image", "digest", "runtime", "device_requests", "devices", "privileged", "security_options", "capabilities_added", "ipc_mode", "pid_mode")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield what moved on the way of a GPU into a container."""
    packages = [change for change in case.moved("os_packages/*/version") if os_package_family(change.path.split("/")[1]) == "container"]
    toolkit = [change for change in packages if _TOOLKIT.fullmatch(change.path.split("/")[1])] + list(case.moved("container_runtime/nvidia_ctk"))
    if toolkit:
        yield _of_packages(case, TOOLKIT, toolkit)
    for change in packages:
        if change not in toolkit:
            yield _of_packages(case, Subject("container", change.path.split("/")[1]), [change])
    yield from _settings(case)
    yield from _device_lists(case)
    yield from _taken_away(case)
    for name in case.families("containers"):
        yield from _made_anew(case, name)


def _of_packages(case: Case, subject: Subject, changes: list[Change]) -> Evidence:
    names = [change.path.split("/")[1] for change in changes if change.path.startswith("os_packages/")]
    good, bad = values(changes[0])
    facts = tuple(change.path for change in changes)
    says = f"it moved, {moved(good, bad)}" + (f": {listed(names)}" if len(names) > 1 else "")
    terms = (term("container stack moved", says, facts), *_gone(changes), *_of_stack(case), *_patch(changes))
    look = Command("confirm", "nvidia-ctk --version; nvidia-ctk cdi list; docker info | grep -i runtime", "which devices and runtimes a container can get")
    old = [f"{change.path.split('/')[1]}={was}" for change in changes if change.path.startswith("os_packages/") and (was := values(change)[0])]
    back = (Command("try", command(["apt-get", "install", "--allow-downgrades", *old]), "as root; then restart the engine"),) if old else ()
    verdict = f"{subject.name} moved, {moved(good, bad)}: it decides how GPUs get into containers."
    return Evidence(subject, terms, Wording("container runtime", subject.name, mark(good, bad), good, bad, verdict, carrier(case, names), (look, *back)))


def _gone(changes: list[Change]) -> Iterator[Term]:
    """Yield that a part of NVIDIA's toolkit, which puts GPUs into containers, is no longer installed."""
    gone = {change.path.split("/")[1]: change.path for change in changes if change.kind == "removed" and _CORE.fullmatch(change.path)}
    if gone:
        says = f"{listed(gone)} {'is' if len(gone) == 1 else 'are'} gone: nothing puts GPUs into a container then"
        yield term("runtime without GPUs", says, list(gone.values()))


def _patch(changes: list[Change]) -> Iterator[Term]:
    """Yield that one release was only packed anew: what stands before the last hyphen of the packages' versions is the same."""
    if all(change.kind == "changed" and len({str(one).rpartition("-")[0] or one for one in values(change)}) == 1 for change in changes):
        yield term("patch release", "it is the same release, packed anew")


def _gpu_containers(case: Case, side: SideName) -> list[str]:
    """Return the containers of a side that were given GPUs."""
    return [name for name in case.families("containers") if _has_gpu(case, side, name)]


def _has_gpu(case: Case, side: SideName, name: str) -> bool:
    top = f"containers/{name}"
    return (
        bool(case.value(side, f"{top}/device_requests"))
        or case.value(side, f"{top}/runtime") == "nvidia"
        or _GPU_DEVICE.search(str(case.value(side, f"{top}/devices"))) is not None
    )


def _lost_gpus(case: Case, name: str) -> bool:
    """Tell whether a container that had GPUs is known to be made without any."""
    is_told = all(case.known(f"containers/{name}/{one}") is not None for one in _GIVES) and case.value("bad", f"containers/{name}/image") is not None
    return is_told and _has_gpu(case, "good", name) and not _has_gpu(case, "bad", name)


def _of_stack(case: Case) -> Iterator[Term]:
    """Yield that a container gets its GPUs this way and the error is of that; nothing where a container was made without any, which says all of it."""
    if not any(_lost_gpus(case, name) for name in case.families("containers")):
        yield from _on_path(case)
        yield from _text(case)


def _on_path(case: Case) -> Iterator[Term]:
    for side in SIDES:
        found = _gpu_containers(case, side)
        if found:
            yield term("server in a container", f"{listed(found)} gets its GPUs this way", (f"containers/{found[0]}/runtime",))
            return


def _text(case: Case) -> Iterator[Term]:
    if _TEXT.search(case.text):
        yield term("text fits", "the error text is that of a process that is not given its GPUs")


def _settings(case: Case) -> Iterator[Finding]:
    """Yield the settings of the engine or the toolkit that moved, as one thing."""
    changes = list(case.moved("container_runtime/nvidia/*", "container_runtime/docker/*"))
    changes = changes or list(case.moved("container_runtime/files/*"))
    if not changes:
        return
    good, bad = values(changes[0])
    names = [plain(change.path.split("/", 2)[2]) for change in changes]
    files = [plain(change.path.split("/", 2)[2]) for change in case.moved("container_runtime/files/*")]
    weight = "moved" if all(_ASIDE.fullmatch(name) for name in names) else "container stack set anew"
    terms = (term(weight, f"settings moved: {listed(names)}", [change.path for change in changes]), *(_of_stack(case) if weight != "moved" else ()))
    look = Command("confirm", "cat /etc/docker/daemon.json /etc/nvidia-container-runtime/config.toml")
    verdict = f"Settings of the container runtime moved: {listed(names)}."
    wording = Wording("container runtime", names[0], mark(good, bad), good, bad, verdict, commands=(look,))
    yield Evidence(Subject("container", files[0] if len(files) == 1 else "container runtime settings"), terms, wording)


def _device_lists(case: Case) -> Iterator[Finding]:
    """Yield each CDI file that was made for another driver than the one that is loaded."""
    for path, value in case.below("bad", "container_runtime"):
        module = case.value("bad", _MODULE)
        drivers = value.get("driver") if path.startswith("container_runtime/cdi/") and isinstance(value, dict) else None
        if not drivers or not isinstance(module, str) or module in drivers:
            continue
        was, loaded = case.value("good", path), case.value("good", _MODULE)
        before = was.get("driver") if isinstance(was, dict) and isinstance(loaded, str) else None
        name = plain(path.split("/", 2)[2])
        says = f"{name} names libraries of driver {listed(map(str, drivers))}, but {module} is loaded"
        if before and loaded not in before:
            yield Doubt(f"on the good side {name} already named libraries of driver {listed(map(str, before))}, and {loaded} was loaded", (path, _MODULE))
            continue
        terms = (term("pair broke" if before else "pair broke, before unknown", says, (path, _MODULE)), *_on_path(case), *_text(case))
        again = Command("try", command(["nvidia-ctk", "cdi", "generate", f"--output={name}"]), "as root: makes the file anew for this driver")
        wording = Wording("container runtime", name, "!", module, drivers, f"{says}.", commands=(again,), is_one_host=True)
        yield Evidence(Subject("container", f"CDI file {name}"), terms, wording)


def _taken_away(case: Case) -> Iterator[Finding]:
    """Yield a running container that lost its GPUs while the host's driver agrees with itself: a reload of systemd does that to its device rules."""
    reload = next((one for one in reversed(transactions(case)) if any(name.startswith(("systemd", "udev")) for name in one.packages)), None)
    is_text = _LOST_INSIDE.search(case.text) or (reload is not None and _LOST_PERHAPS.search(case.text))
    if not is_text or odd_ones(case, "bad") or case.value("bad", _MODULE) is None:
        return
    found = _gpu_containers(case, "bad")
    if not found and not case.value("bad", "container_runtime/inside"):
        return
    name = f"the container {listed(found)}" if found else "the container that was looked into"
    says = f"{name} lost its GPUs while it ran, though the driver on the host agrees with itself"
    terms = [term("devices taken from a container", says, (_MODULE,))]
    if reload is not None:
        terms.append(term("in the window", f"{reload.told} moved systemd, which loads all units again", (reload.fact,)))
    one = found[0] if found else "CONTAINER"
    look = Command("confirm", command(["docker", "exec", one, "nvidia-smi", "-L"]) + "; nvidia-smi -L", "inside and outside")
    again = Command(
        "try",
        command(["docker", "restart", one]),
        "brings them back until the next reload; device nodes given by --device, or the engine's cgroupfs driver, keep them",
    )
    verdict = f"{name[0].upper()}{name[1:]} lost its GPUs while the host still has them."
    yield Evidence(
        Subject("container", "device rules of the container (cgroup)"),
        tuple(terms),
        Wording("container", "GPUs inside", "!", "seen", "not seen", verdict, commands=(look, again)),
    )


def _made_anew(case: Case, name: str) -> Iterator[Finding]:
    """Yield a container with GPUs, or the only one that two pastes tell, that was made from another image, or otherwise than before."""
    is_asked = case.families("containers") == [name] and not {case.good.source, case.bad.source} & FIRST_HAND
    if not (is_asked or any(_has_gpu(case, side, name) for side in SIDES)) or not all(case.value(side, f"containers/{name}/image") for side in SIDES):
        return
    changes = [change for change in case.moved(f"containers/{name}/*") if change.path.split("/")[2] in _MADE]
    if not changes:
        return
    changes.sort(key=lambda change: _MADE.index(change.path.split("/")[2]))
    good, bad = values(changes[0])
    parts = [change.path.split("/")[2] for change in changes]
    facts = [change.path for change in changes]
    if _lost_gpus(case, name):
        yield _without_gpus(case, name, facts)
        return
    is_image = bool({"image", "digest"} & set(parts))
    says = "it was made from another image: all that is in it moved at once" if is_image else f"it was made otherwise: {listed(parts)}"
    terms = [term("image moved" if is_image else "container set anew", says, facts)]
    if is_image and LACKS.search(case.text) and not case.below("bad", "packages"):
        terms.append(term("image lacks it", "the error lacks a module, and what an image has installed is all that its container has", facts))
    look = Command("confirm", command(["docker", "inspect", name]))
    wording = Wording("container", f"{name}, {parts[0]}", mark(good, bad), good, bad, f"The container {name}: {says}.", commands=(look,))
    yield Evidence(Subject("container", name), tuple(terms), wording)


def _without_gpus(case: Case, name: str, facts: list[str]) -> Evidence:
    """Return that a container which had GPUs was made without any: then neither devices nor libraries of the driver are put into it, whatever the host has."""
    top = f"containers/{name}"
    good, bad = (case.value(side, f"{top}/runtime") for side in SIDES)
    runtime = f"runtime {moved(good, bad)}, " if good != bad else ""
    says = f"it was made anew without GPUs: {runtime}no request for devices; then no library of the driver is put into it either"
    terms = (term("runtime without GPUs", says, dict.fromkeys([f"{top}/runtime", *facts])), *_text(case))
    default = next(case.moved(f"container_runtime/docker/{_DEFAULT}"), None)
    carrier_ = f"the engine's {_DEFAULT} moved, {moved(*values(default))}, which a container takes when it is made" if default is not None else ""
    commands = (
        Command("confirm", command(["docker", "inspect", "--format", "{{.HostConfig.Runtime}} {{json .HostConfig.DeviceRequests}}", name])),
        Command("try", "nvidia-ctk runtime configure --runtime=docker --set-as-default", "as root; restart docker, then make the container anew"),
        Command("look", f"# or make {name} with --gpus all, whatever the engine's default is"),
    )
    verdict = f"The container {name} was made without GPUs{f', runtime {moved(good, bad)}' if runtime else ''}: what it lacks the host still has."
    return Evidence(Subject("container", name), terms, Wording("container", f"{name}, runtime", mark(good, bad), good, bad, verdict, carrier_, commands))


RULES = (Rule("container_stack", needs=(), weigh=weigh, blames=("container",)),)
