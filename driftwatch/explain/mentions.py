"""What an error text and its traceback say of a distribution: named, raising, missed as a symbol, its version quoted, or needed by what raised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from driftwatch.explain.case import SIDES, Case
from driftwatch.explain.code_names import speaks_with
from driftwatch.explain.error_words import asked_of, is_of_system, missing_module, without_noise
from driftwatch.explain.explanation import Term
from driftwatch.explain.families import package_family, speaks_of
from driftwatch.explain.naming import frames, is_file_about, is_import_of, lacks_symbol_of, names_package, quotes_version
from driftwatch.explain.requirements import has_moved, required_by
from driftwatch.explain.terms import term
from driftwatch.explain.usual_requirements import WELL_KNOWN
from driftwatch.explain.words import listed

_OUTER = frozenset({"web", "client", "tool"})
_BESIDE_OUTER = _OUTER | {"request", "loading", "other"}
_RARE = 6  # an error text that names more distributions than this is a list of them


def quotes_either(case: Case, path: str) -> bool:
    """Tell whether the error text quotes the version of a fact, on one side or the other, while it is another on each."""
    both = case.known(path)
    return both is not None and both[0] != both[1] and any(quotes_version(case.text, one) for one in both)


@dataclass(frozen=True)
class Said:
    """What the error of a case says, worked out once for all the distributions that are asked about."""

    case: Case

    @cached_property
    def text(self) -> str:
        """Return the error text in which packages are looked for."""
        return without_noise(self.case.text)

    @cached_property
    def installed(self) -> tuple[str, ...]:
        """Return the bad side's distributions."""
        told = (path.split("/") for path, value in self.case.below("bad", "packages") if isinstance(value, str))
        return tuple(parts[1] for parts in told if len(parts) == 3 and parts[2] == "version")

    @cached_property
    def required(self) -> Mapping[str, list[str]]:
        """Return what each distribution requires."""
        return required_by(self.case)

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """Return the installed distributions of which the error asked a name or a part that they do not have."""
        module = asked_of(self.case.text)
        return tuple(name for name in self.installed if module and is_import_of(module, name))

    @cached_property
    def askers(self) -> tuple[str, ...]:
        """Return the distributions that moved and require one of those that were asked for what they do not have, where that one did not move."""
        still = [name for name in self.asked if not has_moved(self.case, name)]
        return tuple(name for name in self.installed if still and has_moved(self.case, name) and any(one in self.required.get(name, ()) for one in still))

    @cached_property
    def frames(self) -> tuple[str, ...]:
        """Return the packages that the traceback goes through, by their import names."""
        return tuple(frames(self.case.trace))

    @cached_property
    def raisers(self) -> tuple[str, ...]:
        """Return the installed distributions that the error comes from: of the innermost frame of the traceback, else those that the text names."""
        for module in reversed(self.frames):
            found = tuple(name for name in self.installed if is_import_of(module, name))
            if found:
                return found
        named = tuple(name for name in self.installed if names_package(self.text, name))
        return named if len(named) <= _RARE else ()

    @cached_property
    def still_raisers(self) -> tuple[str, ...]:
        """Return those of the raisers that did not move: each may be the victim of what it requires."""
        return tuple(name for name in self.raisers if not has_moved(self.case, name))

    @cached_property
    def has_moved_raiser(self) -> bool:
        """Tell whether the traceback ends in the code of a distribution that moved itself."""
        return bool(self.frames) and any(has_moved(self.case, name) and is_import_of(self.frames[-1], name) for name in self.raisers)

    @cached_property
    def named(self) -> frozenset[str]:
        """Return the distributions, installed or well known, that the error names or misses a symbol of, else moved ones of which it has the words.

        None where they are very many. Servers do not count, since any error of theirs names them.
        """
        text = self.text
        every = dict.fromkeys((*self.installed, *WELL_KNOWN)) if text else ()
        found = [name for name in every if package_family(name) != "server" and (names_package(text, name) or lacks_symbol_of(text, name))]
        found = found or [name for name in self.installed if speaks_with(text, name) and has_moved(self.case, name)]
        return frozenset(found) if len(found) <= _RARE else frozenset()

    @cached_property
    def moved_and_named(self) -> frozenset[str]:
        """Return those of the named that moved: then what raised need not be asked whose victim it is."""
        return frozenset(name for name in self.named if has_moved(self.case, name))


def mentions(said: Said, name: str, facts: tuple[str, ...]) -> Iterator[Term]:
    """Yield what the error says of one distribution, as terms that rest on these facts."""
    case = said.case
    is_named = names_package(said.text, name)
    if is_named:
        is_server = package_family(name) == "server"
        yield term("server named" if is_server else "named in the error", "the error text names it", facts)
        if any(quotes_version(case.text, case.value(side, f"packages/{name}/version")) for side in SIDES):
            yield term("version quoted", "the error text quotes its version", facts)
    if name in said.asked:
        yield term("lacks what is asked of it", "the error asks something of it that it does not have", facts)
    symbol = lacks_symbol_of(case.text, name)
    if symbol:
        yield term("lacks its symbol", f"a symbol of {symbol} is missing: its library gives those", facts)
    yield from _in_trace(said, name, facts)
    if not is_named and not symbol:
        yield from _needed(said, name, facts)
        yield from _in_its_words(said, name, facts)


def _in_its_words(said: Said, name: str, facts: tuple[str, ...]) -> Iterator[Term]:
    if speaks_with(said.case.text, name):
        yield term("words of its library", "the error speaks in the words of its library", facts)
    elif not said.raisers and speaks_of(said.case.text, package_family(name)):
        yield term("words of its layer", "the error speaks in the words of its layer", facts)


def _in_trace(said: Said, name: str, facts: tuple[str, ...]) -> Iterator[Term]:
    found = [module for module in said.frames if is_import_of(module, name)]
    if found and is_of_system(said.case.text):
        yield term("the system refused", "its code was running when the operating system refused or lacked something: it only asked", facts)
    elif found and name in said.raisers:
        yield term("raises", "the innermost frame of the traceback is its code", facts)
    elif found or is_file_about(said.case.trace, name):
        yield term("in the traceback", "the traceback goes through its code" if found else "the traceback ends in code that is about it", facts)


def _needed(said: Said, name: str, facts: tuple[str, ...]) -> Iterator[Term]:
    """Yield that what raised requires it directly, where it did not move itself: the one that raises is often the victim, unless the error tells of whom."""
    if said.moved_and_named:
        return
    absent = missing_module(said.case.text)
    if absent and not any(is_import_of(absent, one) for one in (name, *said.still_raisers)):
        return
    if name in said.askers:
        yield term("asks what is not there", f"it requires {listed(said.asked, 2)}, which did not move, and lacks what is asked of it", facts)
        return
    for raiser in said.still_raisers:
        if raiser != name and not (said.askers and raiser in said.asked) and name in said.required.get(raiser, ()):
            is_far = package_family(name) in _OUTER and package_family(raiser) not in _BESIDE_OUTER
            says = f"{raiser}, which the error comes from, did not move and requires it"
            yield term("raiser needs it, far", f"{says}, for another kind of work", facts) if is_far else term("raiser needs it", says, facts)
            return
