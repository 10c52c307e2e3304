"""What a running SGLang server says of itself over HTTP, on this host's loopback address only. Off by default: it is the one question a server has to work for.

Asks ``/server_info``, and ``/get_server_info`` where a release does not know that. From 0.4.9 on the answer comes from the scheduler, so that a stuck
one gives none: that is told as a timeout. The first call makes 0.5.9 drop a cached copy of its model's configuration; nothing else is changed by it.

| path | what |
|---|---|
| servers/SERVER/info/answers | true; false where it took the question and its scheduler gave no answer in time |
| servers/SERVER/info/version | of the running code: what is installed may be newer |
| servers/SERVER/info/args/ARG | resolved arguments, as ``servers/SERVER/args`` tells them from the log; keys are masked |
| servers/SERVER/info/scheduler/NAME | max_total_num_tokens, max_req_input_len and the like |
| servers/SERVER/info/memory_usage/DPn/NAME | of each data-parallel rank: weight_gib, kvcache_gib, graph_gib …, token_capacity in tokens |

Where a server cannot be asked (an API key is set, another network namespace, TLS, no port known), ``info`` as a whole is unknown and says why.
"""
from __future__ import annotations

import json

from ..host import Answer, Host
from ..launch_args import PORTS
from ..probe import Absent, Fact, Probe, Unknown, Unreadable, fact_path, refusal
from ..process_facts import cut
from ..processes_seen import Seen, limited_view, survey
from ..server_args import as_json
from ..serving import Server, servers_among
from ..typed import Any, Dict, Iterator, List, Optional, Tuple

PAGES = ("/server_info", "/get_server_info")
DEADLINE_S = 3.0
NO_SUCH_PAGE, NEEDS_KEY = (404, 405), (401, 403)
SCHEDULER = ("max_total_num_tokens", "max_req_input_len", "max_running_requests_per_dp", "effective_max_running_requests_per_dp")
NO_ARGUMENTS = frozenset((*SCHEDULER, "internal_states", "version", "status", "launch_command", "startup_time", "frontend", "kv_events", "scheduler_info"))


def collect(host: Host) -> Iterator[Fact]:
    """Yield what each running SGLang server answers."""
    seen = host.attempt(_processes, host)
    if isinstance(seen, Unknown):
        raise refusal(seen)
    running = [one for one in servers_among(seen or []) if one.framework == "sglang" and one.launch is not None]
    ports = [_port(one) for one in running]
    for one, port in zip(running, ports):
        top = fact_path("servers", one.name, "info")
        why = _why_not(host, one, port, ports)
        for path, value in [("", why)] if why else _asked(host, port):
            yield top + path, value
    if not running:
        hidden = limited_view(host)
        raise refusal(hidden) if hidden else Absent("no SGLang server runs")


def _processes(host: Host) -> List[Seen]:
    return list(survey(host))


def _port(server: Server) -> int:
    """Return the port of a server's HTTP, 0 where it is not known."""
    text = str(server.given.get("port", PORTS["sglang"])) if server.given is not None else ""
    return int(text) if text.isdigit() and 0 < int(text) < 1 << 16 else 0


def _why_not(host: Host, server: Server, port: int, ports: List[int]) -> Optional[Unknown]:
    """Return why a server cannot be asked, or None. ``ports``: of all servers; two of one number answer in different namespaces."""
    if not port:
        return Unknown("not_recorded", "its port is not known: its command line does not tell it")
    if any(name.startswith("ssl_") for name in server.given or ()):
        return Unknown("not_recorded", "port %d: it serves over TLS, which is not asked" % port)
    pid = server.launch.pid if server.launch is not None else 0
    its, ours = host.attempt(host.link, "/proc/%d/ns/net" % pid), host.attempt(host.link, "/proc/self/ns/net")
    is_elsewhere = isinstance(its, str) and isinstance(ours, str) and its != ours
    if is_elsewhere or (not isinstance(its, str) and ports.count(port) > 1):
        return Unknown("not_recorded", "port %d: its network namespace is another one: ask from inside its container" % port)
    return None


def _asked(host: Host, port: int) -> Iterator[Tuple[str, Any]]:
    """Yield the facts of one server, paths below its ``info``."""
    answer = _answer(host, port)
    told = host.attempt(parse_info, answer.body) if isinstance(answer, Answer) else answer
    if not isinstance(told, dict):
        if isinstance(told, Unknown) and told.status == "timeout":
            yield "/answers", False
            told = Unknown("timeout", "%s: the scheduler does not answer" % told.reason)
        yield "", told or Unknown("not_recorded", "port %d: nothing listens there on this host's loopback address: it still loads, or listens elsewhere" % port)
        return
    yield "/answers", True
    for path, value in facts_of(told):
        name = path.rpartition("/")[2]
        yield path, cut(host.mask.argument(name, value))


def _answer(host: Host, port: int) -> Any:
    """Return the first page that there is, None where nothing listens, Unknown where no answer came."""
    answer: Any = None
    for page in PAGES:
        answer = host.attempt(host.ask_loopback, port, page, DEADLINE_S)
        if not isinstance(answer, Answer) or answer.status not in NO_SUCH_PAGE:
            break
    if not isinstance(answer, Answer) or answer.status == 200:
        return answer
    if answer.status in NEEDS_KEY:
        return Unknown("denied", "port %d: it answers only who has its API key (HTTP %d)" % (port, answer.status))
    return Unknown("error", "port %d: HTTP %d: %s" % (port, answer.status, " ".join(answer.body.split())[:120]))


def parse_info(text: str) -> Dict[str, Any]:
    """Return the object that a server tells of itself; Unreadable where the text is none."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as broken:
        raise Unreadable("server_info: no JSON: %s" % broken) from None
    if not isinstance(told, dict):
        raise Unreadable("server_info: no object: %r" % text[:60])
    return told


def facts_of(told: Dict[str, Any]) -> Iterator[Tuple[str, Any]]:
    """Yield what an answer holds, paths below ``info``. Arguments stand at its top, beside what the scheduler adds."""
    if isinstance(told.get("version"), str):
        yield "/version", told["version"]
    inner = told.get("scheduler_info")
    scheduler = dict(told, **inner) if isinstance(inner, dict) else told
    yield from (("/scheduler/" + name, as_json(scheduler[name])) for name in SCHEDULER if scheduler.get(name) is not None)
    for name, value in sorted(told.items()):
        if name not in NO_ARGUMENTS:
            yield "/args/" + fact_path(name), as_json(value)
    states = told.get("internal_states")
    for rank, state in enumerate(states if isinstance(states, list) else []):
        used = state.get("memory_usage") if isinstance(state, dict) else None
        for name, value in _numbers(used, "/memory_usage/DP%d" % rank):
            yield name if "/token_capacity" in name else name + "_gib", value


def _numbers(told: Any, top: str) -> Iterator[Tuple[str, Any]]:
    """Yield the numbers in an object, those of objects inside it below their name."""
    for name, value in sorted(told.items()) if isinstance(told, dict) else ():
        path = top + "/" + fact_path(name)
        if isinstance(value, dict):
            yield from _numbers(value, path)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15:
            yield path, round(value, 3)


PROBES = (Probe(
    "ask-server", collect, deadline_s=10.0, group="ask-server", tells=("servers/*/info", "servers/*/info/*"),
    volatile=("servers/*/info/args/random_seed", "servers/*/info/args/nccl_port"),
    reads="GET /server_info of each running SGLang server on this host's loopback address, each with 3 s of its own",
    root_shows="the command lines of other users' servers where /proc hides them"),)
