"""The NVIDIA driver as one thing: the loaded module, the module on disk and the user-space libraries must be of one version inside one host."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.compare.change import Change
from driftwatch.explain import devices
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.code_names import driver_symbol
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.pairs import logged_more, values
from driftwatch.explain.releases import went_back
from driftwatch.explain.rule import Doubt, Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, mark, term
from driftwatch.explain.transactions import carrier, moved_packages
from driftwatch.explain.words import listed, moved
from driftwatch.model import Known

MODULE = "driver/module/version"
_FLAVOUR, _COUNT = "driver/module/flavour", "gpus/count"
OTHERS = {"driver/library/libcuda/version": "libcuda", "driver/library/libnvidia-ml/version": "libnvidia-ml", "driver/on_disk/version": "module on disk"}
_SAYS_SO = re.compile(
    r"driver/library version mismatch|couldn't communicate with the nvidia driver|nvml.*(?:18|mismatch)|"
    r"unsupported display driver|no nvidia driver|no cuda-capable", re.IGNORECASE,
)
_TOO_OLD = re.compile(
    r"unsupported toolchain|UNSUPPORTED_?PTX|driver version is insufficient|driver (?:on your system )?is too old|newer (?:NVIDIA )?driver"
    r"|forward compatibility was attempted|COMPAT_NOT_SUPPORTED|driver does not support", re.IGNORECASE,
)
_USER_SPACE = re.compile(r"os_packages/(?:libnvidia-compute-\d+(?:-server)?|nvidia-driver(?:-cuda)?-libs)/version")
_UPSTREAM = re.compile(r"(?:\d+:)?(\d{3}\.\d+(?:\.\d+)?)(?=-|\Z)")
_REFUSED = "kernel_log/module_refused"
_UNSIGNED = re.compile(r"unavailable key|unsigned module|[Rr]equired key not|[Kk]ey was rejected|Lockdown")
_NVRM = "kernel_log/nvrm"
_OTHER_KIND = re.compile(r"not supported by open|requires? use of the NVIDIA open kernel modules|does not include the required GPU", re.IGNORECASE)
_OF_SIGNING = re.compile(r"dkms|mokutil|shim.*|sbsigntool.*|secureboot-db|linux-(?:modules|image|objects|signatures).*")
DRIVER = Subject("driver", "NVIDIA driver")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield a pair that broke, a driver that moved as a whole, or that it is the same on both sides."""
    good, bad = odd_ones(case, "good"), odd_ones(case, "bad")
    if bad and case.value("bad", MODULE) is None:
        if not good and not devices.claimed(case):
            yield _not_loaded(case, bad)
    elif bad and good:
        yield Doubt(f"the driver already disagreed with itself on the good side: {_told(case, 'good', good)}", (MODULE, *good))
    elif bad:
        yield _broke(case, bad)
    elif _changed(case, MODULE, _FLAVOUR, "driver/version"):
        yield _moved(case)
    else:
        yield from _same(case)


def weigh_told(case: Case) -> Iterator[Finding]:
    """Yield a driver that moved where no loaded module is known, only the version that a tool printed, or that of its packages."""
    if case.known(MODULE) is not None:
        return
    if _changed(case, "driver/version"):
        yield _moved(case)
    elif case.known("driver/version") is None and not any(case.known(path) for path in OTHERS):
        yield from _packages_moved(case)


def _packages_moved(case: Case) -> Iterator[Finding]:
    """Yield that the packages of the driver's user space moved. Which module is loaded nobody told: until a reload or a boot it is the old one."""
    good, bad = _packaged(case, "good"), _packaged(case, "bad")
    for path in sorted(path for path in good.keys() & bad.keys() if good[path] != bad[path])[:1]:
        terms = [term("driver moved", "the packages of its user space are of another version", (path,))]
        if _SAYS_SO.search(case.text):
            terms.append(term("text and driver agree", "the error is that of a module which is older than they are", (path,)))
        verdict = f"The packages of the NVIDIA driver moved, {moved(good[path], bad[path])}; the loaded module is not known."
        by = carrier(case, moved_packages(case, "driver"))
        yield Evidence(DRIVER, tuple(terms), Wording("driver", "NVIDIA driver", mark(good[path], bad[path]), good[path], bad[path], verdict, by, _commands()))


def odd_ones(case: Case, side: SideName) -> dict[str, str]:
    """Return the parts of the driver that are not of the loaded module's version on a side, path to version.

    Where none is loaded every part is odd. A libcuda of the forward-compatibility package may be newer by design.
    """
    module = case.side(side).get(MODULE)
    if not isinstance(module, Known):
        return {}
    versions = {path: version for path in OTHERS if isinstance(version := case.value(side, path), str)} or _packaged(case, side)
    odd = {path: version for path, version in versions.items() if version != module.value}
    if "compat" in str(case.value(side, "driver/library/libcuda/path")):
        odd.pop("driver/library/libcuda/version", None)
    return odd


