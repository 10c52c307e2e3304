"""Environment variables that were set, unset or changed: the server's own where they are known, else the probing shell's. Presence counts before the value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from driftwatch.compare.change import Change
from driftwatch.compare.equal import is_masked
from driftwatch.explain import servers
from driftwatch.explain.case import SIDES, Case, SideName
from driftwatch.explain.error_words import variable_fits
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.families import is_workaround, variable_family
from driftwatch.explain.naming import code_of, names_path, names_value, names_variable
from driftwatch.explain.pairs import values
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.weights import by_class
from driftwatch.explain.words import command, count, moved, show
from driftwatch.model import Known

_SEPARATOR = re.compile(r"[,;]")
_SWITCH = re.compile(r"(?:\A|_)(?:USE|ENABLE|DISABLE|FORCE|BACKEND)(?:_|\Z)")
_LIST = re.compile(r"[\w.-]+[:=][^,;/]*(?:[,;]|\Z)|\w+,\w")
_LOCALE = re.compile(r"LANG|LC_(?!ALL)\w+")  # locale(7): LC_ALL goes before each of these
_CARD = re.compile(r"(?:GPU|MIG)-[0-9a-f]{8}-")
_OTHER: dict[SideName, SideName] = {"good": "bad", "bad": "good"}
_EXPORT = "export "  # in a script that a shell session shows
GLOBS = ("servers/*/env/*", "servers/*/*/env/*", "containers/*/env/*", "services/*/env/*", "env/*", f"transcript/cat */{_EXPORT}*")
_FAMILIES = {
    "transport": "it steers how GPUs and hosts talk to each other", "loader": "it decides which libraries and modules are loaded",
    "devices": "it decides which GPUs a process sees", "allocator": "it steers how GPU memory is taken",
    "threads": "it sets how many threads a library starts", "caches": "it says where compiled code and files are kept",
    "hub": "it steers how weights and files are fetched",
    "proxy": "HTTP requests go by it, those of a server to itself too",
    "framework": "the server or a library of it reads it", "harmless": "it steers no work of the server",
}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each variable that moved, once, and that the server's environment is equal where it is."""
    told: set[str] = set()
    for glob in GLOBS:
        for change in case.moved(glob):
            name = change.path.rsplit("/", 1)[1].removeprefix(_EXPORT)
            if name not in told and not servers.is_set_by_server(case, change.path):
                told.add(name)
                yield _evidence(case, change, name)
    yield from _ordered(case, told)
    yield from _without_value(case, told)
    yield from _by_name(case, told)
    yield from _all_equal(case)


def _ordered(case: Case, told: set[str]) -> Iterator[Finding]:
    """Yield variables that the file of one side orders for a container, and that of the other side does not: what an image sets stands in neither."""
    for change in case.moved("containers/*/env_ordered"):
        good, bad = ({str(one) for one in names or ()} for names in values(change))
        for name in sorted((good ^ bad) - told):
            found = case.by_path.get(f"{change.path.rpartition('/')[0]}/env/{name}")
            if found is not None:
                told.add(name)
                added = replace(found, kind="added", good=Known(None)) if name in bad else replace(found, kind="removed", bad=Known(None))
                yield _evidence(case, added, name)


def _without_value(case: Case, told: set[str]) -> Iterator[Finding]:
    """Yield variables that came or went and of which only the name is told, where the error text names them."""
    for path, _ in (*case.below("good", "servers"), *case.below("bad", "servers")):
        if not path.endswith("/env_left_out"):
            continue
        good, bad = (_left_out(case, side, path) for side in SIDES)
        came_or_went = good ^ bad if good is not None and bad is not None else set()
        for name in sorted(one for one in came_or_went - told if names_variable(case.text, one)):
            told.add(name)
            was, now = ("set" if name in (side or ()) else None for side in (good, bad))
            says = "it was set on one side only; values of its kind are not told"
            terms = (term("named in the error", "the error text names it", (path,)), term("presence", says, (path,)))
            yield Evidence(Subject("env-var", name), terms, Wording("variable", name, mark(was, now), was, now, f"{name} {moved(was, now, absent='unset')}."))


