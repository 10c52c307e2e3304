"""Takes out of an explanation what tells whose machines these are, and puts the same stand-in in each place: host-1, user-1, address-1 …

| taken out | known by |
|---|---|
| host names | the two snapshots' own names; facts that name hosts; the host of a URL, unless the whole world knows it |
| addresses | their shape: IPv4 (a version of four numbers that a snapshot tells stays), IPv6, MAC, GUID, mail |
| user names | home folders, and facts that name users; accounts that every machine has stay |
| UUIDs and serial numbers | their shape, and facts that are called so |

Values are replaced before anything is laid out, so that every format says the same. Knows no layout and reads nothing else.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from driftwatch.model import Snapshot, plain

T = TypeVar("T")
EVERYWHERE = frozenset((
    "root", "ubuntu", "debian", "nobody", "admin", "user", "runner", "docker", "sglang", "vllm", "nvidia", "linux", "python", "localhost", "local", "good",
    "bad", "last", "default", "unnamed", "snapshot", "driftwatch"))
KNOWN_SITES = re.compile(
    r"(?:[\w-]+\.)*(?:github\.com|gitlab\.com|bitbucket\.org|pypi\.org|pythonhosted\.org|huggingface\.co|hf\.co|pytorch\.org|nvidia\.com|docker\.io|docker\.com"
    r"|ghcr\.io|nvcr\.io|quay\.io|flashinfer\.ai|modelscope\.cn|kernel\.org|ubuntu\.com|debian\.org)\Z", re.IGNORECASE)
SHORTEST_LOOSE = 4
_HOST_FACTS = re.compile(
    r"(?:\A|/)(?:hostname|nodename|fqdn|HOSTNAME|own|MASTER_ADDR|SLURMD_NODENAME|SLURM_SUBMIT_HOST|dist_init_addr|master_addr|nccl_host)\Z")
_USER_FACTS = re.compile(r"(?:\A|/)(?:user|USER|LOGNAME|owner)\Z")
_SERIAL_FACTS = re.compile(r"serial|asset_tag|(?:\A|/)guid\Z")
_VERSION_FACTS = re.compile(
    r"\A(?:packages|pythons|leftovers|os_packages\w*|torch|cuda|cudnn|nccl|driver|firmware|native|libraries|modules|servers/[^/]+/args)/")
_QUAD = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\d)")
_WORD = re.compile(r"[A-Za-z0-9][\w.-]{0,252}\Z")
_ENDING = r"(?!\.(?:json|txt|log|md|csv|xml|tar|tgz|gz|xz|zip|py|so|html)\b)"
_DOMAIN = rf"(?:{_ENDING}(?:\.[A-Za-z0-9-]+){{0,6}}\.[A-Za-z]{{2,12}}\b)?"
_SHAPES = (
    r"(?P<gpu>\b(?:GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)",
    r"(?P<uuid>(?<![0-9a-fA-F-])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F-]))",
    r"(?:(?<=/home/)|(?<=/Users/)|(?<=%2Fhome%2F)|(?<=/export/home/))(?P<home>(?:(?!%2F)[^/\s'\":;,)\]}]){1,64})",
    r"(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.[A-Za-z]{2,12})(?![\w.]*[/:])",
    r"(?<=://)(?P<site>(?:[^/\s@'\"]{1,120}@)?[A-Za-z0-9][\w.-]{0,252})",
    r"(?P<mac>(?<![\w:])[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,7}(?![\w:]))",
    r"(?P<guid>(?<![\w:])[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}(?![\w:])|\b0x[0-9a-fA-F]{16}\b)",
    r"(?P<quad>(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w))",
    r"(?P<six>(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:%\w{1,16})?(?![\w:]))",
)
_STAND_INS = {"gpu": "GPU-", "uuid": "uuid-", "mail": "mail-", "mac": "mac-", "guid": "guid-"}


class Mask:
    """What stands for what. The same text always gets the same stand-in; numbers are given in the order in which the texts are met."""

    def __init__(self, snapshots: Iterable[Snapshot]) -> None:
        told = tuple(snapshots)
        self._given: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._versions = frozenset(found for one in told for found in _versions(one))
        names = [(name, kind) for one in told for name, kind in _names(one)]
        for name, kind in names:
            self._stand_in(name, kind)
        longest = sorted({name for name, _ in names}, key=lambda name: (-len(name), name))
        alternatives = [f"(?P<name>{'|'.join(map(_bounded, longest))})"] if longest else []
        self._pattern = re.compile("|".join((*alternatives, *_SHAPES)), re.IGNORECASE)

    def text(self, text: str) -> str:
        """Return a text with a stand-in for each thing that tells whose it is."""
        return self._pattern.sub(self._one, text)

    def value(self, value: Any) -> Any:
        """Return a JSON value, or one of our own frozen values, with all its texts replaced."""
        if isinstance(value, str):
            return self.text(value)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{one.name: self.value(getattr(value, one.name)) for one in fields(value)})
        if isinstance(value, dict):
            return {self.value(key): self.value(one) for key, one in value.items()}
        return type(value)(map(self.value, value)) if isinstance(value, (list, tuple)) else value

    def _one(self, found: re.Match[str]) -> str:
        kind, said = found.lastgroup or "", found.group()
        if kind in _STAND_INS:
            return self._stand_in(said, _STAND_INS[kind])
        special = {"name": self._of_name, "home": self._of_home, "site": self._of_site, "quad": self._of_quad, "six": self._of_six}
        return special[kind](said)

    def _of_name(self, said: str) -> str:
        """Return the stand-in of a known name; one with its domain behind it is the same host."""
        bare = said.lower()
        while bare not in self._given and "." in bare:
            bare = bare.rpartition(".")[0]
        return self._given.get(bare, "host-0")

    def _of_home(self, said: str) -> str:
        return said if said.lower() in EVERYWHERE else self._stand_in(said, "user-")

    def _of_site(self, said: str) -> str:
        """Return the host of a URL, and no login before it."""
        host = said.rpartition("@")[2]
        if _QUAD.fullmatch(host):
            return self._of_quad(host)
        return host if KNOWN_SITES.match(host) or host.lower() in EVERYWHERE else self._stand_in(host, "host-")

    def _of_quad(self, said: str) -> str:
        is_address = all(part == str(int(part)) and int(part) < 256 for part in said.split("."))
        is_ours = not is_address or said in self._versions or said.startswith("127.") or said in ("0.0.0.0", "255.255.255.255")  # noqa: S104  # read, not bound
        return said if is_ours else self._stand_in(said, "address-")

    def _of_six(self, said: str) -> str:
        """Return the stand-in of an IPv6 address; a time, ``::`` and ``::1`` stay."""
        try:
            address = ipaddress.IPv6Address(said.partition("%")[0])
        except ValueError:
            return said
        return said if address.is_loopback or address.is_unspecified else self._stand_in(said, "address-")

    def _stand_in(self, said: str, start: str) -> str:
        key = said.lower()
        if key not in self._given:
            self._counts[start] = self._counts.get(start, 0) + 1
            self._given[key] = f"{start}{self._counts[start]}"
        return self._given[key]


def anonymise(told: T, snapshots: Iterable[Snapshot]) -> T:
    """Return a frozen value, such as an explanation, without what tells whose machines the snapshots are of."""
    found: T = Mask(snapshots).value(told)
    return found


def _bounded(name: str) -> str:
    """Return a name as a pattern: a short one only where it stands alone, a longer one also as a part of a file's name."""
    before, after = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])") if len(name) >= SHORTEST_LOOSE else (r"(?<![\w.-])", r"(?![\w.-]*\w)")
    return f"{before}{re.escape(name)}{_DOMAIN}{after}"


