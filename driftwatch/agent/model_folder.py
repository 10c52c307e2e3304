"""What lies in the folder of a served model: its settings, its own code, its weights by size, and which revision of a hub it is. Hashes no weights.

A hub's cache keeps ``models--ORG--NAME/{refs/REVISION, snapshots/COMMIT/FILE -> blobs/DIGEST}``.
"""
from __future__ import annotations

import json

from .host import MIB, Host, Stat, sha256_of
from .probe import Absent, Unknown, Unreadable, refusal
from .typed import Any, Callable, Dict, List, Optional, Regex

MOST_FILES = 4000
LARGEST = 2 * MIB
CONFIG_BYTES = 4 * MIB
INDEX_BYTES = 32 * MIB
KEPT = ("architectures", "model_type", "torch_dtype", "dtype", "transformers_version", "num_hidden_layers", "max_position_embeddings")
_WEIGHTS = Regex(r"\.(?:safetensors|bin|pt|pth|gguf)\Z")
_SETTINGS = Regex(r"(?:\.(?:json|jinja|txt|model|yaml)|tokenizer[\w.]*)\Z")
_COMMIT = Regex(r"/snapshots/([0-9a-f]{40})(?:/|\Z)")


def look(host: Host, is_late: Callable[[], bool], path: str, revision: str) -> Dict[str, Any]:
    """Return what lies at a path, as JSON: a folder, one file of weights, or a hub's cache folder (``models--…``). Raises what refuses the path itself."""
    if path.rpartition("/")[2].startswith("models--"):
        return _of_hub(host, is_late, path, revision)
    stat = host.stat(host.real(path))
    if stat.kind == "file":
        return {"folder": path, "weights": {path.rpartition("/")[2]: stat.size}}
    found = _folder(host, is_late, path)
    commit = _COMMIT.search(path + "/") or _COMMIT.search(host.real(path) + "/")
    return dict(found, revision=commit.group(1)) if commit else found


def _of_hub(host: Host, is_late: Callable[[], bool], path: str, revision: str) -> Dict[str, Any]:
    snapshots = host.list(path + "/snapshots")
    named = host.try_read("%s/refs/%s" % (path, revision), 256)
    commit = named.strip() if isinstance(named, str) else next((one for one in snapshots if one.startswith(revision)), "")
    blobs = host.try_list(path + "/blobs")
    unfinished = blobs if isinstance(blobs, Unknown) else len([name for name in blobs or () if name.endswith(".incomplete")])
    about = {"revision": commit, "snapshots": snapshots, "unfinished": unfinished}
    if commit not in snapshots:
        raise Unreadable("%s: no snapshot of revision %s among %s" % (path, commit or revision, ", ".join(snapshots) or "none"))
    return dict(_folder(host, is_late, path + "/snapshots/" + commit), **about)


def _folder(host: Host, is_late: Callable[[], bool], top: str) -> Dict[str, Any]:
    """Return settings, code and weights of a folder; links of a hub's snapshot are followed."""
    settings: Dict[str, str] = {}
    code: Dict[str, str] = {}
    weights: Dict[str, Optional[int]] = {}
    found: Dict[str, Any] = {"folder": top, "settings": settings, "code": code, "weights": weights, "cut": ""}
    for count, (path, looked) in enumerate(host.walk(host.real(top), ("__pycache__", ".git", ".cache"), 4)):
        if count >= MOST_FILES or is_late():
            found["cut"] = "more than %d files" % MOST_FILES if count >= MOST_FILES else "no time for all of it"
            break
        stat = _followed(host, top + "/" + path, looked)
        if isinstance(stat, Unknown):
            found.update(_cut(stat))
            continue
        size = stat.size if stat and stat.kind == "file" else None
        if _WEIGHTS.search(path):
            weights[path] = size
        elif path.endswith(".py"):
            code[path] = _digest(host, top + "/" + path, size)
        elif _SETTINGS.search(path) and not path.endswith(".index.json"):
            settings[path] = _digest(host, top + "/" + path, size)
    found.update(_config(host, top), **_index(host, top, weights))
    return found


def _followed(host: Host, path: str, stat: Any) -> Any:
    """Return the stat of a file, of what a link leads to; None where it leads nowhere, Unknown where that cannot be told."""
    is_link = isinstance(stat, Stat) and stat.kind == "link"
    return host.attempt(lambda: host.stat(host.real(path))) if is_link else stat


def _cut(why: Unknown) -> Dict[str, str]:
    """Return what says that a folder was not looked at to its end."""
    return {"cut": why.reason, "status": why.status}


def _digest(host: Host, path: str, size: Optional[int]) -> str:
    if size is None:
        return "not there: its link leads nowhere"
    data = host.attempt(host.read_bytes, path, LARGEST) if size <= LARGEST else None
    return "sha256:%s %d" % (sha256_of(data), len(data)) if isinstance(data, bytes) else "not hashed, %d bytes" % size


def _config(host: Host, top: str) -> Dict[str, Any]:
    text = host.try_read(top + "/config.json", CONFIG_BYTES)
    if isinstance(text, Unknown):
        return _cut(text)
    return {"config": parse_config(text)} if text is not None else {}


def parse_config(text: str) -> Dict[str, Any]:
    """Return what config.json says of a model: architectures, type, layers, element type, quantisation; how it is broken where it is no JSON."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        return {"unreadable": "no JSON: %s" % wrong}
    if not isinstance(config, dict):
        return {"unreadable": "no JSON object"}
    inner = config.get("text_config")
    whole = {**(inner if isinstance(inner, dict) else {}), **config}
    found = {key: whole[key] for key in KEPT if key in whole and isinstance(whole[key], (str, int, list))}
    quantised = whole.get("quantization_config")
    method = quantised.get("quant_method") or quantised.get("quant_algo") if isinstance(quantised, dict) else None
    return dict(found, quantization=str(method)) if method else found


def _index(host: Host, top: str, weights: Dict[str, Optional[int]]) -> Dict[str, Any]:
    text = host.try_read(top + "/model.safetensors.index.json", INDEX_BYTES)
    if isinstance(text, Unknown):
        return _cut(text)
    if text is None:
        return {}
    files = parse_index(text)
    return {"index": "sha256:" + sha256_of(text.encode("utf-8", "surrogateescape")), "missing": [one for one in files if weights.get(one) is None][:20]}


def parse_index(text: str) -> List[str]:
    """Return the sorted files of weights that a safetensors index names; none where it is broken."""
    try:
        names = json.loads(text).get("weight_map", {}).values()
    except (ValueError, AttributeError, RecursionError):
        return []
    return sorted({str(name) for name in names})


def modules(host: Host, _is_late: Callable[[], bool], path: str, names: List[str]) -> Dict[str, str]:
    """Return the digests of the code that Transformers copied for a model: the ``.py`` files in the folders of these names below a modules cache."""
    found: Dict[str, str] = {}
    for name in names:
        try:
            files = list(host.walk("%s/%s" % (path, name), depth=5))[:MOST_FILES]
        except Absent:
            continue
        for below, looked in files:
            where = "%s/%s/%s" % (path, name, below)
            stat = _followed(host, where, looked)
            if isinstance(stat, Unknown):
                raise refusal(stat)
            if below.endswith(".py") and not below.endswith("__init__.py"):
                found["%s/%s" % (name, below)] = _digest(host, where, stat.size if stat and stat.kind == "file" else None)
    return found
