"""Where the caches of compiled kernels lie, by the variables, the home and the user that a server has. Pure: looks nowhere.

A place is written as the programs that fill it find it: ``$NAME`` is a variable, ``~`` the home, ``@`` the user. The first rule whose variable is set
decides alone; of the rules without a variable, whichever is there.
"""
from __future__ import annotations

from .typed import Dict, List, NamedTuple, Regex, Tuple

PLACES = {
    "triton": "$TRITON_CACHE_DIR $TRITON_HOME/.triton/cache ~/.triton/cache",
    "inductor": "$TORCHINDUCTOR_CACHE_DIR $TMPDIR/torchinductor_@ /tmp/torchinductor_@",
    "flashinfer": "$FLASHINFER_WORKSPACE_BASE/.cache/flashinfer ~/.cache/flashinfer",
    "flashinfer_cubin": "$FLASHINFER_CUBIN_DIR $FLASHINFER_WORKSPACE_BASE/.cache/flashinfer/cubins ~/.cache/flashinfer/cubins",
    "sglang": "$SGLANG_CACHE_DIR ~/.cache/sglang",
    "sglang_jit": "$SGLANG_JIT_CACHE_DIR $SGLANG_CACHE_DIR/jit ~/.cache/sglang/jit",
    "deep_gemm": "$SGLANG_DG_CACHE_DIR $DG_JIT_CACHE_DIR ~/.cache/sglang/deep_gemm ~/.cache/deep_gemm ~/.deep_gemm",
    "tilelang": "$TILELANG_CACHE_DIR ~/.tilelang/cache",
    "tvm_ffi": "$TVM_FFI_CACHE_DIR ~/.cache/tvm-ffi",
    "torch_extensions": "$TORCH_EXTENSIONS_DIR $XDG_CACHE_HOME/torch_extensions ~/.cache/torch_extensions",
    "vllm": "$VLLM_CACHE_ROOT $XDG_CACHE_HOME/vllm ~/.cache/vllm",
    "cute_dsl": "$CUTE_DSL_CACHE_DIR /tmp/@/cutlass_python_cache",
    "cuda": "$CUDA_CACHE_PATH ~/.nv/ComputeCache",
}
ONE_BUILD_A_FOLDER = ("triton", "flashinfer", "sglang_jit", "deep_gemm", "tilelang", "tvm_ffi", "torch_extensions")
_VARIABLE = Regex(r"\$(\w+)")


class Place(NamedTuple):
    """Where a cache may lie (the first that is there), the folder that all of it shares, and what says so: a variable's name, or "" for the default."""

    name: str
    paths: Tuple[str, ...]
    base: str
    variable: str


def places(variables: Dict[str, str], home: str, user: str) -> List[Place]:
    """Return where each cache lies; one whose place cannot be told (no home, no user, a relative path) is left out."""
    found = [_place(name, rules.split(), variables, (home, user)) for name, rules in PLACES.items()]
    return [one for one in found if one.paths]


def _place(name: str, rules: List[str], variables: Dict[str, str], who: Tuple[str, str]) -> Place:
    home, user = who
    usual: List[str] = []
    for rule in rules:
        named = _VARIABLE.match(rule)
        value = variables.get(named.group(1), "") if named else ""
        if named and not value:
            continue
        path = rule.replace(named.group(), value.rstrip("/") or "/") if named else rule
        path = path.replace("~", home.rstrip("/"), 1) if path.startswith("~") and home else path
        if path.startswith("/") and ("@" not in rule or user):
            path = path.replace("@", user) if "@" in rule else path
            if named:
                return Place(name, (path,), path, named.group(1))
            usual.append(path)
    return Place(name, tuple(usual), home if home and rules[-1].startswith("~") else "/tmp", "")  # noqa: S108  # where the programs themselves put it
