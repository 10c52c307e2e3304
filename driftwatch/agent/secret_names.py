"""Which names stand for a secret, and which variables may be shown at all. Knows names only; never looks at where a value comes from.

Two rules. A variable is secret if any word of its name is a secret word (``NCCL_PASSWORD``, ``AWS_ACCESS_KEY_ID``). An argument or a field is secret
if its last word is (``api_key``, ``AccountKey``), because settings such as ``speculative_token_map`` or ``tokenizer_mode`` must stay readable.
"""
from __future__ import annotations

import re

from .typed import List

# What serving frameworks, their libraries, the loader, the launcher and the package tools read.
_PREFIXES = """
    SGLANG_ SGL_ SPT_ VLLM_ NCCL_ CUDA_ CUBLAS CUDNN NVIDIA_ NV_ NVSHMEM_ NVTE_ TORCH PYTORCH_ KINETO_ C10_ TRITON_ FLASHINFER_ FLASH_ATTENTION_ TRTLLM_
    TLLM_ DG_ DEEP CUTE_ CUTLASS_
    TILELANG_ TVM_ MC_ MOONCAKE_ UCX_ NIXL_ LMCACHE_ GLOO_ FI_ IBV_ MLX5_ OMPI_ PMIX_ MPI RAY_ SLURM_ HF_ HUGGING_FACE_ HUGGINGFACE_
    TRANSFORMERS_ TOKENIZERS_ SAFETENSORS_ RCCL_ MIOPEN_ CCL_ HCCL_ ASCEND_ ATB_
    MODELSCOPE_ OLLAMA_ GGML_ LLAMA_ OMP_ GOMP_ KMP_ MKL_ OPENBLAS_ NUMEXPR_ NUMBA_ MALLOC_ MIMALLOC_ GLIBC_ LD_ PYTHON PATH XDG_CACHE_ CONDA_
    VIRTUAL_ENV PIP_ UV_ LC_ ROCM_ HIP_ HSA_ GPU_ AITER_ XLA_ MASTER_ LOCAL_ NODE_ AWS_ S3_ RUNAI_ WANDB_ OPENAI_ PROMETHEUS_ OTEL_
"""
_NAMES = """
    LANG LANGUAGE TMPDIR TZ LIBRARY_PATH TP_SOCKET_IFNAME RANK WORLD_SIZE GROUP_RANK ROLE_RANK CC CXX CFLAGS CXXFLAGS LDFLAGS MAX_JOBS DO_NOT_TRACK
    HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
"""
SHOWN_PREFIXES = tuple(_PREFIXES.split())
SHOWN_NAMES = frozenset(_NAMES.split())

_ALWAYS = frozenset(("secret", "secrets", "password", "passwords", "passwd", "pwd", "passphrase", "credential", "credentials", "creds"))
_MOSTLY = frozenset(("key", "keys", "token", "tokens", "auth", "authorization", "authentication"))
_LAST = frozenset(("key", "token", "auth", "authorization")) | _ALWAYS
_JOINED = r"password|passwd|passphrase|secret|credential|(?:api|access|auth|account|private|secret|bearer|hf|session)(?:key|token)s?\Z"
_TAIL = frozenset(("id", "ids", "value", "val", "string", "str", "b64", "base64", "header", "hash", "new", "old"))
_BEFORE_ORDINARY = """
    eos bos pad unk sep cls mask stop special image video audio vision next per first last max min num draft think tool output input
    cache sort primary foreign partition routing hash lookup index dict state weight param group kv public config
"""
_ORDINARY = frozenset(_BEFORE_ORDINARY.split())  # before key or token they make it no secret: a token of a text, a key of a table
_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_HARMLESS = (
    r"(?is)(?:true|false|none|null|yes|no|on|off|auto|[-\[(]*[0-9]{1,7}(?:[ ,.:;\])-]+[0-9]{1,7})*[\])]*"
    r"|v?[0-9]+(?:\.[0-9]+)+[a-z0-9.+-]{0,16}|(?:hmac-)?sha256:.*)?\Z")


def words(name: str) -> List[str]:
    """Return the words of a name in small letters: at ``_``, ``-``, ``.`` and where small letters meet capitals."""
    return [word.lower() for word in re.findall(_WORD, name)]


def is_shown(name: str) -> bool:
    """Tell whether a variable of this name is told at all."""
    return name in SHOWN_NAMES or name.startswith(SHOWN_PREFIXES)


def is_secret_variable(name: str) -> bool:
    """Tell whether any word of a variable's name is a secret word."""
    found = words(name)
    return any(word in _ALWAYS or word in _MOSTLY or re.search(_JOINED, word) for word in found)


def is_secret_field(name: str) -> bool:
    """Tell whether the last word of an argument, a JSON key or a ``NAME=`` is a secret word."""
    found = words(name)
    while len(found) > 1 and (found[-1] in _TAIL or found[-1].isdigit()):
        found.pop()
    if not found or name in ("PWD", "OLDPWD"):
        return False
    if re.search(_JOINED, found[-1]) or "".join(found[-2:]) in ("apikeys", "accesstokens"):
        return True
    return found[-1] in _LAST and not (found[-1] in ("key", "token") and len(found) > 1 and found[-2] in _ORDINARY)


def is_harmless(name: str, value: str) -> bool:
    """Tell whether a value under a secret name cannot be one: a switch, a small number, a version, a digest. Never so under a password's name."""
    return not any(word in _ALWAYS or "passw" in word for word in words(name)) and re.match(_HARMLESS, value) is not None