def _packaged(case: Case, side: SideName) -> dict[str, str]:
    """Return the version of the driver's user space as its packages tell it, path to version, for a side of which no file was read."""
    found = ((path, _UPSTREAM.match(str(value))) for path, value in case.below(side, "os_packages") if _USER_SPACE.fullmatch(path))
    return {path: version[1] for path, version in found if version}


def _name(path: str) -> str:
    return OTHERS.get(path) or path.split("/")[1]


def _told(case: Case, side: SideName, odd: dict[str, str]) -> str:
    module = case.value(side, MODULE)
    return f"{f'module {module} is loaded' if module else 'no module is loaded'}, {listed(f'{_name(path)} is {version}' for path, version in odd.items())}"


def _broke(case: Case, odd: dict[str, str]) -> Evidence:
    facts = (MODULE, *odd)
    says = _told(case, "bad", odd)
    is_known_before = all(case.known(path) is not None for path in facts)
    terms = [term("pair broke", f"{says}; on the good side they agreed", facts)] if is_known_before else [
        term("pair broke, before unknown", says, facts), term("open", "whether they agreed on the good side is not known", facts)]
    if _SAYS_SO.search(case.text):
        terms.append(term("text and driver agree", "the error text says the same", facts))
    module = case.value("bad", MODULE)
    if module is not None and case.value("bad", "driver/on_disk/version") not in (None, module):
        terms.append(term("open", "the module on disk is new as well: a reload of the module or a reboot brings them together", facts))
    first = next(iter(odd))
    verdict = f"The driver disagrees with itself: {says}."
    told = (f"{module or 'none'} loaded", f"{odd[first]} {_name(first)}")
    wording = Wording("driver", "module against user space", "!", *told, verdict, commands=_commands(), is_one_host=True)
    return Evidence(DRIVER, tuple(terms), wording)


def _not_loaded(case: Case, odd: dict[str, str]) -> Evidence:
    """Return that the user space of the driver is there and no module of it is loaded, as it was on the good side or may have been."""
    facts = (MODULE, *odd)
    known = case.known(MODULE)
    says = f"no NVIDIA module is loaded, though {listed(f'{_name(path)} is {version}' for path, version in odd.items())}"
    terms = [term("pair broke", f"{says}; on the good side {known[0]} was loaded", facts)] if known is not None else [
        term("pair broke, before unknown", says, facts), term("open", "whether one was loaded on the good side is not known", facts)]
    kernel = case.known("kernel/release")
    if kernel is not None and kernel[0] != kernel[1]:
        terms.append(term("another kernel runs", f"another kernel runs, {moved(*kernel)}: a module is built for one kernel", ("kernel/release",)))
    if _SAYS_SO.search(case.text):
        terms.append(term("text and driver agree", "the error text says the same", facts))
    unfit = _unfit(case)
    if unfit:
        return _of_other_kind(case, [*terms, *unfit])
    key = _refused_key(case)
    if key and "driver/on_disk/version" in odd:
        terms += [term("module refused", f"the kernel refused a module: {key}", (_REFUSED,)), *before_unknown(case, "it did", _REFUSED)]
        return _refused(case, terms, known[0] if known is not None else "not known")
    release = case.value("bad", "kernel/release")
    verdict = f"No NVIDIA module is loaded{f' in kernel {release}' if isinstance(release, str) else ''}, though the user space of the driver is there."
    look = Command("confirm", "lsmod | grep ^nvidia; uname -r; find /lib/modules/$(uname -r) -name 'nvidia*.ko*'", "whether this kernel has a module at all")
    load = Command("try", "modprobe nvidia", "as root; where this kernel has none, build it or boot the kernel before")
    wording = Wording("kernel module", "nvidia", "-", known[0] if known is not None else "not known", None, verdict, commands=(look, load))
    return Evidence(Subject("kernel-module", "nvidia kernel module missing"), tuple(terms), wording)


def _unfit(case: Case) -> list[Term]:
    """Return that the kernel's log says of the cards that they need the driver's modules of the other kind; empty where it does not."""
    line = next((line for line in logged_more(case, _NVRM) if _OTHER_KIND.search(line)), "")
    return [term("not for these cards", f"the kernel's log: {line}", (_NVRM,)), *before_unknown(case, "it did", _NVRM)] if line else []


