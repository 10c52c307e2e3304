"""Which addresses the host's own files give for names, and whom it asks about others. Looks up no name, sends no packet.

| path | what |
|---|---|
| names/own | the host's own name |
| names/hosts/NAME | the addresses that /etc/hosts gives for a name, in its order; ``localhost`` and its own name among them |
| names/servers, names/search, names/options | the name servers, search domains and options of /etc/resolv.conf |

``names/hosts`` as a whole is unknown where the file cannot be read, or tells of more than 500 names.
"""
from __future__ import annotations

from ..host import Host
from ..probe import Fact, Probe, Unknown, fact_path
from ..typed import Dict, Iterator, List

MOST_NAMES = 500


def collect(host: Host) -> Iterator[Fact]:
    """Yield the host's own name, what /etc/hosts tells, and its name servers."""
    own = host.try_read("/proc/sys/kernel/hostname")
    if own is not None:
        yield "names/own", own if isinstance(own, Unknown) else own.strip()
    text = host.try_read("/etc/hosts")
    told = parse_hosts(text) if isinstance(text, str) else {}
    if len(told) > MOST_NAMES:
        text, told = Unknown("error", "/etc/hosts: it tells of %d names, at most %d are kept" % (len(told), MOST_NAMES)), {}
    if isinstance(text, Unknown):
        yield "names/hosts", text
    for name, addresses in told.items():
        yield fact_path("names", "hosts", name), addresses
    text = host.try_read("/etc/resolv.conf")
    if text is not None:
        for key, words in parse_resolv(text if isinstance(text, str) else "").items():
            yield "names/" + key, text if isinstance(text, Unknown) else words


def parse_hosts(text: str) -> Dict[str, List[str]]:
    """Return the addresses of each name in a hosts file; names of IPv6 groups (``ip6-…``) are left out."""
    found: Dict[str, List[str]] = {}
    for line in text.split("\n"):
        address, *names = line.partition("#")[0].split() or [""]
        for name in names:
            if not name.startswith("ip6-") and address not in found.setdefault(name, []):
                found[name].append(address)
    return found


def parse_resolv(text: str) -> Dict[str, List[str]]:
    """Return the name servers, the search domains and the options; of several ``search`` lines the last counts, as the resolver has it."""
    found: Dict[str, List[str]] = {"servers": [], "search": [], "options": []}
    for word, *rest in (line.split() or [""] for line in text.split("\n")):
        if word in ("search", "domain"):
            found["search"] = rest
        elif word in ("nameserver", "options"):
            found["servers" if word == "nameserver" else word] += rest
    return found


PROBES = (Probe("names", collect, deadline_s=5.0, tells=("names/*",), reads="/etc/hosts, /etc/resolv.conf, /proc/sys/kernel/hostname"),)
