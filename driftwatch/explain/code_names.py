"""Under which names code and linkers know a distribution, where they are not its own. Names of the field; it knows no incident."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_IMPORTS = (
    ("apache-tvm-ffi", "tvm_ffi tvm::ffi libtvm_ffi"), ("torch", "c10 libtorch libc10"), ("pyzmq", "zmq"), ("pillow", "PIL"),
    ("opencv-python.*", "cv2"), ("pyyaml", "yaml"), ("protobuf", "google.protobuf google/protobuf"), ("nvidia-cutlass-dsl.*", "cutlass cute"),
    ("sgl(?:ang)?-kernel(?:-(?:cpu|npu|xpu))?", "sgl_kernel sgl-kernel sglang-kernel"), ("flash-attn", "flash_attn flash_attn_2_cuda flash_attn_2"),
    ("flash-attn-3", "flash_attn_interface flash_attn_3_cuda"), ("flash-attn-4", "flash_attn.cute"), ("sgl-deep-gemm|deep-gemm", "deep_gemm"),
    ("sgl-deep-ep|deep-ep", "deep_ep"), ("cuda-python|cuda-bindings", "cuda.bindings"), ("python-multipart", "multipart"), ("nvidia-ml-py|pynvml", "pynvml"),
    ("decord2?", "decord"), ("scikit-learn", "sklearn"), ("python-dotenv", "dotenv"), ("pyjwt", "jwt"), ("gitpython", "git.repo"), ("msgpack.*", "msgpack"),
    ("mistral-common", "mistral_common"), ("grpcio.*", "grpc grpc_tools"), ("setuptools", "pkg_resources setuptools"), ("triton.*|pytorch-triton", "triton"),
    ("nvidia-cuda-nvrtc.*", "libnvrtc"), ("nvidia-cuda-runtime.*", "libcudart"), ("nvidia-nvjitlink.*", "libnvjitlink"), ("nvidia-cuda-cupti.*", "libcupti"),
    ("nvidia-cufile.*", "libcufile"), ("nvidia-nvtx.*", "libnvtoolsext"), ("cupy-.*", "cupy cupy_backends"), ("onnxruntime.*", "onnxruntime"),
    ("ray", "ray"), ("uv", "uv"), ("fla-core|flash-linear-attention", "fla.ops fla.layers"), ("faiss-.*", "faiss"), ("attrs", "attr.attrs"),
    ("beautifulsoup4", "bs4"), ("mooncake-transfer-engine.*", "mooncake"), ("quack-kernels", "quack"), ("hf-xet", "hf_xet"), ("numpy", "numpy np.core"),
    ("causal-conv1d", "causal_conv1d causal_conv1d_cuda"), ("mamba-ssm", "mamba_ssm selective_scan_cuda"), ("vllm", "vllm vllm_flash_attn"),
)
_SYMBOLS = (  # how the names begin that a library gives to others, and whose library it is
    (r"torch", r"c10|at|torch|caffe2|THP\w*|aoti_torch\w*"), (r"apache-tvm-ffi", r"tvm|TVMFFI\w*"), (r"nvidia-nccl-.*", r"nccl[A-Z]\w*"),
    (r"nvidia-cudnn-.*", r"cudnn[A-Z]\w*"), (r"nvidia-cublas.*", r"cublas\w*"), (r"nvidia-nvjitlink.*", r"_*nvJitLink\w*"),
    (r"nvidia-nvshmem.*", r"nvshmem\w*"), (r"nvidia-cuda-runtime.*", r"_*cuda[A-Z]\w*"), (r"nvidia-cusparselt.*", r"cusparseLt\w*"),
    (r"nvidia-cusparse(?!lt).*", r"cusparse(?!Lt)\w*"), (r"protobuf", r"google"), (r"pyarrow", r"arrow"), (r"triton.*", r"triton|mlir"),
)
_CODES = (  # error codes and words of a library that stand in errors of others
    (r"nvidia-cudnn-cu.*", r"CUDNN_STATUS_\w+|\bcudnn[A-Z]\w+|\b[cC]u(?:dnn|DNN)\b"), (r"nvidia-cublas.*", r"CUBLAS_STATUS_\w+|\bcu(?:blas|BLAS)\b"),
    (r"nvidia-cusparse-.*", r"CUSPARSE_STATUS_\w+"),
    (r"nvidia-nccl-.*", r"\bNCCL (?:error|WARN|ERROR)|\bnccl(?:System|Internal|UnhandledCuda|Remote|InvalidUsage)\w*"), (r"nvidia-nvshmem-.*", r"\bnvshmem\w*"),
    (r"protobuf", r"Descriptors cannot be created|descriptor_pool|MessageFactory"), (r"numpy", r"numpy\.dtype size changed|_ARRAY_API|\bNumPy [12]\.[\dx]+"),
    (r"transformers|tokenizers|mistral-common|tiktoken|sentencepiece", r"\b[A-Z]\w+Tokenizer(?:Fast)?\b"),
    (r"transformers", r"\bAuto(?:Tokenizer|Config|Model\w*|Processor)\b|apply_chat_template"), (r"pydantic", r"\bPydantic\w+|pydantic_core"),
    (r"xgrammar", r"Grammar(?:Matcher|Compiler)|\bTokenizerInfo\b"), (r"llguidance", r"\bLL(?:Matcher|Interpreter|Tokenizer)\b"),
    (r"outlines-core", r"outlines_core"), (r"triton", r"\btriton_?\w*kernel|TritonGPU|\bttgir\b"),
    (r"nvidia-cutlass-dsl", r"\bCuTe\b|cute\.\w+"), (r"setuptools", r"pkg_resources"), (r"opencv-python.*", r"libGL\.so|libgthread"),
    (r"starlette", r"\b(?:Router|Mount|Route)\b(?:'? object|\.\w)"), (r"fastapi", r"\bAPIRoute\w*"), (r"uvicorn|uvloop", r"uvloop"),
    (r"flashinfer-.*", r"\btrtllm_(?:batched_gemm|gen|fmha|fused_moe|allreduce|mnnvl)\w*|\bBatch(?:Prefill|Decode)With\w+|\bFusedMoeRunner"),
    (r"(?:sgl-)?deep-gemm", r"\bDeepGEMM\b|\bm_grouped_\w*gemm"), (r"(?:sgl-)?deep-ep", r"\bDeepEP\b"), (r"compressed-tensors", r"\bCompressedTensors\w*"),
    (r"tokenizers", r"data did not match any variant of untagged enum|\bPreTokenizer\w*"), (r"bitsandbytes", r"\bbnb\b|\bLinear(?:8bitLt|4bit)\b"),
    (r"safetensors", r"\bSafetensorError\b|MetadataIncompleteBuffer|HeaderTooLarge"),
    (r"peft", r"\bPeft\w+|\bLora(?:Config|Model)\b"),
    (r"huggingface-hub", r"\bHf\w+Error\b|\bHFValidationError\b|\b(?:LocalEntry|Repository|Revision)NotFoundError\b|\bhf_hub_\w+|/(?:blobs|snapshots)/[\w.-]+"),
    (r"transformers", r"\b(?:Dynamic|Static|EncoderDecoder|Hybrid)Cache\b|\bPreTrained(?:Model|Config)\b"),
    (r"transformers", r"/blobs/[\w.-]+\.py\b|\btransformers_modules\b"),
    (r"cachetools", r"\b\w*(?:LRU|LFU|TTL|TLRU)Cache\b"), (r"httpx", r"\bAsyncClient\b"), (r"pyzmq", r"\bZMQ\w*Error\b"), (r"jinja2", r"\bTemplate\w*Error\b"),
    (r"numba", r"\bNumba\w*(?:Error|Warning)\b|\bTypingError\b"), (r"aiohttp", r"\bClient(?:Session|\w*Error)\b"), (r"pillow", r"\bUnidentifiedImageError\b"),
    (r"sentencepiece", r"\bSentencePiece\w+"), (r"outlines.*", r"\bRegex(?:Guide|FSM)\b"), (r"einops", r"\bEinopsError\b"), (r"triton", r"\bPTXASError\b"),
    (r"prometheus-client", r"\bCollectorRegistry\b|Duplicated timeseries"),
    (r"torchao", r"\bAffineQuantizedTensor\w*"), (r"ray", r"\braylet\b|\bRay\w+Error\b|\bGcs\w+\b"), (r"gguf", r"\bGGUF\w*"),
    (r"mooncake-transfer-engine.*", r"\bTransferEngine\b"), (r"nixl.*", r"\bNIXL\w*|\bnixl_?[aA]gent"), (r"apache-tvm-ffi", r"\bTVMError\b|\btvm[._]ffi\b"),
)
_IMPORTS_COMPILED = tuple((re.compile(pattern), names) for pattern, names in _IMPORTS)
_UNDEFINED = re.compile(r"undefined symbol:? ['\"`]?(\w+)|version `(\w+)' not found|procedure entry point (\w+)")
_MANGLED = re.compile(r"_ZT?[A-Z]*?N[KVrRO]*(\d+)")


def code_names(name: str) -> list[str]:
    """Return the names, in small letters, under which code or a linker knows a distribution beside its own."""
    return [one.lower() for pattern, names in _IMPORTS_COMPILED if pattern.fullmatch(name) for one in names.split()]


def missing_symbols(text: str) -> list[str]:
    """Return the symbols that a linker did not find, each as the outermost namespace or the plain name: ``c10``, ``ncclCommInit``."""
    return list(dict.fromkeys(_outermost(next(filter(None, found))) for found in _UNDEFINED.findall(text)))


def driver_symbol(text: str) -> str:
    """Return a symbol that a linker did not find and that the NVIDIA driver's own libraries give, such as ``cuGreenCtxDestroy``; "" where there is none."""
    return next((one for one in missing_symbols(text) if re.fullmatch(r"(?:cu|nvml)[A-Z]\w+", one)), "")


def owner_patterns(symbol: str) -> Iterator[str]:
    """Yield patterns of the distributions whose library gives a symbol."""
    return (pattern for pattern, beginning in _SYMBOLS if re.fullmatch(beginning, symbol))


def speaks_with(text: str, name: str) -> bool:
    """Tell whether a text holds an error code or a class that is of this distribution's library."""
    return any(pattern.fullmatch(name) for pattern in _spoken(text))


@lru_cache(maxsize=64)
def _spoken(text: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of the distributions whose words a text holds."""
    return tuple(re.compile(pattern) for pattern, words in _CODES if re.search(words, text))


def _outermost(symbol: str) -> str:
    """Return the outermost namespace of a mangled C++ name, the name itself where it is none."""
    found = _MANGLED.match(symbol)
    if found is None:
        return symbol
    start = found.end()
    return symbol[start:start + int(found[1])]
