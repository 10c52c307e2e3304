"""Where the dynamic loader finds a shared library, told from outside: ``ldconfig -p`` and the folders it searches. Loads nothing."""
from __future__ import annotations

import re

from .host import Host, Ran
from .probe import Unknown
from .typed import List, Tuple

FOLDERS = (
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64",
    "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/lib", "/usr/lib", "/usr/local/lib",
)


def cached(host: Host, name: str) -> Tuple[str, ...]:
    """Return where the loader's cache has a library of this name for 64-bit programs, its first choice first.

    Where ldconfig gave no answer there is none; the probe then carries a note that says so.
    """
    ran = host.try_run(["ldconfig", "-p"], 5.0)
    if ran is None:
        ran = host.try_run(["/sbin/ldconfig", "-p"], 5.0)
    if isinstance(ran, Unknown):
        host.notes.append("%s; the usual folders were searched instead" % ran.reason)
    return tuple(parse_cache(ran.stdout, name)) if isinstance(ran, Ran) else ()


def parse_cache(text: str, name: str) -> List[str]:
    """Return the paths that ``ldconfig -p`` gives for a library of this name, without those of 32-bit programs."""
    lines = re.findall(r"^[ \t]*(\S+) \(([^)\n]*)\) => (\S+)[ \t\r]*$", text, re.MULTILINE)
    return [path for found, kind, path in lines if found == name and "64" in kind]


def candidates(host: Host, name: str) -> List[str]:
    """Return every path where a library of this name stands or may stand, the loader's first choice first; links are not followed."""
    usual = tuple("%s/%s" % (folder, name) for folder in FOLDERS)
    ordered = dict.fromkeys(cached(host, name) + usual)
    return [path for path in ordered if host.attempt(host.stat, path) is not None]
