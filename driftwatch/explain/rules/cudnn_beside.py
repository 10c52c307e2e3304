"""cuDNN of the system beside that of a wheel: what one lacks of its parts the loader takes from the other, and parts of two releases refuse each other.

Known from what PyTorch's collect_env finds on disk, and from the packages of the operating system. Of one release side by side they do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, Subject, Term
from driftwatch.explain.pairs import good_or
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, pip, term

_ON_DISK = "cudnn/on_disk"
_SAYS = re.compile(r"cudnn", re.IGNORECASE)
_OF_FILE = re.compile(r"libcudnn\S*?\.so\.(\d+\.\d+)\.\d+")
_OF_PACKAGE = re.compile(r"(?:os_packages|os_packages_other)/(?:lib)?cudnn\d[^/]*(?:/version)?")
_WHEEL = re.compile(r"packages/nvidia-cudnn-cu\d+/version")
_RELEASE = re.compile(r"\d+\.\d+")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the cuDNN of the system, where it came, moved, or is of another release than the wheel's since the good side."""
    told = _of_system(case, "bad")
    beside = _beside(case, "bad")
    is_new = told and _of_system(case, "good") != told
    if is_new or (beside and not _beside(case, "good")):
        yield _evidence(case, told, beside)


def _of_system(case: Case, side: SideName) -> dict[str, str]:
    """Return the release of the system's cuDNN by the facts that tell it."""
    files = case.value(side, _ON_DISK)
    found = _OF_FILE.search("\n".join(map(str, files))) if isinstance(files, list) else None
    told = {_ON_DISK: found[1]} if found else {}
    for top in ("os_packages", "os_packages_other"):
        told.update({path: release[0] for path, value in case.below(side, top) if _OF_PACKAGE.fullmatch(path) and (release := _RELEASE.match(str(value)))})
    return told


def _beside(case: Case, side: SideName) -> dict[str, str]:
    """Return the release of the wheel's cuDNN by its fact, where the system's is of another one."""
    wheels = {path: release[0] for path, value in case.below(side, "packages") if _WHEEL.fullmatch(path) and (release := _RELEASE.match(str(value)))}
    system = set(_of_system(case, side).values())
    return {path: release for path, release in wheels.items() if system and release not in system}


def _evidence(case: Case, told: dict[str, str], beside: dict[str, str]) -> Evidence:
    before, facts = _of_system(case, "good"), tuple(dict.fromkeys((*told, *beside)))
    bad = ", ".join(sorted(set(told.values())))
    good = ", ".join(sorted(set(before.values()))) or good_or(case, "absent", *told)
    terms: list[Term] = []
    if beside:
        says = f"the system has cuDNN {bad} and the wheel is {', '.join(sorted(set(beside.values())))}: what the wheel lacks is taken from the other"
        terms = [term("library of two releases", says, facts)]
    if before != told and all(case.known(path) is not None for path in told):
        terms.append(term("system library moved", f"cuDNN of the system: {good} → {bad}", tuple(told)))
    terms += before_unknown(case, "it was there", *told)
    if _SAYS.search(case.text):
        terms.append(term("named in the error", "the error is cuDNN's own", facts))
    look = Command("confirm", "ldconfig -p | grep libcudnn; " + pip(case, "list") + " | grep -i cudnn")
    again = Command("try", "# take the system's cuDNN away, or put the wheel's folder first in LD_LIBRARY_PATH", "then start the server")
    verdict = f"The system's cuDNN {bad} stands beside the wheel's of another release." if beside else f"The system's cuDNN is {bad} now."
    wording = Wording("library", "libcudnn of the system", "~" if before else "+", good, bad, verdict, commands=(look, again))
    return Evidence(Subject("library", "libcudnn"), tuple(terms), wording)


RULES = (Rule("cudnn_beside", needs=(), weigh=weigh, blames=("library",)),)
