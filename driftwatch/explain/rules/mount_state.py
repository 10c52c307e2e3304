"""Mounts that the server works on: which do not answer, which moved to another kind or place, which are full. A mount that nothing uses weighs little."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain import limits
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import both, good_or, logged_more, numbers
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, mark, term
from driftwatch.explain.words import command, count, listed, moved, number, shorten
from driftwatch.model import Unknown, plain

NETWORK_TYPES = re.compile(r"nfs\d?|cifs|smb\d?|lustre|ceph|glusterfs|beegfs|gpfs|wekafs|9p|fuse\..*|virtiofs|afs|juicefs")
_WAITS = re.compile(r"rpc_|nfs|cifs|smb|fuse|ceph|lustre|cl_|page_lock|folio_wait|io_schedule|wait_on_page|xfs|ext4|blk|nvme|request_wait", re.IGNORECASE)
_HOLDS = frozenset({"model", "hf_cache", "venv", "source", "cache", "shm"})
_OF_FILES = re.compile(
    r"failed to map segment|Operation not permitted|[Cc]annot execute|Read-only file system|No such file or directory"
    r"|Stale file handle|Input/output error|Permission denied|Transport endpoint")
_FORBIDS = {  # mount(8): what an option forbids, and how that fails
    "noexec": ("no program runs from it, and no library is mapped from it", re.compile(r"failed to map segment|Permission denied|[Cc]annot execute")),
    "nodev": ("no device file on it opens", re.compile(r"Permission denied|/dev/")),
    "nosuid": ("programs on it get no rights of their owner", re.compile(r"Operation not permitted|Permission denied|must be setuid")),
}
_PATHS = re.compile(r"(?<![\w./])/[\w.+@%=-]+(?:/[\w.+@%=-]+)*")
_AHEAD = "read_ahead_kib"
_IO = "kernel_log/io_error"
_LOG = {"kernel_log/nfs": "nfs", "kernel_log/network_fs": "network", _IO: "disk", "kernel_log/hung_task": "any"}


def mounts(case: Case, side: SideName) -> list[str]:
    """Return the mount points that a side tells of, as they stand in paths."""
    return sorted({path.split("/")[1] for path, _ in case.below(side, "mounts") if path.count("/") >= 2})


def holds_model(case: Case, side: SideName, mount: str) -> bool:
    """Tell whether a model or what a server loads lies on a mount: as it is told, by a served model's folder, or by a server's variables."""
    held = case.value(side, f"mounts/{mount}/holds")
    if isinstance(held, list) and {"model", "hf_cache"} & set(held):
        return True
    place = plain(mount)
    named = [value for path, value in case.below(side, "models") if path.endswith(("/path", "/folder"))]
    named += [value for path, value in case.below(side, "servers") if re.search(r"/env/\w*(?:MODEL|HF_H|HUB|CACHE)\w*$|/(?:args|given)/model(?:_path)?$", path)]
    return place != "/" and any(isinstance(one, str) and f"{one}/".startswith(f"{place}/") for one in named)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each mount that stalls, that moved or that is gone, and each disk that is full."""
    for mount in sorted({*mounts(case, "good"), *mounts(case, "bad")}):
        terms = tuple(_terms(case, mount))
        if terms and plain(mount) != limits.SHM_PLACE:
            yield Evidence(Subject("mount", plain(mount)), terms, _wording(case, mount))
    yield from _full(case)
    yield from _failing(case)


def is_stalled(case: Case, mount: str) -> bool:
    """Tell whether a mount itself gave no answer on the bad side. That it was not asked, or denied, or that the probe of all of them was cut, says nothing."""
    path = f"mounts/{mount}/answers"
    found = case.bad.get(path)
    return path in case.bad.facts and isinstance(found, Unknown) and found.status == "timeout"


def _terms(case: Case, mount: str) -> Iterator[Term]:
    stalled = is_stalled(case, mount)
    held_before = case.value("good", f"mounts/{mount}/answers") is True
    place = plain(mount)
    if stalled and held_before:
        yield term("mount does not answer", f"{place} gave no answer in time, and did on the good side", (f"mounts/{mount}/answers",))
    elif stalled:
        yield term("mount does not answer", f"{place} gave no answer in time", (f"mounts/{mount}/answers",))
        yield term("open", "whether it answered on the good side is not known", (f"mounts/{mount}/answers",))
    yield from _moved(case, mount, place)
    yield from _ahead(case, mount)
    if stalled:
        yield from _of_log(case, mount)
        yield from _of_tasks(case)
        if not any(_is_used(case, side, mount) for side in SIDES):
            yield term("off the server's path", "nothing that the server needs is known to lie on it", (f"mounts/{mount}/type",))


