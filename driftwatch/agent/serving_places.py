"""Which paths serving depends on: models, caches, homes, temporary folders, interpreters, source trees, logs. Enters none of them."""
from __future__ import annotations

from .host import Host
from .probe import Unknown
from .serving import Server
from .surroundings import Around, around, servers_of
from .typed import Dict, List, NamedTuple, Optional, Tuple

MODEL = ("model_path", "model", "tokenizer_path", "speculative_draft_model_path")
FOLDERS = (
    ("HF_HOME", "hf_cache"), ("HF_HUB_CACHE", "hf_cache"), ("HUGGINGFACE_HUB_CACHE", "hf_cache"), ("TRANSFORMERS_CACHE", "hf_cache"), ("TMPDIR", "temporary"),
    ("XDG_CACHE_HOME", "cache"), ("SGLANG_CACHE_DIR", "cache"), ("TRITON_CACHE_DIR", "cache"), ("TORCHINDUCTOR_CACHE_DIR", "cache"),
    ("FLASHINFER_WORKSPACE_BASE", "cache"),
)


class Place(NamedTuple):
    """One absolute path and what it is for: model, hf_cache, temporary, cache, home, folder, venv, source, log or shm."""

    path: str
    what: str


def here(host: Host) -> List[Around]:
    """Return the surroundings of each server whose paths are ours too; those of the user who looks, as a guess, where there is none."""
    return around(host, [one for one in servers_of(host) if _shares_our_mounts(host, one)])


def _shares_our_mounts(host: Host, server: Server) -> bool:
    """Tell whether a server's paths are ours; one in a container has mounts of its own."""
    pid = server.launch.pid if server.launch is not None else "self"
    theirs, ours = (host.attempt(host.link, "/proc/%s/ns/mnt" % one) for one in (pid, "self"))
    return theirs == ours or not (isinstance(theirs, str) and isinstance(ours, str))


def homes(host: Host) -> Tuple[Dict[str, Dict[str, str]], Optional[Unknown]]:
    """Return the homes of those who serve, each with its variables, and why one may be missing or only guessed."""
    found = here(host)
    guess = next((one.guess for one in found if one.guess), "")
    told = {one.home.rstrip("/"): one.variables for one in found if one.home.startswith("/")}
    return told, Unknown("not_recorded", "whose home it would be is not known: %s" % guess) if guess else None


def places(host: Host) -> List[Place]:
    """Return every path that serving depends on, each with one purpose: of running servers, of the targets, and those of every host."""
    found = [place for one in here(host) for place in _around(one)]
    for target in host.targets:
        found += [Place(path, "venv") for path in (target.python, *target.site_packages)]
        found += [Place(target.source, "source")] if target.source else []
    log = host.settings.log or host.hints().get("server_log")
    found += [Place(log, "log")] if isinstance(log, str) else []
    return list(dict.fromkeys([*found, Place("/tmp", "temporary"), Place("/dev/shm", "shm")]))  # noqa: S108  # folders of the host, only looked at


def _around(one: Around) -> List[Place]:
    models = [str(one.given[name]) for name in MODEL if name in one.given]
    found = [Place(path if path[0] == "/" else one.folder + "/" + path, "model") for path in models if path.startswith(("/", "./", "../"))]
    found += [Place(one.variables[name], what) for name, what in FOLDERS if one.variables.get(name, "").startswith("/")]
    if one.home and not any(place.what == "hf_cache" for place in found):
        found.append(Place(one.home + "/.cache/huggingface", "hf_cache"))
    return found + [Place(path, what) for path, what in ((one.home, "home"), (one.folder, "folder")) if path]
