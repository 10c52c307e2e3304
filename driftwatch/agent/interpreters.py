"""Which Python a process serves with, and where that Python has its packages, told from files and links alone: no interpreter is ever run.

/proc/PID/exe names the base interpreter and loses the virtual environment, so the command line's own first word comes first.
"""
from __future__ import annotations

import re
from urllib.parse import unquote

from .host import Host, Stat
from .processes_seen import Seen
from .typed import Any, Dict, List, Optional, Regex, Tuple

_PYTHON = Regex(r"(?:python|pypy)[0-9.]*\Z")
_VERSION = Regex(r"python(3\.[0-9]+)\Z")
_MAPPED = Regex(r"(/\S*?)/lib/(python3\.[0-9]+)/site-packages/")


def base_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def is_python(path: str) -> bool:
    """Tell whether a program is a Python by its name."""
    return _PYTHON.match(base_name(path)) is not None


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def exists(host: Host, path: str) -> bool:
    """Tell whether a path is known to lead to something; a path that cannot be looked at does not count."""
    return host.attempt(host.exists, path) is True


def _stands(host: Host, path: str) -> bool:
    """Tell whether something stands at a path, be it a link that leads nowhere: a virtual environment outlives its base."""
    return isinstance(host.attempt(host.stat, path), Stat)


def serving_python(host: Host, seen: Seen, environ: Any) -> Optional[str]:
    """Return the absolute path of the interpreter that a process runs, its virtual environment kept; ``environ`` is a dict or anything else."""
    variables: Dict[str, str] = environ if isinstance(environ, dict) else {}
    first = seen.argv[0] if isinstance(seen.argv, tuple) and seen.argv else ""
    if is_python(first):
        found = first if first.startswith("/") else _looked_up(host, seen.pid, first, variables.get("PATH", ""))
        if found:
            return found
    home = variables.get("VIRTUAL_ENV", "")
    if home and _stands(host, home + "/bin/python"):
        return home + "/bin/python"
    program = host.attempt(host.link, "/proc/%d/exe" % seen.pid)
    return program[:-len(" (deleted)")] if isinstance(program, str) and program.endswith(" (deleted)") else program if isinstance(program, str) else None


def _looked_up(host: Host, pid: int, name: str, path: str) -> Optional[str]:
    """Return where a relative interpreter stands: below the process's folder where it has a slash, else on its PATH."""
    if "/" in name:
        folder = host.attempt(host.link, "/proc/%d/cwd" % pid)
        return "%s/%s" % (folder, name[2:] if name.startswith("./") else name) if isinstance(folder, str) else None
    return on_path(host, name, path)


def on_path(host: Host, name: str, path: str) -> Optional[str]:
    """Return the first program of this name in the folders of a PATH, or None; a script in its place (a version manager's shim) is passed over."""
    places = [folder.rstrip("/") + "/" + name for folder in path.split(":") if folder.startswith("/")]
    return next((one for one in places if exists(host, one) and host.attempt(host.head, one, 2) != "#!"), None)


def python_of_libraries(host: Host, maps: Any) -> Optional[str]:
    """Return the interpreter of the virtual environment from which a process mapped libraries, or None."""
    found = _MAPPED.search(maps) if isinstance(maps, str) else None
    if found is None:
        return None
    names = ("python3", "python", found.group(2))
    return next(("%s/bin/%s" % (found.group(1), name) for name in names if _stands(host, "%s/bin/%s" % (found.group(1), name))), None)


def site_packages(host: Host, python: str, home: Optional[str] = None) -> Tuple[str, ...]:
    """Return the folders in which an interpreter finds packages, the first wins. ``home`` is where the user's own are looked for."""
    prefix = _folder(_folder(python))
    settings = host.try_read(prefix + "/pyvenv.cfg", 65536)
    if isinstance(settings, str):
        own = [folder + "/site-packages" for folder in _library_folders(host, prefix, "")]
        base = _pyvenv(settings)
        sees_base = base.get("include-system-site-packages", "").lower() == "true" and bool(base.get("home"))
        beyond = _base_folders(host, base["home"] + "/" + base_name(python), home) if sees_base else []
        return _once(host, [one for one in own if exists(host, one)] + beyond)
    return _once(host, _base_folders(host, python, home))