def _is_used(case: Case, side: SideName, mount: str) -> bool:
    held = case.value(side, f"mounts/{mount}/holds")
    return holds_model(case, side, mount) or (isinstance(held, list) and bool(_HOLDS & set(held)))


def _moved(case: Case, mount: str, place: str) -> Iterator[Term]:
    changes = list(case.moved(f"mounts/{mount}/type", f"mounts/{mount}/source", f"mounts/{mount}/options"))
    is_used = any(_is_used(case, side, mount) for side in SIDES)
    kinds = case.known(f"mounts/{mount}/type")
    if not changes or kinds is None:
        return
    if kinds[1] is None:
        yield term(
            "mount gone" if is_used else "off the server's path", f"{place} was mounted on the good side, and is not", [change.path for change in changes]
        )
    elif kinds[0] is not None:
        told = [f"{change.path.rsplit('/', 1)[1]} {moved(*both(case, change.path))}" for change in changes if not change.path.endswith("/options")]
        facts = [change.path for change in changes]
        if told:
            yield term("mount moved", f"it is another mount: {listed(told)}", facts)
        elif forbids(case, mount):
            yield from _forbidden(case, mount, facts)
        elif became_read_only(case, mount):
            yield term("mount became read-only", "it was mounted to read and write, and is read-only now", facts)
        else:
            yield term("moved", "its options moved", facts)
        if not is_used and told:
            yield term("off the server's path", "nothing that the server needs is known to lie on it", facts)
    elif any(_FORBIDS[option][1].search(case.text) for option in forbids(case, mount)):
        yield from _forbidden(case, mount, [change.path for change in changes])
    if "Read-only" not in case.text or became_read_only(case, mount):
        yield from _path_named(case, place, [change.path for change in changes])


def _ahead(case: Case, mount: str) -> Iterator[Term]:
    """Yield that the kernel reads much less ahead: what is read in order, as weights are, then waits for each piece."""
    path = f"mounts/{mount}/{_AHEAD}"
    before, now = numbers(case, path)
    if before is not None and now is not None and now * 4 <= before and case.klass in (None, "slow", "hang"):
        yield term("reads ahead less", f"the kernel reads {now:g} KiB ahead, and read {before:g}: what is read in order waits for each piece", (path,))
        kind = str(case.value("bad", f"mounts/{mount}/type"))
        if holds_model(case, "bad", mount) and NETWORK_TYPES.fullmatch(kind):
            yield term("served over a network", f"the model lies on it, {kind}", (f"mounts/{mount}/type",))


def became_read_only(case: Case, mount: str) -> bool:
    """Tell whether a mount that could be written to on the good side no longer can."""
    good, bad = (one.split(",") if isinstance(one, str) else [] for one in both(case, f"mounts/{mount}/options"))
    return "rw" in good and "ro" in bad


def forbids(case: Case, mount: str) -> list[str]:
    """Return the options of a mount that forbid something and that the good side's had not."""
    good, bad = (set(one.split(",")) if isinstance(one, str) else set() for one in both(case, f"mounts/{mount}/options"))
    return sorted((bad - good) & set(_FORBIDS))


def _forbidden(case: Case, mount: str, facts: list[str]) -> Iterator[Term]:
    for option in forbids(case, mount):
        yield term("mount forbids", f"it is mounted {option} now: {_FORBIDS[option][0]}", facts)
        if _FORBIDS[option][1].search(case.text):
            yield term("text fits", "the error text is that of what the option forbids", facts)


def _path_named(case: Case, place: str, facts: list[str]) -> Iterator[Term]:
    """Yield that the error is of a path on a mount that moved: of all mounts of both sides this one is the nearest above it."""
    if _OF_FILES.search(case.text) is None:
        return
    places = {plain(one) for side in SIDES for one in mounts(case, side)}
    for path in _PATHS.findall(case.text):
        above = [one for one in places if one == "/" or f"{path}/".startswith(f"{one}/")]
        if above and max(above, key=len) == place:
            yield term("path named", f"the error text names a path on it: {shorten(path)}", facts)
            return


def _of_log(case: Case, mount: str) -> Iterator[Term]:
    kind = str(case.value("bad", f"mounts/{mount}/type"))
    for path, about in _LOG.items():
        lines = logged_more(case, path)
        if lines and (about == "any" or (about == "disk") != bool(NETWORK_TYPES.fullmatch(kind))):
            yield term("kernel log names it", f"the kernel's log: {lines[0]}", (path,))
            yield from before_unknown(case, "it did", path)
            return