def _of_other_kind(case: Case, terms: list[Term]) -> Evidence:
    """Return that the driver's modules came up for no card, since they are of the kind (open, proprietary) that these cards do not take."""
    names = moved_packages(case, "driver")
    good, bad = case.value("good", _FLAVOUR), case.value("bad", _FLAVOUR)
    verdict = f"The driver's kernel modules are of the kind that these cards do not take{f'; they were {good}' if good else ''}."
    commands = (
        Command("confirm", "dmesg | grep -A2 NVRM; modinfo -F license nvidia", "what the module said of each card; NVIDIA: proprietary, Dual MIT/GPL: open"),
        Command("try", "# install the packages of the other kind (with or without -open) of this driver, then load the modules or boot", "as root"),
    )
    wording = Wording("driver", "kind of kernel modules", "!", good or "not known", bad or "not loaded", verdict, carrier(case, names), commands)
    return Evidence(DRIVER, tuple(terms), wording)


def _refused_key(case: Case) -> str:
    """Return the kernel's line that it refused a module for its signature, "" where it told none since the good side."""
    return next((line for line in logged_more(case, _REFUSED) if _UNSIGNED.search(line)), "")


def _refused(case: Case, terms: list[Term], before: object) -> Evidence:
    """Return that the driver's module lies on disk and the kernel would not take it: who signed it is not trusted (Secure Boot)."""
    verdict = "The kernel refuses the NVIDIA module, though it lies on disk: the key that signed it is not enrolled (Secure Boot)."
    commands = (
        Command("confirm", "mokutil --sb-state; modinfo -F signer nvidia; mokutil --list-enrolled | grep CN", "who signed it, and whom the firmware trusts"),
        Command("try", "mokutil --import KEY.der", "as root, then boot and enrol it at the console; or install modules that the distribution signed"),
    )
    names = [change.path.split("/")[1] for change in case.moved("os_packages/*/version") if _OF_SIGNING.fullmatch(change.path.split("/")[1])]
    wording = Wording("kernel module", "nvidia", "!", before, "refused by the kernel", verdict, carrier(case, names), commands)
    return Evidence(Subject("kernel-module", "nvidia kernel module"), tuple(terms), wording)


def _commands() -> tuple[Command, ...]:
    return (
        Command("confirm", "cat /sys/module/nvidia/version; readlink -f /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"),
        Command("try", "rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia", "as root, with no GPU process left; a reboot does the same"),
    )


def moved_module(case: Case) -> list[str]:
    """Return the facts that tell that another module is loaded than on the good side: of another version or kind."""
    return [change.path for change in _changed(case, MODULE, _FLAVOUR)]


def _changed(case: Case, *paths: str) -> list[Change]:
    """Return the changes of facts that both sides tell: a tool that no longer answers moved no driver."""
    return [change for change in case.moved(*paths) if change.kind == "changed"]


def _moved(case: Case) -> Evidence:
    terms: list[Term] = []
    flavour = next(iter(_changed(case, _FLAVOUR)), None)
    change = next(iter(_changed(case, MODULE, "driver/version")), None)
    if change is not None:
        terms.append(term("driver moved", "the whole driver is of another version", (change.path,)))
    if _TOO_OLD.search(case.text):
        terms.append(term("text fits", "the error is that of a driver older than what the CUDA code was built with", terms[0].facts if terms else ()))
    elif symbol := driver_symbol(case.text):
        facts = terms[0].facts if terms else ()
        terms.append(term("lacks its symbol", f"{symbol} is missing: the driver's library gives those", facts))
        if change is not None and went_back(*values(change)):
            terms.append(term("went back", "it is older than on the good side", facts))
    if flavour is not None:
        terms.append(term("flavour moved", f"the module is of another kind: {moved(*(case.known(flavour.path) or (None, None)))}", (flavour.path,)))
    terms += _unfit(case)
    if case.value("good", _COUNT) and case.value("bad", _COUNT) == 0 and moved_module(case):
        terms.append(term("no GPU answers", "no GPU answers this module: it may be too old for the cards, or of the kind that they do not take", (_COUNT,)))
    shown = change or flavour
    good, bad = case.known(shown.path) or (None, None) if shown is not None else (None, None)
    verdict = f"The NVIDIA driver moved, {moved(good, bad)}."
    by = carrier(case, moved_packages(case, "driver"))
    return Evidence(DRIVER, tuple(terms), Wording("driver", "NVIDIA driver", mark(good, bad), good, bad, verdict, by, _commands()[:1]))


def _same(case: Case) -> Iterator[Finding]:
    paths = [MODULE, *(path for path in OTHERS if case.known(path) != (None, None))]
    told = [case.known(path) for path in paths]
    if any(both is None or both[0] is None or both[0] != both[1] for both in told) or len(paths) < 2:
        return
    yield RuledOut(DRIVER, f"{case.value('bad', MODULE)} on both sides: {listed(['loaded module', *(OTHERS[path] for path in paths[1:])])}", tuple(paths))


RULES = (
    Rule("driver_pair", needs=(), weigh=weigh, blames=("driver", "kernel-module"), needs_bad=(MODULE,)),
    Rule("driver_told", needs=(), weigh=weigh_told, blames=()),
)