def _by_name(case: Case, told: set[str]) -> Iterator[Finding]:
    """Yield variables of which one side tells the name alone, as a paste does, and the other that they are not set."""
    tops = sorted({path for side in SIDES for path in case.side(side).facts if re.fullmatch(r"(?:containers/[^/]+/)?env_left_out", path)})
    for top, side in ((top, side) for top in tops for side in SIDES):
        other = case.bad if side == "good" else case.good
        is_by_us = case.value(side, top.replace("_left_out", "_kept_back")) is not None  # the agent tells all names: those of a shell of ssh too
        names = None if is_by_us else case.value(side, top)
        for name in sorted(map(str, names)) if isinstance(names, list) else ():
            is_unset = other.get(f"{top.removesuffix('_left_out')}/{name}") == Known(None) and name not in (_left_out(case, _OTHER[side], top) or ())
            if is_unset and name not in told and variable_family(name) != "harmless":
                told.add(name)
                was, now = ("set", None) if side == "good" else (None, "set")
                terms = [term("moved", "its name alone is told", (top,)), term("presence", "it was set on one side only", (top,))]
                if names_variable(case.text, name):
                    terms.append(term("named in the error", "the error text names it", (top,)))
                elif variable_fits(case.text, name):
                    terms.append(term("words of its work", "the error speaks of the work that it steers", (top,)))
                wording = Wording("variable", name, mark(was, now), was, now, f"{name} {moved(was, now, absent='unset')}.")
                yield Evidence(Subject("env-var", name), tuple(terms), wording)


def _left_out(case: Case, side: SideName, path: str) -> set[str] | None:
    """Return the names that a side left out, None where it does not tell them."""
    names = case.value(side, path)
    if isinstance(names, list):
        return {str(one) for one in names}
    return set() if case.value(side, f"{path.rpartition('/')[0]}/env_kept_back") == 0 else None


def _evidence(case: Case, change: Change, name: str) -> Evidence:
    commands = _commands(change, name, *values(change))
    good, bad = map(_by_rank, values(change))
    wording = Wording("variable", name, mark(good, bad), good, bad, f"{name} {moved(good, bad, absent='unset')}.", commands=commands)
    return Evidence(Subject("env-var", name), (term("moved", _told(good, bad), (change.path,)), *_terms(case, change, name)), wording)


def _by_rank(value: Any) -> Any:
    """Return in words the several values that the ranks of a server have; any other value as it is."""
    return f"by rank: {', '.join(map(show, value))}" if isinstance(value, list) else value


def _terms(case: Case, change: Change, name: str) -> Iterator[Term]:
    facts = (change.path,)
    family = variable_family(name)
    weight = by_class("variable", family, case.klass)
    fits = variable_fits(case.text, name)
    if family in _FAMILIES and (weight > 0 or not fits):
        yield Term(_FAMILIES[family], weight, facts, "variable")
    if change.kind != "changed" and family != "harmless":
        yield term("presence", "it was set on one side only", facts)
    if _SWITCH.search(name) and family != "harmless":
        yield term("switched", "it switches a way of working on or off", facts)
    options = _options(*values(change))
    if options and family != "harmless":
        yield term("option came or went", f"options of it came or went: {show(', '.join(options))}", facts)
    if family == "devices" and _are_as_many(*values(change)):
        yield term("as many devices", "as many devices on both sides, each by an id of its own", facts)
    yield from _said(case, change, name, family)
    if fits and name.lower() == "http_proxy":
        yield term("asks itself", "a server asks itself by plain HTTP", facts)
    yield from _against(case, change, name)
    yield from _whose(case, change)


def _said(case: Case, change: Change, name: str, family: str) -> Iterator[Term]:
    """Yield the most telling thing that the error says of a variable, if any."""
    facts = (change.path,)
    value = change.bad.value if isinstance(change.bad, Known) else None
    if names_variable(case.text, name):
        yield term("named in the error", "the error text names it", facts)
    elif family != "harmless" and names_value(case.text, value) and not _is_of_named(case, value):
        yield term("path named" if names_path(case.text, value) else "value named", "the error text names its new value", facts)
    elif variable_fits(case.text, name):
        yield term("words of its work", "the error speaks of the work that it steers", facts)
    elif family == "framework" and not _named(case) and (word := code_of(case.text, _steered(name), None)):
        yield term("words of its work", f"the error speaks of what it steers: {word}", facts)
    elif family == "framework" and (code := code_of(case.trace, _steered(name), None)):
        yield term("in the traceback", f"the traceback goes through the code that it steers: {code}", facts)


def _steered(name: str) -> str:
    """Return a variable's name without whose it is: ``USE_FLASHINFER_SAMPLER`` of ``VLLM_USE_FLASHINFER_SAMPLER``."""
    return name.partition("_")[2]


def _against(case: Case, change: Change, name: str) -> Iterator[Term]:
    if _LOCALE.fullmatch(name) and case.value("bad", f"{change.path.rpartition('/')[0]}/LC_ALL") is not None:
        yield term("overruled", "LC_ALL is set, and goes before it", (change.path,))
    if change.kind == "added" and is_workaround(name):
        yield term("workaround", "it is often set against a trouble: it may have followed the failure", (change.path,))


