"""Single flips from the bad side back to the good one: each takes one thing back and nothing else, with what undoes it. Words and lines only; runs nothing.

What cannot move alone moves together: torch and the libraries of its wheel, a driver with its user space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from driftwatch.compare.change import Change
from driftwatch.explain import servers
from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Subject
from driftwatch.explain.families import variable_family
from driftwatch.explain.pairs import values
from driftwatch.explain.terms import pip
from driftwatch.explain.words import command, count, listed, show
from driftwatch.model import plain

Cost = Literal["control", "process", "env", "host", "argument", "pip", "os", "checkout", "reboot", "driver"]
_TOGETHER = (
    ("torch", re.compile(r"torch|torchvision|torchaudio|pytorch-triton.*|triton|nvidia-(?!ml-py|cutlass).*|cuda-(?:bindings|toolkit).*")),
    ("flashinfer-python", re.compile(r"flashinfer-.*")),
    ("sglang-kernel", re.compile(r"sgl-kernel|sglang-kernel")),
)
_OF_DRIVER = re.compile(r"(?:lib|xserver-xorg-video-)?nvidia-|(?:kmod-nvidia|linux-(?:image|modules|headers|objects)|kernel)(?:-|$)")
_APT, _DNF = ("apt-get install --allow-downgrades", "{}={}"), ("dnf downgrade", "{}-{}")
_MANAGERS = {"ubuntu": _APT, "debian": _APT, "rhel": _DNF, "rocky": _DNF, "almalinux": _DNF, "centos": _DNF, "fedora": _DNF, "ol": _DNF}


@dataclass(frozen=True)
class Step:
    """One step: what it costs, what it does in words, the lines to paste, those that take it back, and how sure the suspect is that it tries.

    ``confidence`` is None where no rule speaks for what it takes back.
    """

    cost: Cost
    says: str
    lines: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    note: str = ""
    confidence: float | None = None


@dataclass(frozen=True)
class Flip:
    """A step, the subject that it tries, the changes that it takes back, and further facts that it was read from."""

    step: Step
    subject: Subject
    changes: tuple[Change, ...]
    facts: tuple[str, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """Return the facts that it is about."""
        return frozenset((*self.facts, *(change.path for change in self.changes)))


def flips(case: Case) -> Iterator[Flip]:
    """Yield every flip that the changes of a case allow."""
    for make in _MAKERS:
        yield from make(case)


def _variables(case: Case) -> Iterator[Flip]:
    """Yield a flip for each variable; the server's own environment goes before that of the probing shell."""
    every = [change for change in case.seen if re.fullmatch(r"env/[^/]+|servers/[^/]+/env/[^/]+", change.path)]
    names: dict[str, list[Change]] = {}
    for change in every:
        names.setdefault(change.path.rsplit("/", 1)[1], []).append(change)
    has_own = any(change.path.startswith("servers/") for change in every)
    for name, changes in names.items():
        first = max(changes, key=lambda change: change.path.startswith("servers/"))
        if variable_family(name) != "harmless" and (first.path.startswith("servers/") or not has_own):
            good, bad = values(first)
            step = Step("env", _set(name, good, is_line=False), (_set(name, good),), (_set(name, bad),), "in the environment of the server; then restart it")
            yield Flip(step, Subject("env-var", name), tuple(changes))


def _set(name: str, value: Any, *, is_line: bool = True) -> str:
    if value is None:
        return f"unset {name}"
    if not isinstance(value, str):
        return f"# export {name}=…: as it was; a secret's value is in no snapshot"
    return f"export {name}={command([value])}" if is_line else f"export {name}={show(value)}"


def _arguments(case: Case) -> Iterator[Flip]:
    for one in servers.moved_arguments(case):
        flag = servers.flag(one.name)
        changes = tuple(case.by_path[path] for path in one.facts if path in case.by_path)
        note = "the default moved: nobody gave it" if one.is_default else ""
        back, forth = (f"# start the server {servers.with_argument(one.name, value)}" for value in (one.good, one.bad))
        step = Step("argument", _flag(flag, one.good), (back,), (forth,), note)
        yield Flip(step, Subject("launch-arg", one.name), changes, one.facts)


def _flag(flag: str, value: Any) -> str:
    return f"without {flag}" if value in (None, False) else flag if value is True else f"{flag} {show(value)}"


def _packages(case: Case) -> Iterator[Flip]:
    """Yield a flip for each package that moved, one for a group that cannot move apart."""
    moved = {}
    for change in case.moved("packages/*/version"):
        name = change.path.split("/")[1]
        if not case.has_moved(f"git/{name}/head"):
            moved[name] = change
    for lead, pattern in _TOGETHER:
        group = {name: change for name, change in moved.items() if pattern.fullmatch(name)}
        if lead in group and len(group) > 1:
            yield _of_packages(case, lead, group)
            moved = {name: change for name, change in moved.items() if name not in group}
    for name, change in moved.items():
        yield _of_packages(case, name, {name: change})


def _of_packages(case: Case, lead: str, group: dict[str, Change]) -> Flip:
    versions = {name: values(change) for name, change in sorted(group.items(), key=lambda pair: (pair[0] != lead, pair[0]))}
    wanted = [f"{name}=={good}" if good is not None else f"without {name}" for name, (good, _) in versions.items()]
    says = f"{wanted[0]} (alone)" if len(group) == 1 else f"{listed(wanted)} (together: they cannot move apart)"
    back, forth = ({name: pair[index] for name, pair in versions.items()} for index in (0, 1))
    step = Step("pip", says, _install(case, back), _install(case, forth), "then start the server")
    return Flip(step, Subject("package", lead), tuple(group.values()))


