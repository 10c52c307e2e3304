"""Kernel modules that the kernel refuses because their partner is of another build, that are gone, or that were told to behave otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.naming import names_variable
from driftwatch.explain.pairs import both, good_or, values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, mark, term
from driftwatch.explain.transactions import carried, carrier, moved_packages
from driftwatch.explain.words import command, listed, moved

REFUSED = "kernel_log/module_refused"
_WHICH = re.compile(r"^\W*([\w-]+): (?:disagrees about version of symbol|Unknown symbol|version magic|module verification failed)\s*(\w*)")
_OF_CUDA, _OF_DISPLAYS = "nvidia_uvm", ("nvidia_modeset", "nvidia_drm")  # as the README of NVIDIA's driver lists its kernel modules
_GPU_MODULE = re.compile(r"nvidia\w*|gdrdrv|nv_peer_mem|ib_\w+|mlx\w+|nouveau|amdgpu|lustre|nfs\w*")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each module that the kernel refused or that is gone, and each whose parameters moved."""
    refused = _refused(case)
    for name, symbols in refused.items():
        yield Evidence(Subject("kernel-module", name), tuple(_terms(case, name, symbols)), _wording(case, name, symbols))
    for change in case.moved("modules/*/loaded"):
        name = change.path.split("/")[1]
        if name not in refused and _GPU_MODULE.fullmatch(name):
            yield from _came_or_went(case, name, change.path)
    yield from _parameters(case)
    yield from _network_build(case, refused)


def _refused(case: Case) -> dict[str, list[str]]:
    """Return the modules that the bad side's kernel refused and the good side's did not, with the symbols that it named."""
    before = case.value("good", REFUSED)
    old = set(before.get("lines", ())) if isinstance(before, dict) else set()
    value = case.value("bad", REFUSED)
    found: dict[str, list[str]] = {}
    for line in value.get("lines", ()) if isinstance(value, dict) else ():
        match = _WHICH.match(line) if isinstance(line, str) and line not in old else None
        if match is not None:
            found.setdefault(match[1].replace("-", "_"), []).append(match[2])
    return found


def _partners(case: Case, name: str) -> list[str]:
    """Return the modules beside this one of which another build is loaded than on the good side."""
    return sorted(
        {
            change.path.split("/")[1]
            for change in case.moved("modules/*/srcversion", "modules/*/version", "driver/module/version")
            if change.path.startswith("modules/") and change.path.split("/")[1] != name and change.kind == "changed"
        }
    )


def _terms(case: Case, name: str, symbols: list[str]) -> Iterator[Term]:
    told = f": it was built against another {listed(dict.fromkeys(filter(None, symbols)))}" if any(symbols) else ""
    yield term("module refused", f"the kernel refused {name}{told}", (REFUSED,))
    yield from before_unknown(case, "it did", REFUSED)
    loaded = f"modules/{name}/loaded"
    if case.has_moved(loaded):
        yield term("module gone", "it was loaded on the good side, and is not", (loaded,))
    partners = _partners(case, name)
    if partners:
        yield term(
            "module's partner moved",
            f"{listed(partners)} {'is' if len(partners) == 1 else 'are'} of another build now, and it was not built anew",
            [f"modules/{partner}/srcversion" for partner in partners],
        )
    if names_variable(case.text, name):
        yield term("text names it", "the error text names it")


def _wording(case: Case, name: str, symbols: list[str]) -> Wording:
    brought = moved_packages(case, "network", "driver", "kernel")
    packages = ", ".join(
        f"{package} {moved(case.value('good', path), case.value('bad', path))}" for package in brought[:2] for path in (f"os_packages/{package}/version",)
    )
    by = carried(case, packages, brought)
    partners = _partners(case, name)
    verdict = f"The kernel refuses the module {name}: it was built against another {listed(partners or list(filter(None, symbols))[:1] or ['kernel'])}."
    look = Command("confirm", f"dmesg | grep -i {name}; modinfo {name} | head -5", "what the kernel said")
    again = Command(
        "try",
        f"dkms autoinstall && modprobe {name}",
        "as root: builds the modules of this kernel anew; where it came with the driver, install the driver again",
    )
    fact = f"modules/{name}/loaded"
    loaded = "loaded" if case.value("good", fact) else good_or(case, "absent", fact)
    return Wording("kernel module", name, "!", loaded, "refused by the kernel", verdict, by, (look, again))


def _came_or_went(case: Case, name: str, path: str) -> Iterator[Finding]:
    """Yield a module of the stack that is loaded on one side only; those of a driver that is gone as a whole are that driver's."""
    is_gone = case.value("bad", path) is None
    if is_gone and case.has_moved("driver/module/version") and case.value("bad", "driver/module/version") is None:
        return
    says = "it was loaded on the good side, and is not" if is_gone else "it is loaded, and was not on the good side"
    terms = [term("module gone" if is_gone else "module set anew", says, (path,))]
    if names_variable(case.text, name):
        terms.append(term("text names it", "the error text names it"))
    if is_gone and name == _OF_CUDA:
        terms.append(term("module of CUDA", "CUDA needs it: without it no context comes up, though nvidia-smi works", (path,)))
    elif name in _OF_DISPLAYS:
        terms.append(term("module of displays", "it serves displays: CUDA works without it", (path,)))
    wording = Wording(
        "kernel module",
        name,
        "-" if is_gone else "+",
        case.value("good", path),
        case.value("bad", path),
        f"The module {name}: {says}.",
        commands=(
            Command("confirm", f"lsmod | grep -w {name}; dmesg | grep -i {name}"),
            Command("try", command(["modprobe", *(["-r"] if not is_gone else []), name]), "as root"),
        ),
    )
    yield Evidence(Subject("kernel-module", name), tuple(terms), wording)


def _parameters(case: Case) -> Iterator[Finding]:
    for change in case.moved("modules/*/parameters/*", "modules/*/configured"):
        name, what = change.path.split("/")[1], change.path.split("/", 2)[2].removeprefix("parameters/")
        if not _GPU_MODULE.fullmatch(name) or name.startswith(("ib_", "nfs")):
            continue
        good, bad = values(change)
        terms = (term("module set anew", f"its {what} is another: {moved(good, bad)}", (change.path,)),)
        look = Command("confirm", f"cat /sys/module/{name}/parameters/{what}; grep -r {name} /etc/modprobe.d")
        yield Evidence(Subject("kernel-module", name), terms, Wording("kernel module", f"{name} {what}", mark(good, bad), good, bad, commands=(look,)))


def _network_build(case: Case, refused: dict[str, list[str]]) -> Iterator[Finding]:
    """Yield that the network card's modules are of another build, where no other module is refused for it."""
    changes = list(case.moved("modules/mlx5_core/version", "modules/ib_core/srcversion", "modules/mlx5_core/srcversion"))
    if refused or not changes or case.has_moved("kernel/release"):
        return
    good, bad = both(case, changes[0].path)
    names = moved_packages(case, "network")
    terms = (term("wire moved", "another build of the network card's driver is loaded", [change.path for change in changes]),)
    yield Evidence(
        Subject("kernel-module", "mlx5_core"),
        terms,
        Wording(
            "kernel module", "mlx5_core", "~", good, bad, carrier=carrier(case, names), commands=(Command("confirm", "modinfo mlx5_core | head -5; ibstat"),)
        ),
    )


RULES = (Rule("module_refused", needs=(), weigh=weigh, blames=("kernel-module",)),)