def _are_as_many(good: Any, bad: Any) -> bool:
    """Tell whether two values list as many devices by the ids of single cards, which no two hosts share."""
    one, other = (_CARD.findall(value) if isinstance(value, str) else [] for value in (good, bad))
    return bool(one) and len(one) == len(other)


def _is_of_named(case: Case, value: Any) -> bool:
    """Tell whether a value is, or is part of, that of a moved variable that the error text names: then the text quotes that one's."""
    return any(isinstance(change.bad, Known) and isinstance(change.bad.value, str) and str(value) in change.bad.value for change in _named(case))


def _named(case: Case) -> list[Change]:
    """Return the moved variables that the error text names."""
    return [change for change in case.moved(*GLOBS) if names_variable(case.text, change.path.rsplit("/", 1)[1])]


def _told(good: Any, bad: Any) -> str:
    """Return both values; of an option list only the options that differ."""
    if isinstance(good, str) and isinstance(bad, str) and _LIST.search(good + bad):
        one, other = _SEPARATOR.split(good), _SEPARATOR.split(bad)
        parts = [f"- {option}" for option in one if option not in other] + [f"+ {option}" for option in other if option not in one]
        if parts:
            return "options: " + show(", ".join(parts))
    return moved(good, bad, absent="unset")


def _options(good: Any, bad: Any) -> list[str]:
    """Return the options of a list in a value that one side lacks altogether, whatever their values: ``+ expandable_segments``. Presence before value."""
    if not isinstance(good, str) or not isinstance(bad, str) or not _LIST.search(good + bad):
        return []
    one, other = ({re.split(r"[:=]", option)[0].strip() for option in _SEPARATOR.split(value) if option.strip()} for value in (good, bad))
    return [*(f"- {name}" for name in sorted(one - other)), *(f"+ {name}" for name in sorted(other - one))]


def _whose(case: Case, change: Change) -> Iterator[Term]:
    facts = (change.path,)
    good, bad = (str(case.value(side, "env_source") or "the probing shell") for side in SIDES)
    if change.path.startswith("servers/"):
        yield term("server's own", "read from the server's own processes", facts)
    elif change.path.startswith("containers/"):
        yield term("server's own", "set for the container", facts)
        top = "/".join(change.path.split("/")[:2])
        if case.has_moved(f"{top}/image", f"{top}/digest"):
            yield term("may be the image's", "the container is of another image, which may have brought it", facts)
    elif change.path.startswith("services/"):
        yield term("server's own", "ordered by the unit", facts)
    elif good != bad:
        yield term("two environments", f"the sides are of two environments: {good}, and {bad}", facts)
    elif "process" in bad:
        yield term("server's own", f"read from {bad}", facts)
    elif servers.runs(case, "bad"):
        yield term("the shell's, not the server's", "read from the probing shell, not from the server that runs", facts)
    else:
        yield term("open", "read from the probing shell: whether the server has it is not known", facts)


def _commands(change: Change, name: str, good: Any, bad: Any) -> tuple[Command, ...]:
    look = Command("confirm", command(["printenv", name]))
    if change.path.startswith("servers/"):
        title = servers.framework(change.path.split("/")[1])
        environ = f"/proc/$(pgrep -of {command([title])})/environ"
        look = Command("confirm", f"tr '\\0' '\\n' < {environ} | grep {command(['^' + name + '='])}", "the oldest process of the server")
    if not all(value is None or isinstance(value, str) for value in (good, bad)):
        return (look,)
    return (look, Command("try", _set(name, good), "then start the server from this shell"), Command("undo", _set(name, bad)))


def _set(name: str, value: Any) -> str:
    return command(["unset", name]) if value is None else "export " + command([f"{name}={value}"])


def _all_equal(case: Case) -> Iterator[RuledOut]:
    for server in case.families("servers"):
        paths = sorted({path for side in SIDES for path, _ in case.under(side, f"servers/{server}/env")})
        if not paths or any(case.known(path) is None or path in case.by_path for path in paths) or case.has_moved(*GLOBS):
            continue
        masked = any(is_masked(case.value("bad", path)) for path in paths)
        secrets = sum(isinstance(case.value("bad", path), dict) for path in paths)
        says = count(len(paths) - secrets, "value") + " equal" + (f", {count(secrets, 'secret')} equal by keyed hash" if secrets else "")
        if not masked:
            yield RuledOut(Subject("env-var", f"environment of {server}"), says, tuple(paths))


RULES = (Rule("env_var", needs=("servers/*/env|containers/*/env|services/*/env|env",), weigh=weigh, blames=("env-var",)),)
