"""What the dynamic loader would pick for the libraries under a GPU server, and in which order it searches. Loads nothing.

| path | what |
|---|---|
| loader/picks/NAME | the file behind the loader's first choice for a library's name such as ``libnccl.so.2`` |
| loader/also/NAME | the files behind its further choices, if any |
| loader/order | the folders of /etc/ld.so.conf and what it includes, in their order |
| loader/preload | libraries of /etc/ld.so.preload: they are put into every process |
| loader/compat/FOLDER | the version of libcuda in a CUDA compatibility folder |
| loader/toolkits/NAME | a CUDA toolkit in /usr/local: its version, or where the link ``cuda`` leads to |

LD_LIBRARY_PATH, which comes before all of these, stands with each server's environment.
"""
from __future__ import annotations

import json
import re

from ..host import Host, Ran
from ..probe import Fact, Probe, Unknown, Unreadable, fact_path
from ..typed import Any, Dict, Iterator, List, Optional, Regex

FAMILIES = Regex(
    r"lib(?:cuda|cudart|nvidia-ml|nvidia-ptxjitcompiler|nvidia-nvvm|nccl|nccl-net|cudnn\w*|cublas\w*|cufft\w*|curand|cusolver\w*|cusparse\w*|cupti|nvrtc\S*|nvJitLink|nvshmem\w*"
    r"|stdc\+\+|gcc_s|gomp|c|ibverbs|mlx5|rdmacm|efa|fabric|ucp|ucs|uct|ucm|mpi|gdrapi|numa|tcmalloc\w*|jemalloc)\.so(?:\.\d+)*")
CONF = "/etc/ld.so.conf"
LOCAL = "/usr/local"
MOST_DEEP = 4


def collect(host: Host) -> Iterator[Fact]:
    """Yield what the loader would pick, where it searches, and which CUDA folders there are."""
    yield from _picks(host)
    order = _folders(host, CONF, 0)
    if order is None:
        order = _included(host, "/etc/ld.so.conf.d/*.conf", 0)
    yield "loader/order", order
    preload = host.try_read("/etc/ld.so.preload")
    if preload is not None:
        yield "loader/preload", preload if isinstance(preload, Unknown) else re.sub(r"#.*", "", preload).replace(":", " ").split()
    yield from _toolkits(host)


def _picks(host: Host) -> Iterator[Fact]:
    ran = host.try_run(["ldconfig", "-p"], 3.0)
    if ran is None:
        ran = host.try_run(["/sbin/ldconfig", "-p"], 3.0)
    choices = host.attempt(parse_cache, ran) if isinstance(ran, Ran) else ran or Unknown("error", "the loader's cache: there is no ldconfig to ask")
    if isinstance(choices, Unknown):
        yield "loader/picks", choices
        yield "loader/also", choices
        return
    for name, paths in sorted(choices.items()):
        files = list(dict.fromkeys(_behind(host, path) for path in paths))
        yield fact_path("loader", "picks", name), files[0]
        if files[1:]:
            yield fact_path("loader", "also", name), [one.reason if isinstance(one, Unknown) else one for one in files[1:]]


def _behind(host: Host, path: str) -> Any:
    """Return the file that a path leads to; the path itself where nothing was recorded of what it leads to."""
    real = host.attempt(host.real, path)
    return path if real is None else real


def parse_cache(ran: Ran) -> Dict[str, List[str]]:
    """Return the paths of ``ldconfig -p`` by library name, the first choice first, without those of 32-bit programs and of no family here."""
    lines = re.findall(r"^[ \t]*(\S+) \(([^)\n]*)\) => (\S+)[ \t\r]*$", ran.stdout, re.MULTILINE)
    if ran.rc != 0 or not (lines or "0 libs" in ran.stdout):
        raise Unreadable("ldconfig -p: exit code %d: %s" % (ran.rc, (ran.stderr.strip() or ran.stdout.strip() or "no text")[:200]))
    found: Dict[str, List[str]] = {}
    for name, kind, path in lines:
        if "64" in kind and FAMILIES.fullmatch(name):
            found.setdefault(name, []).append(path)
    return found


def _folders(host: Host, path: str, depth: int) -> Any:
    """Return the folders that a file of the loader's names, those of included files in their place; None where there is no such file."""
    text = host.try_read(path)
    if not isinstance(text, str):
        return text
    found: List[str] = []
    for line in parse_conf(text):
        further = _included(host, line[len("include "):], depth + 1) if line.startswith("include ") else [line]
        if isinstance(further, Unknown):
            return further
        found += [folder for folder in further if folder not in found]
    return found


def _included(host: Host, pattern: str, depth: int) -> Any:
    """Return the folders that all files named by a pattern hold; Unknown where one of them cannot be read."""
    above, _, name = (pattern if pattern.startswith("/") else "/etc/" + pattern).rpartition("/")
    names = host.try_list(above)
    if isinstance(names, Unknown):
        return names
    if depth > MOST_DEEP:
        return Unknown("error", "%s: files that include each other" % pattern)
    fits = re.compile(".*".join(re.escape(piece) for piece in name.split("*")))
    found: List[str] = []
    for one in names or ():
        folders = _folders(host, above + "/" + one, depth) if fits.fullmatch(one) else ()
        if isinstance(folders, Unknown):
            return folders
        found += [folder for folder in folders or () if folder not in found]
    return found


def parse_conf(text: str) -> List[str]:
    """Return the folders and the ``include PATTERN`` lines of a file of the loader's, without comments and hardware capabilities."""
    lines = (" ".join(re.sub(r"#.*", "", line).replace("=", " = ").split()) for line in text.splitlines())
    return [line if line.startswith("include ") else line.partition(" ")[0] for line in lines if line and not line.startswith("hwcap")]


def _toolkits(host: Host) -> Iterator[Fact]:
    names = host.try_list(LOCAL)
    if isinstance(names, Unknown):
        yield "loader/toolkits", names
        yield "loader/compat", names
    for name in names if isinstance(names, list) else ():
        if re.fullmatch(r"cuda(?:-\d+(?:\.\d+)?)?", name):
            yield from _toolkit(host, LOCAL + "/" + name)


def _toolkit(host: Host, top: str) -> Iterator[Fact]:
    path = fact_path("loader", "toolkits", top.rpartition("/")[2])
    stat = host.attempt(host.stat, top)
    is_link = getattr(stat, "kind", "") == "link"
    if is_link:
        yield path, host.attempt(host.real, top)
        return
    text = host.try_read(top + "/version.json")
    yield path, host.attempt(parse_version, text) if isinstance(text, str) else text or "no version.json"
    names = host.try_list(top + "/compat")
    if names is not None:
        yield fact_path("loader", "compat", top + "/compat"), names if isinstance(names, Unknown) else compat_version(names)


def parse_version(text: str) -> str:
    """Return the toolkit's version from its version.json."""
    found: Optional[Any] = None
    try:
        found = json.loads(text)["cuda"]["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str):
        raise Unreadable("version.json: no version of CUDA in %r" % text[:80])
    return found


def compat_version(names: List[str]) -> str:
    """Return the version that the name of libcuda in a compatibility folder ends with."""
    found = [one.group(1) for one in (re.fullmatch(r"libcuda\.so\.(\d+(?:\.\d+)+)", name) for name in names) if one]
    return ", ".join(found) if found else "no libcuda"


PROBES = (
    Probe(
        "loader", collect, deadline_s=10.0, tells=("loader", "loader/*"),
        reads="ldconfig -p, /etc/ld.so.conf and what it includes, /etc/ld.so.preload, CUDA folders in /usr/local",
    ),
)