def _once(host: Host, folders: List[str]) -> Tuple[str, ...]:
    """Return the folders without those that lead to one already named: ``lib64`` is often a link to ``lib``."""
    found: Dict[str, str] = {}
    for folder in folders:
        real = host.attempt(host.real, folder)
        found.setdefault(real if isinstance(real, str) else folder, folder)
    return tuple(found.values())


def _pyvenv(text: str) -> Dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, sign, value in pairs if sign}


def _library_folders(host: Host, prefix: str, version: str) -> List[str]:
    """Return the ``lib/pythonX.Y`` folders below a prefix, of one version or of every one there is."""
    found = []
    for library in (prefix + "/lib", prefix + "/lib64"):
        names = [version] if version else [name for name in host.noted_names(library) if _VERSION.match(name)] if exists(host, library) else []
        found += [library + "/" + name for name in names]
    return found


def _base_folders(host: Host, python: str, home: Optional[str]) -> List[str]:
    """Return the package folders of an interpreter that is no virtual environment, those of Debian's among them."""
    real = host.attempt(host.real, python)
    program = real if isinstance(real, str) else python
    prefix = _folder(_folder(program))
    version = base_name(program) if _VERSION.match(base_name(program)) else ""
    folders = _library_folders(host, prefix, version)
    versions = list(dict.fromkeys(base_name(folder) for folder in folders))
    candidates = ["%s/.local/lib/%s/site-packages" % (home, one) for one in versions] if home else []
    candidates += [folder + "/site-packages" for folder in folders]
    if prefix == "/usr":
        candidates += ["/usr/local/lib/%s/dist-packages" % one for one in versions] + ["/usr/lib/python3/dist-packages"]
    candidates += [folder + "/dist-packages" for folder in folders]
    return [one for one in dict.fromkeys(candidates) if exists(host, one)]


def source_tree(host: Host, folders: Tuple[str, ...], package: str = "sglang") -> Optional[str]:
    """Return the folder of a package's sources: of an editable install, else as it lies in the package folders; None where there is none."""
    for folder in folders:
        for top in _editable_tops(host, folder, package):
            if exists(host, top):
                return top
    return next((folder + "/" + package for folder in folders if exists(host, folder + "/" + package)), None)


def _editable_tops(host: Host, folder: str, package: str) -> List[str]:
    """Return where an editable install of a package in this folder may have its sources: by direct_url.json, finders and .pth files."""
    found: List[str] = []
    for name in host.noted_names(folder):
        if name.lower().startswith(package + "-") and name.endswith(".dist-info"):
            found += ["%s/%s" % (top, package) for top in _from_direct_url(host.try_read("%s/%s/direct_url.json" % (folder, name), 65536))]
        elif name.startswith("__editable__") and package in name.lower() and name.endswith(".py"):
            found += _from_finder(host.try_read(folder + "/" + name), package)
        elif name.endswith(".pth") and (package in name.lower() or name == "easy-install.pth"):
            found += ["%s/%s" % (top, package) for top in _from_pth(host.try_read(folder + "/" + name))]
    return list(dict.fromkeys(found))


def _from_direct_url(text: Any) -> List[str]:
    """Return the folder that direct_url.json names, where it says editable; with and without ``python`` or ``src`` below."""
    found = re.search(r'"url"\s*:\s*"file://([^"]*)"', text) if isinstance(text, str) and re.search(r'"editable"\s*:\s*true', text) else None
    if found is None:
        return []
    top = unquote(found.group(1)).rstrip("/")
    return [top, top + "/python", top + "/src"]


def _from_finder(text: Any, package: str) -> List[str]:
    found = re.search(r"MAPPING[^={]*=\s*\{[^}]*?['\"]%s['\"]\s*:\s*['\"]([^'\"]+)['\"]" % re.escape(package), text) if isinstance(text, str) else None
    return [found.group(1)] if found else []


def _from_pth(text: Any) -> List[str]:
    return [line.strip().rstrip("/") for line in text.splitlines() if line.startswith("/")] if isinstance(text, str) else []