def _names(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield the names that a snapshot tells, each with the beginning of its stand-in; a host's name with a domain also without it."""
    for host in _hosts(snapshot):
        for name in dict.fromkeys((host.partition(".")[0], host)):
            if _WORD.match(name) and name.lower() not in EVERYWHERE and not name.replace(".", "").isdigit():
                yield name, "host-"
                break
    for path, value in sorted(snapshot.facts.items()):
        if path == "names/search" and isinstance(value, list):
            yield from ((str(one), "domain-") for one in value if _WORD.match(str(one)))
        if isinstance(value, str) and _WORD.match(value) and value.lower() not in EVERYWHERE:
            if _USER_FACTS.search(path) and not value.isdigit():
                yield value, "user-"
            elif _SERIAL_FACTS.search(path) and len(value) > SHORTEST_LOOSE:
                yield value, "serial-"


def _hosts(snapshot: Snapshot) -> Iterator[str]:
    """Yield the host's own name first, then those that facts name, without a port behind them."""
    if snapshot.host:
        yield snapshot.host
    for path, value in sorted(snapshot.facts.items()):
        if isinstance(value, str) and _HOST_FACTS.search(path):
            yield value.rpartition("://")[2].partition(":")[0]
        elif path.startswith("names/hosts/"):
            yield plain(path.split("/", 2)[2])


def _versions(snapshot: Snapshot) -> Iterator[str]:
    """Yield what looks like an IPv4 address and is a version."""
    for path, value in snapshot.facts.items():
        if isinstance(value, (str, list)) and _VERSION_FACTS.match(path) and not _HOST_FACTS.search(path):
            yield from _QUAD.findall(value if isinstance(value, str) else " ".join(map(str, value)))
