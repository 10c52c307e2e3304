"""Caches of compiled kernels, which change how a server behaves while no package and no source changes, and SGLang's choice of MoE configuration.

NAME is triton, inductor, flashinfer, flashinfer_cubin, sglang, sglang_jit, deep_gemm, tilelang, tvm_ffi, torch_extensions, vllm, cute_dsl, cuda; with
``@SERVER`` behind it where a second server has another one. A cache that is not there tells nothing.

| path | what |
|---|---|
| caches/NAME/path | where it lies, by the server's variables and home |
| caches/NAME/because (volatile) | the variable that names it, the default, or why the place is a guess |
| caches/NAME/{files, bytes} (volatile) | how many regular files, their size in bytes; "at least N" where not all was looked at |
| caches/NAME/oldest | mtime of the oldest file, ISO in UTC; not told where the host has no file times |
| caches/NAME/newest (volatile) | the same of the newest |
| caches/NAME/empty_files | names of files of zero bytes, lock files and the like left out, the first 20 |
| caches/NAME/damaged_files | names of .json files that end in the middle and objects that begin with NUL bytes, and which of both, the first 20 |
| caches/NAME/lock_files | files called ``lock``, which whoever builds there makes and removes again, the first 20 |
| caches/NAME/mixed_ages | {folder: hours between its oldest and newest object}, where one folder is one build and they are over 6 hours apart |
| caches/NAME/versions | version keys in folder names, such as ``0.6.3/120a`` |
| caches/NAME/owners | the user ids whose its files and folders are; not told where the host has none |
| caches/NAME/unread | folders that could not be listed, and why |
| moe_config/{used, missing} | tuned configurations that the last run read, and those that it looked for and did not find; the path below ``configs/`` |
| moe_config/fallback_triton, is_default | the Triton version whose configuration stood in; true where none was found |

Where no server runs, or its environment cannot be read, the place is a guess: ``caches`` is then unknown beyond what is found there; so it is where the
server's home cannot be looked at.
"""
from __future__ import annotations

from ..cache_places import ONE_BUILD_A_FOLDER, Place, places
from ..cache_walk import look
from ..host import Host
from ..moments import iso
from ..probe import Fact, Probe, Unknown, fact_path
from ..server_log import last_run, parse_log
from ..surroundings import Around, around, log_of, servers_of
from ..typed import Any, Dict, Generator, Iterator, List, Regex, Set, Tuple

TOTAL_S = 7.5
MOST_S = 3.0
ALONE_S = 0.6
_CONFIG = r"(?:\S*/configs/)?(\S+?\.json)"
_USED = Regex(r"(?:[Uu]s(?:ing|e) MoE kernel config from|Using configuration from) " + _CONFIG)
_MISSING = Regex(r"Config file not found at (?:\[')?" + _CONFIG)
_FALLBACK = Regex(r"Fallback to triton version (\d[\w.]*?)[.,]? ")
_NAMED = (("empty", "empty_files"), ("damaged", "damaged_files"), ("locks", "lock_files"), ("mixed", "mixed_ages"), ("versions", "versions"),
          ("owners", "owners"))
_DEFAULT = Regex(r"Using default MoE (?:kernel )?config")


def collect(host: Host) -> Iterator[Fact]:
    """Yield what lies in each cache, place by place, then what the log says of MoE configurations."""
    servers = servers_of(host)
    yield from _moe(*log_of(host, servers))
    left = TOTAL_S
    told: Dict[str, Tuple[str, ...]] = {}
    for one in around(host, servers):
        if one.elsewhere:
            yield "caches", Unknown("not_recorded", one.elsewhere)
        elif one.name.partition("@")[0] in ("", "sglang", "vllm", "torchrun", "process"):
            wanted = [place for place in places(one.variables, one.home, one.user) if told.get(place.name) != place.paths]
            left = yield from _around(host, one, (wanted, left), {place.name for place in wanted} & set(told))
            told.update((place.name, place.paths) for place in wanted if place.name not in told)


