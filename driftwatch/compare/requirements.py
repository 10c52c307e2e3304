"""Requirements that the installed set of one snapshot does not meet, as the distributions' own metadata declare them.

Judged with ``packaging`` under the host's own Python version; what is unknown is not judged. Pure: looks at one snapshot, at nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from packaging.markers import Marker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from driftwatch.model import Known, Snapshot, Unknown

_ALIASES = (("sgl-kernel", "sglang-kernel"), ("pynvml", "nvidia-ml-py"), ("flashinfer", "flashinfer-python"))
_LINUX = {
    "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "implementation_name": "cpython", "platform_python_implementation": "CPython",
}
_CUDA = re.compile(r"(nvidia-.+)-cu\d+\Z")


@dataclass(frozen=True)
class Unmet:
    """A requirement that is not met: who wants it, what exactly, what is installed (None: nothing), and what under another name ("": nothing)."""

    by: str
    requirement: str
    name: str
    installed: str | None
    instead: str = ""


def unmet(snapshot: Snapshot) -> tuple[Unmet, ...]:
    """Return the requirements of all installed distributions that the installed set is known not to meet, by the name of who wants them."""
    lists = {path.split("/")[0]: value for path, value in snapshot.below("packages").items() if path.endswith("/requires") and isinstance(value, list)}
    parsed = {by: [found for line in lines if (found := _parsed(str(line))) is not None] for by, lines in sorted(lists.items())}
    python = snapshot.get("python/version")
    version = str(python.value) if isinstance(python, Known) and python.value else ""
    extras = _extras(parsed, version)
    wanted = ((by, one) for by, found in parsed.items() for one in found if _applies(one, extras.get(by, set()), version))
    return tuple(dict.fromkeys(found for by, one in wanted for found in _judged(snapshot, by, one)))


@lru_cache(maxsize=8192)
def _parsed(line: str) -> Requirement | None:
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def _extras(parsed: dict[str, list[Requirement]], python: str) -> dict[str, set[str]]:
    """Return for each distribution the extras that others ask it for on this host, whatever extras they were asked for themselves."""
    found: dict[str, set[str]] = {}
    for requirements in parsed.values():
        for one in requirements:
            if one.extras and _applies(one, set(), python):
                found.setdefault(canonicalize_name(one.name), set()).update(one.extras)
    return found


def _applies(one: Requirement, extras: set[str], python: str) -> bool:
    """Tell whether a requirement holds on the host. One that turns on the Python version does not where that is unknown."""
    if one.marker is None:
        return True
    text = str(one.marker)
    if ("python" in text and not python) or re.search(r"platform_(machine|release|version)", text):
        return False
    host = {**_LINUX, "python_version": ".".join(python.split(".")[:2]), "python_full_version": python}
    return any(_holds(one.marker, {**host, "extra": extra}) for extra in ("", *sorted(extras)))


def _holds(marker: Marker, host: dict[str, str]) -> bool:
    """Tell whether a marker is true; one that cannot be worked out, such as ``sys_platform ~= "linux"``, is not judged."""
    try:
        return marker.evaluate(host)
    except (UndefinedEnvironmentName, ValueError):  # of which UndefinedComparison is one
        return False


def _judged(snapshot: Snapshot, by: str, one: Requirement) -> Iterator[Unmet]:
    name = canonicalize_name(one.name)
    found = snapshot.get(f"packages/{name}/version")
    if isinstance(found, Unknown):
        return
    if found.value is None:
        yield Unmet(by, str(one), name, None, _instead(snapshot, name))
    elif one.specifier and _is_outside(one, str(found.value)):
        yield Unmet(by, str(one), name, str(found.value))


def _is_outside(one: Requirement, version: str) -> bool:
    """Tell whether a version is known not to fit. Pre-releases count as versions, as they do once they are installed."""
    try:
        return not one.specifier.contains(Version(version), prereleases=True)
    except ValueError:  # InvalidVersion is one, and so is what Python says of thousands of digits
        return False


def _instead(snapshot: Snapshot, name: str) -> str:
    """Return what is installed under another name of the same thing: ``NAME VERSION``, or "" where nothing is."""
    others = {other for pair in _ALIASES if name in pair for other in pair} - {name}
    cuda = _CUDA.match(name)
    stem = cuda[1] if cuda else name if name.startswith("nvidia-") else ""
    if stem:
        others |= {path.split("/")[0] for path in snapshot.below("packages") if re.fullmatch(re.escape(stem) + r"(-cu\d+)?", path.split("/")[0])} - {name}
    installed = ((other, snapshot.get(f"packages/{other}/version")) for other in sorted(others))
    return next((f"{other} {found.value}" for other, found in installed if isinstance(found, Known) and found.value), "")
