"""Which process is a model server's launch process, and what its command line says: arguments by the framework's own field names.

Pure text. Knows the command lines of SGLang, vLLM, torchrun and Ollama; runs nothing and resolves no default.
"""
from __future__ import annotations

import re

from .typed import Any, Dict, List, NamedTuple, Optional, Regex, Sequence, Tuple

FRAMEWORKS = ("sglang", "vllm")
PORTS = {"sglang": "30000", "vllm": "8000", "ollama": "11434"}
_MODULES = (
    ("sglang", Regex(r"sglang(?:\.launch_server|\.srt\.server|\.srt\.entrypoints\.\w+|\.cli(?:\.\w+)?)?\Z")),
    ("vllm", Regex(r"vllm(?:\.entrypoints(?:\.\w+)+|\.scripts)?\Z")),
    ("torchrun", Regex(r"torch\.distributed\.(?:run|launch)\Z")),
)
_SCRIPTS = {"sglang": "sglang", "vllm": "vllm", "torchrun": "torchrun", "ollama": "ollama"}
_FILES = Regex(r"/(sglang|vllm)/(?:.*/)?(?:launch_server|api_server)\.py\Z")
_NEEDS_SERVE = ("sglang", "vllm", "ollama")
_PYTHON = Regex(r"(?:.*/)?(?:python|pypy)[0-9.]*\Z")
_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")
_TORCHRUN_FLAGS = ("--standalone", "--no-python", "--no_python", "--run-path", "--run_path", "-m", "--module")
_TITLE = Regex(r"(sglang|vllm|VLLM|ray)::(.*)\Z", re.DOTALL)
_RETITLED = Regex(r"sglang::http_server")
_CUT = {"sglang::schedul": "scheduler", "sglang::detoken": "detokenizer", "VLLM::EngineCor": "EngineCore", "VLLM::Worker_TP": "Worker_TP"}
_SGLANG = """
    model=model_path tp=tp_size tensor_parallel_size=tp_size pp=pp_size pipeline_parallel_size=pp_size dp=dp_size data_parallel_size=dp_size ep=ep_size
    expert_parallel_size=ep_size attention_context_parallel_size=attn_cp_size attention_data_parallel_size=attn_dp_size moe_data_parallel_size=moe_dp_size
    decode_context_parallel_size=dcp_size nccl_init_addr=dist_init_addr fp8_gemm_backend=fp8_gemm_runner_backend fp4_gemm_backend=fp4_gemm_runner_backend
    speculative_draft_model=speculative_draft_model_path speculative_algo=speculative_algorithm enable_hicache=enable_hierarchical_cache
"""
_VLLM = """
    tp=tensor_parallel_size pp=pipeline_parallel_size dp=data_parallel_size dcp=decode_context_parallel_size q=quantization O=compilation_config
    cc=compilation_config
"""
_MANY = Regex(r"served_model_name|allowed_|lora_|\w+_(?:adapters|processors|patterns)|middleware")  # take values with a slash
_SWITCH = Regex("enable_|disable_|no_|trust_|enforce_")
_PATH = Regex(r"[\w.~-]*/[\w./~@:+-]+\Z")
_ALIASES = {framework: dict(one.split("=") for one in text.split()) for framework, text in (("sglang", _SGLANG), ("vllm", _VLLM))}


class Launch(NamedTuple):
    """A launch process: its framework and the arguments behind the entry point; None where a title overwrote the command line."""

    framework: str
    arguments: Optional[Tuple[str, ...]]


def recognise(argv: Sequence[str]) -> Optional[Launch]:
    """Return the launch that a command line is, or None if it is none."""
    if not argv or not argv[0]:
        return None
    if _RETITLED.match(argv[0]):
        return Launch("sglang", None)
    entry, rest = _entry(argv)
    for framework, module in _MODULES:
        if entry.startswith("-m ") and module.match(entry[3:]):
            is_short = entry[3:] == framework or entry.endswith((".cli", ".main", ".scripts"))
            return _served(framework, rest) if is_short and framework in _NEEDS_SERVE else Launch(framework, rest)
    name = entry.rpartition("/")[2]
    if name in _SCRIPTS:
        return _served(_SCRIPTS[name], rest) if name in _NEEDS_SERVE else Launch(_SCRIPTS[name], rest)
    file = _FILES.search(entry)
    return Launch(file.group(1), rest) if file else None


def _served(framework: str, rest: Tuple[str, ...]) -> Optional[Launch]:
    return Launch(framework, rest[1:]) if rest[:1] == ("serve",) else None


