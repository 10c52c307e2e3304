"""The models that are served, as they lie on disk: revision, settings, code of their own, and weights by size. Reads no weights, asks no hub.

NAME is the last part of the model's path, or the hub's ORG/NAME. What is served is told by the arguments of running servers, else by the log's.

| path | what |
|---|---|
| models/NAME/served_as | what it is to the server: list of model, tokenizer, draft, adapter (LoRA) |
| models/NAME/{path, folder} | as the arguments name it; where it lies |
| models/NAME/filesystem | type and source of the mount that it lies on, as in ``nfs4 nas:/export`` |
| models/NAME/{revision, snapshots} | commit of the hub that is served, and all that are there |
| models/NAME/unfinished_downloads | blobs that end in .incomplete |
| models/NAME/config/KEY | architectures, model_type, dtype, quantization … of config.json; ``unreadable`` says how it is broken |
| models/NAME/settings/FILE, remote_code/FILE | ``sha256:HEX SIZE`` of small files; the second of its own ``.py`` files |
| models/NAME/remote_code_digest | digest over all of them; unknown where one could not be read |
| models/NAME/copied_code/FILE | the same of the copies that Transformers made, which are what runs |
| models/NAME/weights_index | digest of model.safetensors.index.json |
| models/NAME/weights/FILE | bytes of a file of weights; null where its link leads nowhere |
| models/NAME/{weights_bytes, weights_files} | of all of them |
| models/NAME/weights_missing | files that the index names and that are not there, the first 20 |
"""
from __future__ import annotations

import json

from ..host import Host, sha256_of
from ..model_folder import look, modules
from ..probe import Fact, Probe, Unknown, fact_path
from ..server_log import Run, parse_log
from ..surroundings import NO_SERVER, Around, around, log_of, servers_of
from ..typed import Any, Dict, Generator, Iterator, List, NamedTuple, Tuple

ROLES = (("model_path", "model"), ("model", "model"), ("tokenizer_path", "tokenizer"), ("tokenizer", "tokenizer"), ("speculative_draft_model_path", "draft"))
ADAPTERS = ("lora_paths", "lora_modules")
MOST_MODELS = 4
LOOK_S = 2.5
MODULES_S = 1.0


class Served(NamedTuple):
    """One model of a server: its name in paths, as it was given, which revision, and what it is to the server."""

    name: str
    given: str
    revision: str
    roles: List[str]


def collect(host: Host) -> Iterator[Fact]:
    """Yield what is known of each model that a server has, or had in its log."""
    servers = servers_of(host)
    path, text = log_of(host, servers)
    run = host.attempt(parse_log, text) if isinstance(text, str) else None
    logged: Dict[str, Any] = (run.args or {}) if isinstance(run, Run) else {}
    told: List[str] = []
    silent = 0
    for one in around(host, servers):
        for model in served({**logged, **one.given} if not told else one.given):
            if model.name not in told and len(told) < MOST_MODELS:
                told.append(model.name)
                silent += yield from _model(host, one, model, silent)
    if not told:
        why = "no server was seen whose arguments name a model" if servers else NO_SERVER
        yield "models", Unknown("not_recorded", "%s, and %s" % (why, "%s tells none" % path if path else "no log was named: --log FILE"))


def served(arguments: Dict[str, Any]) -> List[Served]:
    """Return the models that a server's arguments name; one that has several roles once."""
    found: Dict[str, Served] = {}
    named = [(arguments.get(key), role) for key, role in ROLES]
    named += [(path, "adapter") for key in ADAPTERS for path in adapters(arguments.get(key))]
    for given, role in named:
        if isinstance(given, str) and given.strip("/"):
            name = given.rstrip("/").rpartition("/")[2] if given.startswith(("/", ".")) else given
            model = found.setdefault(given, Served(name, given.rstrip("/"), _revision(arguments, role), []))
            model.roles.extend([role] if role not in model.roles else [])
    return list(found.values())


def adapters(given: Any) -> List[str]:
    """Return the paths of LoRA adapters that an argument names, each as ``NAME=PATH`` or alone; those that are told as JSON are left out."""
    words = given if isinstance(given, list) else [given]
    return [word.partition("=")[2] or word for word in words if isinstance(word, str) and word[:1] != "{"]


def _revision(arguments: Dict[str, Any], role: str) -> str:
    if role == "adapter":
        return "main"
    given = arguments.get("speculative_draft_model_revision" if role == "draft" else "revision")
    return given if isinstance(given, str) and given else "main"


def _model(host: Host, one: Around, model: Served, silent: int) -> Generator[Fact, None, int]:
    """Yield the facts of one model; return 1 where its folder did not answer in time."""
    top = fact_path("models", model.name)
    yield top + "/served_as", model.roles
    yield top + "/path", host.mask.text(model.given)
    if one.elsewhere:
        yield top, Unknown("not_recorded", one.elsewhere)
        return 0
    for path in places(one, model.given):
        if silent:
            yield top, Unknown("timeout", "%s: not asked: another model's folder did not answer" % path)
            return 0
        yield from _filesystem(host, top, path)
        answer = host.attempt(host.apart, look, LOOK_S, path, model.revision)
        if isinstance(answer, Unknown):
            yield top, answer
            return int(answer.status == "timeout")
        if answer is not None:
            yield from _told(top, answer[0])
            yield from _copies(host, one, model, answer[0].get("code"))
            return 0
    if one.guess and not model.given.startswith("/"):
        yield top, Unknown("not_recorded", "%s: in which folder %s lies is not known" % (one.guess, model.given))
    return 0