def _around(host: Host, one: Around, work: Tuple[List[Place], float], taken: Set[str]) -> Generator[Fact, None, float]:
    """Yield the caches of one server; return the seconds that are left."""
    wanted, left = work
    others = [path for place in wanted for path in place.paths]
    if one.guess:
        yield "caches", Unknown("not_recorded", "%s: which caches it uses is a guess: those below %s" % (one.guess, one.home or "what its variables name"))
    for base in dict.fromkeys(place.base for place in wanted):
        answers, left = _ask(host, base, [place for place in wanted if place.base == base], (others, left))
        refused = [answer for place, answer in answers if isinstance(answer, Unknown) and not place.variable]
        if refused and not one.guess:
            yield "caches", refused[0]
        for place, answer in answers:
            top = fact_path("caches", place.name + "@" + one.name if place.name in taken else place.name)
            if isinstance(answer, dict):
                yield from _told(top, answer, place.variable or one.guess or "the default of its library")
            elif isinstance(answer, Unknown) and place.variable:
                yield top, answer
    return left


def _ask(host: Host, base: str, group: List[Place], work: Tuple[List[str], float]) -> Tuple[List[Tuple[Place, Any]], float]:
    """Return what was counted in caches that share a folder, and the seconds that are left. Where they do not answer together, each is asked alone."""
    others, left = work
    limit = min(left, MOST_S)
    if limit < ALONE_S:
        return [(place, Unknown("timeout", "%s: not asked: other caches took the time" % base)) for place in group], left
    answer = host.attempt(host.apart, look, limit, base, [(place.name, list(place.paths), place.name in ONE_BUILD_A_FOLDER) for place in group], others)
    if not isinstance(answer, Unknown):
        told, took_s = answer
        return [(place, Unknown(*told[place.name]) if isinstance(told[place.name], list) else told[place.name]) for place in group], left - took_s
    left -= limit
    if len(group) == 1:
        return [(group[0], answer)], left
    alone: List[Tuple[Place, Any]] = []
    for place in group:
        alone += _ask(host, place.paths[0], [place], (others, min(left, ALONE_S)))[0]
        left -= ALONE_S
    return alone, left


def _told(top: str, answer: Dict[str, Any], because: str) -> Iterator[Fact]:
    """Yield the facts of one cache; what a walk that ended early did not find is unknown."""
    yield top + "/path", answer["path"]
    yield top + "/because", because
    partly = answer["cut"] or (answer["unread"] and "folders that could not be listed: " + answer["unread"][0])
    for key in ("files", "bytes"):
        yield top + "/" + key, "at least %d" % answer[key] if partly else answer[key]
    unknown = Unknown("error", "%s: not all was looked at: %s" % (answer["path"], partly))
    for key in ("oldest", "newest"):
        if answer[key] is not None:
            yield top + "/" + key, unknown if partly else iso(answer[key] // 10**9)
    for key, name in _NAMED:
        if answer[key] or partly:
            yield top + "/" + name, answer[key] or unknown
    if answer["unread"]:
        yield top + "/unread", answer["unread"][:20]


def _moe(path: str, text: Any) -> Iterator[Fact]:
    """Yield which tuned configurations the last run took; unknown where no log was read, or the run ended before it could say."""
    if not isinstance(text, str):
        yield "moe_config", text or Unknown("not_recorded", "no server log was named: --log FILE" if not path else "%s: no such file" % path)
        return
    facts = parse_moe(last_run(text))
    if not facts and not parse_log(text).figures.get("ready"):
        yield "moe_config", Unknown("not_recorded", "%s: the last run ended before it chose one, or what it said was not read" % path)
    for key, value in facts.items():
        yield "moe_config/" + key, value


def parse_moe(text: str) -> Dict[str, Any]:
    """Return which MoE configurations a run of SGLang or vLLM used, missed and fell back to; empty where its log names none."""
    lines = "\n".join(line for line in text.splitlines() if "onfig" in line and ("MoE" in line or "onfiguration from" in line or "not found at" in line))
    facts: Dict[str, Any] = {
        "used": sorted(set(_USED.findall(lines))), "missing": sorted(set(_MISSING.findall(lines))), "fallback_triton": sorted(set(_FALLBACK.findall(lines))),
        "is_default": _DEFAULT.search(lines) is not None,
    }
    return {key: value for key, value in facts.items() if value}


PROBES = (Probe(
    "caches", collect, deadline_s=10.0, tells=("caches", "caches/*", "moe_config", "moe_config/*"), cap_bytes=256 << 10,
    volatile=("caches/*/files", "caches/*/bytes", "caches/*/newest", "caches/*/because"),
    reads="names, sizes and ages in the caches of compiled kernels (triton, inductor, flashinfer, deep_gemm …); the server's log, for its MoE configurations",
    root_shows="the caches of servers of other users"),)
