"""Launch arguments that moved, as the server resolved them. What an argument can do is told by its group; what it did, by the error text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from driftwatch.explain import servers
from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.command_lines import COMMAND_LINES, moved_options
from driftwatch.explain.explanation import Command, RuledOut, Subject, Term
from driftwatch.explain.families import argument_family, refuses_settings
from driftwatch.explain.naming import code_of, names_argument, names_path, names_value, quotes_both
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import mark, term
from driftwatch.explain.weights import by_class
from driftwatch.explain.words import command, count, moved
from driftwatch.model import Known

_GROUP = {
    "graphs": "it sets what runs as CUDA graphs, which take memory and save time",
    "memory": "it sizes what the server keeps in GPU memory", "speed": "it selects how the work is done",
    "precision": "it selects in which numbers the work is done",
    "model": "it selects what is loaded and in which form",
    "collective": "it shapes how the GPUs work together", "harmless": "it reaches no kernel and no memory",
}


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each moved argument, or that all of them are equal."""
    arguments = list(servers.moved_arguments(case))
    yield from _evidence(case, arguments)
    if not arguments:
        yield from _all_equal(case)


def weigh_unread(case: Case) -> Iterator[Finding]:
    """Yield each moved option of a server that no reader knows."""
    if not any(case.under("bad", f"servers/{server}/{source}") for server in case.families("servers") for source in ("given", "args")):
        yield from _evidence(case, list(moved_options(case)))


def _evidence(case: Case, arguments: Sequence[servers.Argument]) -> Iterator[Finding]:
    switches = {(one.server, re.sub(r"^(?:enable|disable)_", "", one.name)): one.name for one in arguments if _is_switch(one)}
    for argument in arguments:
        yield Evidence(Subject("launch-arg", argument.name), tuple(_terms(case, argument, _switch_of(argument, switches))), _wording(case, argument))


def _terms(case: Case, argument: servers.Argument, switch: str) -> Iterator[Term]:
    yield term("moved", "its value is another than on the good side", argument.facts)
    family = argument_family(argument.name)
    weight = by_class("argument", family, case.klass)
    if weight and family in _GROUP:
        yield Term(_GROUP[family], weight, argument.facts, "argument")
    if names_argument(case.text, argument.name):
        yield term("named in the error", "the error text names this argument", argument.facts)
    elif quotes_both(case.text, argument.good, argument.bad):
        yield term("both values named", "the error text sets its old value against its new one", argument.facts)
    elif family != "harmless" and names_value(case.text, argument.bad):
        yield term("path named" if names_path(case.text, argument.bad) else "value named", "the error text names its new value", argument.facts)
    elif family != "harmless" and (code := code_of(case.trace, argument.name, argument.bad)):
        yield term("in the traceback", f"the traceback goes through the code that it selects: {code}", argument.facts)
    elif family != "harmless" and refuses_settings(case.text):
        yield term("refusal of settings", "the error says that one way of working does not go with another", argument.facts)
    elif family not in ("harmless", "other") and case.klass not in ("oom", "slow") and _is_switch(argument):
        yield term("switched", "it turns a way of working on or off", argument.facts)
    if switch:
        yield term("goes with its switch", f"it belongs to {servers.flag(switch)}, which moved too", argument.facts)
    if argument.is_default:
        yield term("open", "given on neither side: its default moved", argument.facts)


def _is_switch(argument: servers.Argument) -> bool:
    return {type(argument.good), type(argument.bad)} <= {bool, type(None)}


def _switch_of(argument: servers.Argument, switches: Mapping[tuple[str, str], str]) -> str:
    """Return the moved switch that an argument belongs to, as ``torch_compile_max_bs`` to ``enable_torch_compile``; "" where there is none."""
    words = argument.name.split("_")
    found = (switches.get((argument.server, "_".join(words[:most])), "") for most in range(len(words) - 1, 0, -1))
    return next((switch for switch in found if switch not in ("", argument.name) and not argument.name.startswith(switch)), "")


def _wording(case: Case, argument: servers.Argument) -> Wording:
    layer = "launch argument (default)" if argument.is_default else "launch argument"
    flag = servers.flag(argument.name)
    verdict = f"{flag} {moved(argument.good, argument.bad, absent='not set')}."
    return Wording(layer, flag, mark(argument.good, argument.bad), argument.good, argument.bad, verdict, commands=_commands(case, argument))


def _commands(case: Case, argument: servers.Argument) -> tuple[Command, ...]:
    path = case.bad.get(f"servers/{argument.server}/log/path")
    look: tuple[Command, ...] = ()
    if isinstance(path, Known) and isinstance(path.value, str):
        look = (Command("confirm", command(["grep", "-n", "server_args=", path.value]), "the arguments as the server resolved them"),)
    back = Command("try", f"# start the server {servers.with_argument(argument.name, argument.good)}", "restarts the server")
    return (*look, back, Command("undo", f"# start the server {servers.with_argument(argument.name, argument.bad)}"))


def _all_equal(case: Case) -> Iterator[Finding]:
    """Yield that a server's arguments are equal: where its command line is known on both sides, and no unit or container that may hold it has another."""
    if case.has_moved(*COMMAND_LINES):
        return
    for server in case.families("servers"):
        good, bad = ({path for path, _ in case.under(side, f"servers/{server}/args")} for side in SIDES)
        is_told = all(case.unanswered(side, f"servers/{server}/given/*") is None for side in SIDES)
        if good and is_told and good == bad and all(case.known(path) is not None for path in good):
            says = f"{count(len(good), 'resolved argument')} equal on both sides"
            yield RuledOut(Subject("launch-arg", f"launch arguments of {server}"), says, tuple(sorted(good)))


RULES = (
    Rule("launch_arg", needs=("servers/*/args|servers/*/given",), weigh=weigh, blames=("launch-arg",)),
    Rule("launch_arg_unread", needs=(), weigh=weigh_unread, blames=("launch-arg",)),
)
