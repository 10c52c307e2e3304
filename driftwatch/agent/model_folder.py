"""What lies in the folder of a served model: its settings, its own code, its weights by size, and which revision of a hub it is. Hashes no weights.

A hub's cache keeps ``models--ORG--NAME/{refs/REVISION, snapshots/COMMIT/FILE -> blobs/DIGEST}``.
"""
from __future__ import annotations

import json

from .host import MIB, Host, Stat, sha256_of
from .probe import Absent, Unreadable
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
    unfinished = [name for name in blobs if name.endswith(".incomplete")] if isinstance(blobs, list) else []
    about = {"revision": commit, "snapshots": snapshots, "unfinished": len(unfinished)}
    if commit not in snapshots:
        raise Unreadable("%s: no snapshot of revision %s among %s" % (path, commit or revision, ", ".join(snapshots) or "none"))
    return dict(_folder(host, is_late, path + "/snapshots/" + commit), **about)


def _folder(host: Host, is_late: Callable[[], bool], top: str) -> Dict[str, Any]:
    """Return settings, code and weights of a folder; links of a hub's snapshot are followed."""
    settings: Dict[str, str] = {}
    code: Dict[str, str] = {}
    weights: Dict[str, Optional[int]] = {}
    found: Dict[str, Any] = {"folder": top, "settings": settings, "code": code, "weights": weights, "cut": ""}
    for count, (path, stat) in enumerate(host.walk(host.real(top), ("__pycache__", ".git", ".cache"), 4)):
        if count >= MOST_FILES or is_late():
            found["cut"] = "more than %d files" % MOST_FILES if count >= MOST_FILES else "no time for all of it"
            break
        size = _size(host, top + "/" + path, stat)
        if _WEIGHTS.search(path):
            weights[path] = size
        elif path.endswith(".py"):
            code[path] = _digest(host, top + "/" + path, size)
        elif _SETTINGS.search(path) and not path.endswith(".index.json"):
            settings[path] = _digest(host, top + "/" + path, size)
    found.update(_config(host, top), **_index(host, top, weights))
    return found


def _size(host: Host, path: str, stat: Any) -> Optional[int]:
    """Return a file's size in bytes, of what a link leads to; None where it leads nowhere or cannot be told."""
    if isinstance(stat, Stat) and stat.kind == "link":
        stat = host.attempt(lambda: host.stat(host.real(path)))
    return stat.size if isinstance(stat, Stat) and stat.kind == "file" else None


def _digest(host: Host, path: str, size: Optional[int]) -> str:
    if size is None:
        return "not there: its link leads nowhere"
    data = host.attempt(host.read_bytes, path, LARGEST) if size <= LARGEST else None
    return "sha256:%s %d" % (sha256_of(data), len(data)) if isinstance(data, bytes) else "not hashed, %d bytes" % size


def _config(host: Host, top: str) -> Dict[str, Any]:
    text = host.try_read(top + "/config.json", CONFIG_BYTES)
    return {"config": parse_config(text)} if isinstance(text, str) else {}


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
    if not isinstance(text, str):
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
        for below, stat in files:
            if below.endswith(".py") and not below.endswith("__init__.py"):
                found["%s/%s" % (name, below)] = _digest(host, "%s/%s/%s" % (path, name, below), _size(host, "%s/%s/%s" % (path, name, below), stat))
    return found
