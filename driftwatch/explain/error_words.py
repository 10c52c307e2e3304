"""Of what work an error text speaks, where it names no thing: the operating system's refusal, or the work that a variable steers. Words of the field."""

from __future__ import annotations

import re

_OF_SYSTEM = re.compile(
    r"\[Errno \d+\]|No space left|Permission denied|Too many open files|[Cc]annot allocate memory|can't start new thread|Thread creation failed"
    r"|Resource temporarily unavailable|Read-only file system|Stale file handle|Input/output error|Address already in use|Operation not permitted"
    r"|CERTIFICATE_VERIFY_FAILED|Max retries exceeded|Name or service not known|Temporary failure in name resolution|Connection refused|Network is unreachable"
    r"|outgoing traffic has been disabled|couldn't connect to|LocalEntryNotFoundError|is not a valid model identifier|OfflineModeIsEnabled")
_PATH = re.compile(r"(?<![\w.])/[\w./+@-]+")
LACKS = re.compile(r"\b(?:ImportError|ModuleNotFoundError)\b|[Pp]lease install|is not installed|requires the .{1,40} (?:package|library)")
_LACKED_NAME = re.compile(r"(cannot import name) ['\"]\w+['\"](?= from)")  # of a module's own, which may be called like a distribution
_NO_MODULE = re.compile(r"No module named ['\"]?(\w+)")
_ASKED_OF = re.compile(r"cannot import name ['\"]\w+['\"] from ['\"](\w+)|No module named ['\"](\w+)\.\w|module ['\"](\w+)[\w.]*['\"] has no attribute")
_REPORTED_BY = re.compile(r"\btorch\.(?:cuda\.|distributed\.)?(?:AcceleratorError|OutOfMemoryError|Dist\w+Error)")
_ASKED_BY = re.compile(r"^(?:\w+\.)+\w+(?=:)", re.MULTILINE)
_CHARACTERS = r"LANG|LANGUAGE|LC_\w+|PYTHON(IOENCODING|UTF8|COERCECLOCALE)"
_LOADER = r"LD_\w+|PYTHONPATH|PYTHONHOME|\w*_SO_PATH|CUDA_(HOME|PATH)|CONDA_\w+|VIRTUAL_ENV"
_DEVICES = r"\w*VISIBLE_DEVICES|CUDA_DEVICE_ORDER|NVIDIA_DRIVER_CAPABILITIES"
_TRANSPORT = r"(NCCL|GLOO|UCX|TP|NVSHMEM)_\w*(SOCKET|IFNAME|IB|HCA|NET|GID|P2P|SHM|DEVICES)\w*|MASTER_\w+"
_PROXY = r"(HTTPS?|ALL|NO|FTP)_PROXY|(https?|all|no|ftp)_proxy"
_HUB = (
    r"(HF_HUB|TRANSFORMERS|HF_DATASETS)_OFFLINE|HF_(HOME|ENDPOINT|HUB_CACHE)|TRANSFORMERS_CACHE|\w*MODELSCOPE\w*|SSL_CERT_\w+|REQUESTS_CA_BUNDLE"
    rf"|{_PROXY}")
_FOLDERS = r"\w*CACHE\w*|\w*TMPDIR|TMP|TEMP|FLASHINFER_WORKSPACE_BASE|TORCH_EXTENSIONS_DIR"
_STEERED = tuple((re.compile(names), re.compile(words)) for names, words in (
    (_CHARACTERS, r"Unicode(?:En|De)codeError|codec can't|locale\.Error|charmap"),
    (_LOADER, r"undefined symbol|shared object|preloaded|version `\w+' not found|No module named|cannot import name|SUBLIBRARY_VERSION_MISMATCH|symbol lookup"),
    (_DEVICES, r"invalid device ordinal|[Nn]o CUDA|CUDA-capable|device_count|GPUs? (?:are|is) available|different devices|[Ss]ame GPU|Duplicate GPU"),
    (_TRANSPORT, r"NCCL|[Gg]loo|\bIB\b|socket interface|ProcessGroup|[Cc]ollective|ibv_|UCX|nvshmem|rendezvous"),
    (r"(OMP|MKL|OPENBLAS|KMP|GOMP|NUMEXPR)_\w+", r"can't start new thread|Thread creation failed|libgomp|OMP:|OpenBLAS"),
    (r"PYTORCH_(\w+_)?ALLOC_CONF|\w*PREALLOC\w*", r"out of memory|allocat|CUDAPluggable|expandable|cuMem|custom_all_?reduce|IPC|invalid argument"),
    (_HUB, r"huggingface|LocalEntryNotFound|disk cache|outgoing traffic|offline mode|couldn't connect|Max retries|CERTIFICATE|not a valid model identifier"),
    (_PROXY, r"Response \[50[234]\]|status(?:_code| code)?\W{0,4}50[234]|[Pp]roxy|Bad Gateway|Gateway Time-?out|Connection refused|name resolution|warm-?up"),
    (_FOLDERS, r"No space left|Permission denied|Read-only file system|Stale file handle|\.cache/"),
    (r"PATH", r"No such file or directory: '[^/\s']+'|command not found|: not found\b|executable file not found|Cannot find .{0,40}\bin PATH"),
    (r"\w*ATTENTION_BACKEND|\w*_USE_\w+", r"[Bb]ackend"), (r"MAX_JOBS|NVCC_THREADS", r"\bninja\b|\bnvcc\b|cicc|Killed|code=137"),
    (r"USER|LOGNAME|LNAME|USERNAME|HOME", r"getpwuid|getuser|uid not found|home directory|expanduser"),  # the order of Python's getpass.getuser
))


def is_of_system(text: str) -> bool:
    """Tell whether an error is the operating system's: it refused or lacked something, and the library that prints it only asked."""
    return _OF_SYSTEM.search(text) is not None


def without_noise(text: str) -> str:
    """Return an error text without what names no culprit: paths and askers where the system refused, torch's classes for faults of a device, missing names."""
    text = _LACKED_NAME.sub(r"\1", _REPORTED_BY.sub("", text))
    return _ASKED_BY.sub("", _PATH.sub("", text)) if is_of_system(text) else text


def missing_module(text: str) -> str:
    """Return the first part of the module that a text says is not there; empty where it says no such thing."""
    found = _NO_MODULE.search(text)
    return found[1].lower() if found is not None else ""


def asked_of(text: str) -> str:
    """Return the first part of the module of which a name or a part was asked that it does not have; empty where a text says no such thing."""
    found = _ASKED_OF.search(text)
    return next(filter(None, found.groups())).lower() if found is not None else ""


def variable_fits(text: str, name: str) -> bool:
    """Tell whether an error text is of the work that a variable steers: characters, libraries, devices, sockets, threads, memory, the hub, folders."""
    return any(of.fullmatch(name) and words.search(text) for of, words in _STEERED)
