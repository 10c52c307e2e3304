"""What well-known distributions of a serving stack require, for dumps that print names and versions but no metadata. Knows names, no versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

_ROWS = """
sglang: torch torchvision torchaudio sgl-kernel sglang-kernel flashinfer-python flashinfer-cubin transformers xgrammar outlines llguidance numpy
sglang: compressed-tensors fastapi uvicorn uvloop pydantic orjson pyzmq nvidia-cutlass-dsl cuda-python apache-tvm-ffi quack-kernels torchao soundfile
sglang: tiktoken timm
sglang: torch-memory-saver
sglang: openai anthropic huggingface-hub modelscope pillow av decord2 torchcodec msgspec partial-json-parser sgl-deep-gemm smg-grpc-proto smg-grpc-servicer
vllm: torch torchvision torchaudio xformers flashinfer-python flashinfer-cubin transformers tokenizers xgrammar outlines outlines-core llguidance numpy numba
vllm: lark compressed-tensors fastapi uvicorn pydantic pyzmq prometheus-fastapi-instrumentator prometheus-client openai anthropic mistral-common gguf
vllm: tiktoken ray
vllm: protobuf depyf cloudpickle msgspec opencv-python-headless pillow sentencepiece einops triton cupy-cuda12x setproctitle lm-format-enforcer
vllm: vllm-flash-attn mcp
vllm: nvidia-cutlass-dsl apache-tvm-ffi quack-kernels nvidia-cudnn-frontend model-hosting-container-standards openai-harmony tilelang tokenspeed-mla cbor2 ijson
torch: triton nvidia-cublas* nvidia-cuda-* nvidia-cudnn-cu* nvidia-cufft* nvidia-cufile* nvidia-curand* nvidia-cusolver* nvidia-cusparse* nvidia-nccl*
torch: nvidia-nvjitlink* nvidia-nvshmem* nvidia-nvtx* cuda-bindings cuda-toolkit sympy networkx jinja2 fsspec filelock typing-extensions mpmath setuptools
torchvision: torch numpy pillow
torchaudio: torch
flash-attn: torch einops
flash-attn-4: torch nvidia-cutlass-dsl quack-kernels apache-tvm-ffi
ray: vllm msgspec protobuf
deepspeed: torch numpy pydantic
sgl-kernel: torch
sglang-kernel: torch
xformers: torch numpy
torchao: torch
torch-c-dlpack-ext: torch apache-tvm-ffi
flashinfer-python: torch apache-tvm-ffi nvidia-cutlass-dsl nvidia-cudnn-frontend cuda-tile cuda-python numpy ninja einops tabulate packaging nvidia-ml-py click
tilelang: apache-tvm-ffi torch-c-dlpack-ext z3-solver numpy cloudpickle ml-dtypes
quack-kernels: nvidia-cutlass-dsl apache-tvm-ffi torch
tokenspeed-mla: nvidia-cutlass-dsl torch
nvidia-cutlass-dsl: nvidia-cutlass-dsl-libs-base nvidia-cutlass-dsl-libs-core nvidia-cutlass-dsl-libs-cu12 nvidia-cutlass-dsl-libs-cu13 cuda-python numpy
xgrammar: apache-tvm-ffi transformers torch pydantic numpy triton
outlines: outlines-core numpy interegular lark nest-asyncio diskcache numba referencing jsonschema pyairports airportsdata pycountry pydantic transformers
transformers: tokenizers huggingface-hub safetensors numpy regex hf-xet typer
tokenizers: huggingface-hub
huggingface-hub: hf-xet httpx requests fsspec filelock tqdm typer
accelerate: torch huggingface-hub safetensors
peft: transformers accelerate torch
compressed-tensors: torch transformers pydantic loguru
llmcompressor: compressed-tensors transformers
mistral-common: pydantic tiktoken jsonschema numpy pillow pydantic-extra-types sentencepiece
fastapi: starlette pydantic annotated-doc typing-inspection python-multipart fastapi-cli fastar
starlette: anyio
prometheus-fastapi-instrumentator: fastapi starlette prometheus-client
sse-starlette: starlette anyio
gradio: fastapi starlette pydantic gradio-client huggingface-hub
model-hosting-container-standards: fastapi starlette pydantic
uvicorn: h11 httptools uvloop websockets
pydantic: pydantic-core typing-extensions annotated-types typing-inspection
pydantic-settings: pydantic
httpx: httpcore anyio certifi h11
openai: pydantic httpx anyio jiter
anthropic: pydantic httpx anyio jiter
openai-harmony: pydantic
mcp: pydantic starlette anyio httpx sse-starlette uvicorn
ray: protobuf grpcio click jsonschema msgpack
grpcio-tools: grpcio protobuf setuptools
grpcio-health-checking: grpcio protobuf
grpcio-reflection: grpcio protobuf
smg-grpc-proto: grpcio protobuf
smg-grpc-servicer: grpcio smg-grpc-proto grpcio-health-checking grpcio-reflection
opentelemetry-proto: protobuf
opentelemetry-sdk: opentelemetry-api
onnx: protobuf numpy ml-dtypes
onnxruntime: numpy protobuf
numba: numpy llvmlite
scipy: numpy
pandas: numpy
scikit-learn: numpy scipy
opencv-python-headless: numpy
cupy-cuda12x: numpy fastrlock
cupy-cuda13x: numpy
pyarrow: numpy
cuda-python: cuda-bindings cuda-pathfinder
cuda-bindings: cuda-pathfinder
bitsandbytes: torch numpy
autoawq: torch transformers accelerate
gptqmodel: torch transformers accelerate
mamba-ssm: torch causal-conv1d triton transformers
causal-conv1d: torch
flash-linear-attention: fla-core torch triton transformers einops
deep-ep: torch nvidia-nvshmem-cu12
sgl-deep-gemm: torch nvidia-cuda-nvrtc
sgl-deep-ep: torch nvidia-nvshmem-cu13
mooncake-transfer-engine: aiohttp
ms-swift: transformers peft gradio datasets modelscope accelerate trl
aiohttp: aiosignal frozenlist multidict yarl propcache aiohappyeyeballs
yarl: multidict propcache
lm-format-enforcer: interegular pydantic
depyf: astor dill
datasets: pyarrow numpy pandas fsspec huggingface-hub dill multiprocess
tiktoken: regex requests
requests: urllib3 certifi idna charset-normalizer
"""


def _parsed() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in _ROWS.strip().splitlines():
        name, _, required = row.partition(": ")
        found[name] = (*found.get(name, ()), *required.split())
    return MappingProxyType(found)


USUAL: Mapping[str, tuple[str, ...]] = _parsed()
WELL_KNOWN = tuple(dict.fromkeys(name for user, required in USUAL.items() for name in (user, *required) if not name.endswith("*")))
_FOR_A_DEVICE = re.compile(r"-(?:cpu|npu|xpu|rocm|tpu)\Z")


def usual(name: str) -> tuple[str, ...]:
    """Return what a distribution usually requires, that of its plain namesake for one that is built for another kind of device; names and stems with ``*``."""
    return USUAL.get(name) or USUAL.get(_FOR_A_DEVICE.sub("", name), ())