def places(one: Around, given: str) -> List[str]:
    """Return where a model may lie, the first that is there counts: its path, else below the server's folder, else the hub's cache."""
    if given.startswith("/"):
        return [given]
    local = ["%s/%s" % (one.folder, given[2:] if given.startswith("./") else given)] if one.folder else []
    hub = _first_set(one, one.given.get("download_dir"), (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", "")), "/hub")
    return local + ([hub + "/models--" + given.replace("/", "--")] if hub and not given.startswith(".") else [])


def _first_set(one: Around, named: Any, variables: Tuple[Tuple[str, str], ...], below: str) -> str:
    """Return a folder of Hugging Face's: the one that an argument or a variable names, else the default one; "" where there is no home."""
    usual = (*variables, ("HF_HOME", below), ("XDG_CACHE_HOME", "/huggingface" + below))
    found = [one.variables[name].rstrip("/") + rest for name, rest in usual if one.variables.get(name)]
    home = [one.home.rstrip("/") + "/.cache/huggingface" + below] if one.home else []
    return str(([named] if isinstance(named, str) and named else found + home or [""])[0])


def _filesystem(host: Host, top: str, path: str) -> Iterator[Fact]:
    text = host.try_read("/proc/mounts")
    found = parse_mount(text, path) if isinstance(text, str) else text
    if found:
        yield top + "/filesystem", found


def parse_mount(text: str, path: str) -> str:
    """Return type and source of the mount below which a path lies, by the text of /proc/mounts; "" where none is listed."""
    mounts = [words for words in map(str.split, text.splitlines()) if len(words) > 3]
    fitting = [one for one in mounts if (path + "/").startswith(one[1].replace("\\040", " ").rstrip("/") + "/")]
    best = max(fitting, key=lambda one: len(one[1]), default=None)
    return "%s %s" % (best[2], best[0]) if best else ""


def _told(top: str, found: Dict[str, Any]) -> Iterator[Fact]:
    """Yield the facts of a folder; of one that was not looked at to its end, what was not found is unknown."""
    cut = Unknown(found.get("status", "timeout"), "%s: not all was looked at: %s" % (found["folder"], found.get("cut")))
    yield top + "/folder", found["folder"]
    for name, key in (("revision", "revision"), ("snapshots", "snapshots"), ("unfinished_downloads", "unfinished"), ("weights_index", "index")):
        if found.get(key):
            yield "%s/%s" % (top, name), Unknown(*found[key]) if key == "unfinished" and not isinstance(found[key], int) else found[key]
    for name, key in (("config", "config"), ("settings", "settings"), ("remote_code", "code"), ("weights", "weights")):
        if found.get("cut"):
            yield "%s/%s" % (top, name), cut
        for below, value in sorted(found.get(key, {}).items()):
            yield "%s/%s" % (top, fact_path(name, below)), value
    sizes = [size for size in found["weights"].values() if size is not None]
    yield top + "/weights_files", cut if found.get("cut") else len(sizes)
    yield top + "/weights_bytes", cut if found.get("cut") else sum(sizes)
    if found.get("missing") or found.get("cut"):
        yield top + "/weights_missing", cut if found.get("cut") else found["missing"]
    if found.get("code") or found.get("cut"):
        yield top + "/remote_code_digest", cut if found.get("cut") else digest_of(found["code"])


def digest_of(code: Dict[str, str]) -> Any:
    """Return one digest over all files of code; Unknown where one has none."""
    unread = [name for name, value in code.items() if not value.startswith("sha256:")]
    if unread:
        return Unknown("error", "%s: %s" % (unread[0], code[unread[0]]))
    return "sha256:" + sha256_of(json.dumps(code, sort_keys=True).encode("ascii"))


def _copies(host: Host, one: Around, model: Served, code: Any) -> Iterator[Fact]:
    """Yield the digests of the copies of a model's code that Transformers made, where it has code."""
    folder = _first_set(one, one.variables.get("HF_MODULES_CACHE"), (), "/modules")
    if not code or not folder:
        return
    top = fact_path("models", model.name, "copied_code")
    plain = "/".join(part.replace(".", "_dot_").replace("-", "_hyphen_") for part in model.name.split("/"))
    answer = host.attempt(host.apart, modules, MODULES_S, folder + "/transformers_modules", list(dict.fromkeys((model.name, plain))))
    if isinstance(answer, Unknown):
        yield top, answer
        return
    for below, value in sorted(answer[0].items()):
        yield top + "/" + fact_path(below), value


PROBES = (Probe(
    "models", collect, deadline_s=10.0, tells=("models", "models/*"), cap_bytes=1 << 20,
    reads="the folder or the hub's cache folder of each served model: revision, config.json, own code, index and sizes of the weights; no weights",
    root_shows="the models of servers of other users"),)