def _entry(argv: Sequence[str]) -> Tuple[str, Tuple[str, ...]]:
    """Return what a command line starts (``-m MODULE``, ``-c``, a script or a program) and the arguments behind it."""
    if not _PYTHON.match(argv[0]):
        return argv[0], tuple(argv[1:])
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] == "-m" and at + 1 < len(argv):
            return "-m " + argv[at + 1], tuple(argv[at + 2:])
        if argv[at].startswith("-c"):
            return "-c", tuple(argv[at + 1:])
        at += 2 if argv[at] in _WITH_VALUE else 1
    return (argv[at], tuple(argv[at + 1:])) if at < len(argv) else ("", ())


def any_given(argv: Sequence[str]) -> Dict[str, Any]:
    """Return the arguments of a program that is no known server, and what it runs as ``script``."""
    entry, rest = _entry(argv) if argv else ("", ())
    return dict(parse_given("", rest), script=entry)


def parse_given(framework: str, arguments: Sequence[str]) -> Dict[str, Any]:
    """Return the arguments by field name: a text, True for a flag, False for a ``--no-`` flag of vLLM, a list where several values were given."""
    given: Dict[str, Any] = {}
    loose: List[str] = []
    at = 0
    while at < len(arguments):
        one = arguments[at]
        at += 1
        if not _is_option(one):
            loose.append(one)
            if framework == "torchrun":  # what follows is for the script
                return dict(given, script=one, script_arguments=list(arguments[at:]))
            continue
        name, sign, value = _split(one)
        values = [value] if sign else []
        most = len(arguments) if framework != "torchrun" else 0 if name in _TORCHRUN_FLAGS else 1
        while not sign and at < len(arguments) and not _is_option(arguments[at]) and len(values) < most:
            values.append(arguments[at])
            at += 1
        _add(given, _field(framework, name), values)
    return _with_loose(framework, given, loose)


def _is_option(text: str) -> bool:
    return len(text) > 1 and text[0] == "-" and not (text[1].isdigit() or text[1] in ". ") and text != "--"


def _split(option: str) -> Tuple[str, str, str]:
    """Return name, sign and value of an option; ``-O3`` and ``-O.x=y`` are the short forms of vLLM."""
    short = re.match(r"-O([0-9])\Z", option)
    if short:
        return "-O", "=", short.group(1)
    return option.partition("=")


def _field(framework: str, option: str) -> str:
    head, dot, rest = option.lstrip("-").partition(".")
    head = head.replace("-", "_")
    return _ALIASES.get(framework, {}).get(head, head) + dot + rest


def _add(given: Dict[str, Any], name: str, values: List[str]) -> None:
    """Add what one option gave; an option given again adds its values, so that both can be seen."""
    if not values:
        given.setdefault(name, True)
        return
    before = given.get(name, [])
    together = (before if isinstance(before, list) else [before] if isinstance(before, str) else []) + values
    given[name] = together[0] if len(together) == 1 else together


def _with_loose(framework: str, given: Dict[str, Any], loose: List[str]) -> Dict[str, Any]:
    """Return the arguments with those that have no name: the model of ``serve MODEL``, else ``positional``."""
    model = {"vllm": "model", "sglang": "model_path"}.get(framework)
    if model and model not in given and not loose:
        loose = _swallowed(given)
    if loose and model and model not in given:
        given[model] = loose.pop(0)
    if loose:
        given["positional"] = loose
    if framework == "vllm":
        for name in [one for one in given if one.startswith("no_") and given[one] is True]:
            given[name[3:]] = not given.pop(name)
    return given


def _swallowed(given: Dict[str, Any]) -> List[str]:
    """Return the model that stands behind a switch or behind the one value of an option, taken out of it; empty where no word looks like one.

    A command line alone does not tell how many values an option takes; a word with a slash behind one that has none is no second value.
    """
    for name, value in given.items():
        words = value if isinstance(value, list) else [value]
        is_free = "/" not in words[0] if len(words) == 2 else len(words) == 1 and _SWITCH.match(name)  # an option and its one value
        if is_free and isinstance(words[-1], str) and _PATH.match(words[-1]) and not _MANY.match(name):
            given[name] = words[0] if words[1:] else True
            return words[-1:]
    return []


def title_of(text: str) -> Optional[Tuple[str, str]]:
    """Return framework and role of a process title: ``sglang::scheduler_TP0`` is (sglang, scheduler_TP0). None for any other text."""
    found = _TITLE.match(text)
    if found is None:
        return None
    role = re.sub(r":\d+\Z", "", found.group(2).strip())
    if found.group(1) == "ray":
        return ("vllm", "RayWorker") if "RayWorkerWrapper" in role else None
    return found.group(1).lower(), _CUT.get(text, role) or "unnamed"