def _of_tasks(case: Case) -> Iterator[Term]:
    """Yield that tasks wait inside a file system: what they wait in tells it apart from a driver that hangs."""
    stuck = [(path, value) for path, value in case.below("bad", "tasks") if path.startswith("tasks/stuck/") and isinstance(value, dict)]
    waiting = [path for path, value in stuck if _WAITS.search(str(value.get("wchan")))]
    if waiting:
        many = sum(int(number(value.get("count")) or 0) for path, value in stuck if path in waiting)
        yield term(
            "tasks stuck",
            f"{count(many, 'task')} sit in uninterruptible sleep inside a file system: {listed(path.split('/', 2)[2] for path in waiting)}",
            waiting,
        )


def _wording(case: Case, mount: str) -> Wording:
    place = plain(mount)
    kinds, sources = (both(case, f"mounts/{mount}/{name}") for name in ("type", "source"))
    good, bad = (f"{kind} {source}" if kind else None for kind, source in zip(kinds, sources, strict=True))
    if good is None and isinstance(case.good.get(f"mounts/{mount}/type"), Unknown):
        good = "not known"
    has_options = good == bad and case.has_moved(f"mounts/{mount}/options")
    ahead = good == bad and not has_options and case.has_moved(f"mounts/{mount}/{_AHEAD}")
    state = "does not answer" if is_stalled(case, mount) else "is not mounted" if bad is None else "is another mount"
    state = "is read with less read-ahead" if ahead and not is_stalled(case, mount) else state
    if has_options and not is_stalled(case, mount):
        state = "is read-only now" if became_read_only(case, mount) else "is mounted with other options"
    detail = f", {moved(good, bad)}" if good != bad else f" ({bad})"
    good, bad = both(case, f"mounts/{mount}/{'options' if has_options else _AHEAD}") if has_options or ahead else (good, bad)
    look = Command("confirm", f"timeout 5 stat {command([place])}; grep -w {command([place])} /proc/mounts; dmesg | grep -iE 'nfs|not responding' | tail")
    return Wording("mount", place, "!" if is_stalled(case, mount) else mark(good, bad), good, bad, f"{place} {state}{detail}.", commands=(look,))


def _full(case: Case) -> Iterator[Finding]:
    """Yield file systems with no room or no inodes left, where there was some before or the text says so."""
    is_named = limits.NO_SPACE.search(case.text) is not None and limits.SHM_TEXT.search(case.text) is None
    for mount in sorted({path.split("/")[1] for path, _ in case.below("bad", "disks")}):
        for what, free, every in (("space", "free_bytes", "size_bytes"), ("inodes", "inodes_free", "inodes")):
            before, left = numbers(case, f"disks/{mount}/{free}")
            size = numbers(case, f"disks/{mount}/{every}")[1]
            if not size or left is None or left > 0.01 * size or (before is not None and before <= 0.01 * size and not is_named):
                continue
            place = plain(mount)
            facts = (f"disks/{mount}/{free}", f"disks/{mount}/{every}")
            terms = [term("disk full", f"{place} has {limits.show(left)} of {limits.show(size)} {what} left", facts)]
            terms += [term("errno names it", "the error text says that no space was left", facts)] if is_named else []
            terms += before_unknown(case, "it was full", facts[0])
            look = Command("confirm", f"df -h {command([place])}; df -i {command([place])}")
            good = limits.show(before) if before is not None else good_or(case, "absent", facts[0])
            yield Evidence(
                Subject("disk", place),
                tuple(terms),
                Wording("disk", f"{place}, free {what}", "~", good, limits.show(left), f"{place} is full.", commands=(look,)),
            )


def _failing(case: Case) -> Iterator[Finding]:
    lines = logged_more(case, _IO)
    if lines:
        line = lines[0]
        terms = (term("disk failing", f"the kernel's log: {line}", (_IO,)), *before_unknown(case, "it erred", _IO))
        look = Command("confirm", "dmesg | grep -iE 'i/o error|nvme|ata' | tail; smartctl -a DEVICE")
        good = good_or(case, "absent", _IO)
        wording = Wording("disk", "I/O errors in the kernel's log", "+", good, line, f"A disk errs: {line}.", commands=(look,))
        yield Evidence(Subject("disk", "I/O errors"), terms, wording)


RULES = (Rule("mount_state", needs=(), weigh=weigh, blames=("mount", "disk")),)