def _install(case: Case, versions: dict[str, Any]) -> tuple[str, ...]:
    """Return the lines that bring packages to these versions; None takes one away."""
    gone = [name for name, version in versions.items() if version is None]
    wanted = [f"{name}=={version}" for name, version in versions.items() if version is not None]
    lines = [pip(case, "uninstall", *([] if "uv" in case.installers else ["-y"]), *gone)] if gone else []
    return (*lines, *([pip(case, "install", "--no-deps", *wanted)] if wanted else []))


def _altered(case: Case) -> Iterator[Flip]:
    """Yield a flip for each package whose installed files are no longer as they were installed."""
    found: dict[str, list[Change]] = {}
    for change in case.moved("packages/*/altered/*", "packages/*/missing/*", "packages/*/rewritten/*"):
        found.setdefault(change.path.split("/")[1], []).append(change)
    for name, changes in found.items():
        version = case.value("bad", f"packages/{name}/version")
        if isinstance(version, str) and not case.has_moved(f"packages/{name}/version"):
            line = pip(case, "install", "--no-deps", "--force-reinstall", f"{name}=={version}")
            says = f"{name}=={version} as it was installed ({count(len(changes), 'file')})"
            step = Step("pip", says, (line,), (), "keep a copy of the altered files first: there is no other undo")
            yield Flip(step, Subject("package", name), tuple(changes))


def _checkouts(case: Case) -> Iterator[Flip]:
    for change in case.moved("git/*/head"):
        key = change.path.split("/")[1]
        root = case.value("bad", f"git/{key}/root")
        good, bad = values(change)
        if isinstance(root, str) and isinstance(good, str) and isinstance(bad, str):
            lines = (command(["git", "-C", root, "checkout", "--detach", good]),)
            back = case.value("bad", f"git/{key}/branch")
            undo = (command(["git", "-C", root, "checkout", back if isinstance(back, str) and back else bad]),)
            step = Step("checkout", f"{root} at {good[:12]}", lines, undo, "edits that are not committed stay; git refuses where they are in the way")
            others = tuple(one for one in case.seen if one.path.startswith((f"git/{key}/", f"sources/{key}/", f"packages/{key}/"))
                           and not one.path.startswith(f"git/{key}/files/"))
            yield Flip(step, Subject("git", root), (change, *others))
    yield from _edits(case)


def _edits(case: Case) -> Iterator[Flip]:
    """Yield a flip for the edits of a checkout that are new on the bad side; edits that are gone are in no snapshot."""
    found: dict[str, list[Change]] = {}
    for change in case.moved("git/*/files/*"):
        found.setdefault(change.path.split("/")[1], []).append(change)
    for key, changes in found.items():
        root, came = case.value("bad", f"git/{key}/root"), [change for change in changes if change.kind == "added" and not _is_untracked(change)]
        if isinstance(root, str) and came:
            paths = [plain(change.path.split("/", 3)[3]) for change in came]
            step = Step("checkout", f"{root} without its edits of {listed(paths, 3)}", (command(["git", "-C", root, "stash", "push", "--", *paths]),),
                        (command(["git", "-C", root, "stash", "pop"]),))
            yield Flip(step, Subject("file", f"{root}/{paths[0]}"), tuple(came))


def _is_untracked(change: Change) -> bool:
    _, bad = values(change)
    return isinstance(bad, dict) and str(bad.get("status", "")).strip() == "??"


def _platform(case: Case) -> Iterator[Flip]:
    """Yield a flip for the kernel, and one for the driver with all that belongs to it."""
    for path, what in (("kernel/release", "kernel"), ("kernel/cmdline", "kernel command line")):
        change = case.by_path.get(path)
        if change is not None and change in case.seen:
            good, bad = (show(value) for value in values(change))
            step = Step("reboot", f"{what} {good}", (f"# choose {what} {good} in the boot loader, then reboot",), (f"# start {what} {bad} again",))
            yield Flip(step, Subject("kernel", "Linux kernel"), (change,))
    every = tuple(case.moved("driver/*", "cuda/driver", "fabricmanager/version"))
    version = next((change for path in ("driver/version", "driver/module/version", "driver/on_disk/version") for change in every if change.path == path), None)
    if version is not None:
        good, bad = values(version)
        lines, undo = ((f"# install driver {one} whole, then reboot" if one is not None else "# take the driver away, then reboot",) for one in (good, bad))
        step = Step("driver", show(good), lines, undo, "module, user space and, with NVSwitch, fabric manager move together")
        packages = tuple(change for change in case.moved("os_packages/*/version") if _OF_DRIVER.match(change.path.split("/")[1]))
        yield Flip(step, Subject("driver", "NVIDIA driver"), (*every, *packages))


def _os_packages(case: Case) -> Iterator[Flip]:
    """Yield a flip for each package of the system; those of a kernel or a driver move with it."""
    manager = _MANAGERS.get(str(case.value("bad", "os/id")))
    for change in case.moved("os_packages/*/version"):
        name = change.path.split("/")[1]
        good, bad = values(change)
        if manager is not None and isinstance(good, str) and isinstance(bad, str) and not _OF_DRIVER.match(name):
            lines, undo = ((command([*manager[0].split(), manager[1].format(name, version)]),) for version in (good, bad))
            yield Flip(Step("os", f"{name} {show(good)}", lines, undo, "as root; then restart the server"), Subject("package", name), (change,))


_MAKERS: tuple[Callable[[Case], Iterator[Flip]], ...] = (_variables, _arguments, _packages, _altered, _os_packages, _checkouts, _platform)
