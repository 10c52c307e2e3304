"""The versions that modules carry in their own files, read as text: finds what an import would find, without a GPU context and without waiting.

| path | what |
|---|---|
| packages/NAME/text_version | the literal in MODULE/version.py, _version.py, _build_meta.py or __init__.py |
| packages/NAME/text_file | the file that it stands in |
| torch/version, torch/cuda, torch/hip | from torch/version.py; torch/version with its local label; cuda and hip are not told where the file says None |

NAME is the distribution whose RECORD names the module's files; where two claim them, both are told the same text, which then cannot agree with both.
Each file is read in a child of its own, so that a folder that hangs costs its own fact only.
"""
from __future__ import annotations

import re

from ..dist_metadata import folders, listed, owners
from ..host import Host
from ..interpreters import source_tree
from ..probe import Fact, NotRecorded, Probe, Unknown, fact_path
from ..typed import Any, Dict, Iterator, List, Optional, Regex, Tuple

FILES = ("version.py", "_version.py", "_build_meta.py", "__init__.py")
TORCH = "torch"
_LITERAL = r"(?:__version__|version)(?:\s*:\s*[\w.\[\]]+)?\s*=\s*(?:\w+\s*=\s*)*[\"']([^\"'\n]{1,200})[\"']"
_PLAIN = Regex("^" + _LITERAL, re.MULTILINE)
_INDENTED = Regex(r"^[ \t]+" + _LITERAL, re.MULTILINE)


def collect(host: Host) -> Iterator[Fact]:
    """Yield what each module of ``settings.packages`` says, as the serving interpreter would find it."""
    if not host.targets:
        raise NotRecorded("no interpreter was found to look at")
    modules = list(dict.fromkeys([*host.settings.packages, TORCH]))
    sites, refused = listed(host, host.targets[0].site_packages)
    if not sites and not refused:
        raise NotRecorded("no site-packages folder was found")
    names = owners(host, [one for site, found in sites for one in folders(site, found)], modules)
    for module in modules:
        yield from _module(host, module, _tops(host, sites, module), (names[module], refused))


def _tops(host: Host, sites: List[Tuple[str, List[str]]], module: str) -> Iterator[str]:
    """Yield where the module may lie: a folder or file in the package folders, then where an editable install or the source tree has it.

    Asked one by one, so that nothing below the package folders is touched before the file that decides.
    """
    yield from ("%s/%s" % (site, name) for site, names in sites for name in (module, module + ".py") if name in names)
    editable = source_tree(host, tuple(site for site, _ in sites), module)
    yield from (one for one in (editable, host.targets[0].source) if one and one.endswith("/" + module))


def _module(host: Host, module: str, tops: Iterator[str], claimed: Tuple[List[str], List[Unknown]]) -> Iterator[Fact]:
    """Yield the version of one module. ``claimed``: the distributions that own it, and the package folders that could not be listed."""
    names, refused = claimed
    first = ""
    for top in tops:
        first = first or top
        texts = _texts(host, top)
        if texts:
            yield from _unknown(module, names, texts) if isinstance(texts, Unknown) else _said(module, names, texts, top)
            return
    if first or refused:
        yield from _unknown(module, names, refused[0] if refused else Unknown("error", "%s: none of %s is there" % (first, ", ".join(FILES))))


def _texts(host: Host, top: str) -> Any:
    """Return (path, text) of the files that may hold the version, up to the first that does; Unknown if one did not answer."""
    texts: List[Tuple[str, str]] = []
    for path in [top] if top.endswith(".py") else [top + "/" + name for name in FILES]:
        data = host.attempt(host.read_apart, path)
        if isinstance(data, Unknown):
            return data
        if data is not None:
            texts.append((path, data.decode("utf-8", "replace")))
            if _PLAIN.search(texts[-1][1]):
                break
    return texts


def _said(module: str, names: List[str], texts: List[Tuple[str, str]], top: str) -> Iterator[Fact]:
    version, file = chosen(texts)
    if version is None:
        yield from _unknown(module, names, Unknown("error", "%s: no version is written in %s" % (top, ", ".join(FILES))))
        return
    for name in names:
        yield fact_path("packages", name, "text_version"), version
        yield fact_path("packages", name, "text_file"), file
    if module == TORCH:
        yield from (("torch/" + key, value) for key, value in parse_torch(dict(texts)[file]).items())


def _unknown(module: str, names: List[str], why: Unknown) -> Iterator[Fact]:
    yield from ((fact_path("packages", name, "text_version"), why) for name in names)
    if module == TORCH:
        yield from (("torch/" + key, why) for key in ("version", "cuda", "hip"))


def chosen(texts: List[Tuple[str, str]]) -> Tuple[Optional[str], str]:
    """Return the version that decides and its file: a plain literal first; one inside a ``try`` only where there is no plain one."""
    for path, text in texts:
        plain = parse_version(text)
        if plain is not None:
            return plain, path
    for path, text in texts:
        indented = _INDENTED.search(text)
        if indented:
            return indented.group(1), path
    return None, ""


def parse_version(text: str) -> Optional[str]:
    """Return the literal that a Python file gives ``__version__`` or ``version`` at its top level, or None."""
    found = _PLAIN.search(text)
    return found.group(1) if found else None


def parse_torch(text: str) -> Dict[str, Any]:
    """Return version, and cuda and hip where they are not None, from the text of torch/version.py."""
    told = {"version": parse_version(text)}
    for key in ("cuda", "hip"):
        found = re.search(r"^%s(?:\s*:[^=\n]*)?\s*=\s*[\"']([^\"'\n]+)[\"']" % key, text, re.MULTILINE)
        told[key] = found.group(1) if found else None
    return {key: value for key, value in told.items() if value is not None}


PROBES = (Probe(
    "versions", collect, deadline_s=5.0, needs_targets=True,
    tells=("packages/*/text_version", "packages/*/text_file", "torch/*"),
    reads="version.py, _version.py, _build_meta.py or __init__.py of the packages that serve, and which RECORD names them"),)
