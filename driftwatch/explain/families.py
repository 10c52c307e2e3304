"""Which family a package, a launch argument or a variable belongs to. Families are of the field, not of any incident.

A table's first fitting row counts. Names stand in whole patterns, white space between them is layout.
"""

from __future__ import annotations

import re
from functools import lru_cache

GPU_STACK = frozenset({"kernel", "binding", "torch", "collectives", "cuda", "linker", "saver", "beside_torch"})
_WORDS = (  # the words of a layer in an error text that names no package
    (("request",), re.compile(
        r"\w*[Rr]outer\b|\bASGI\b|[Mm]iddleware|HTTP [45]\d\d|Internal Server Error|\bStreamingResponse\b|[Ee]ndpoint|RequestValidation")),
    (("modeling",), re.compile(r"\w+Processor\b|image_processor|\w+For(?:CausalLM|ConditionalGeneration)\b")),
    (("model", "modeling"), re.compile(
        r"\w*[Tt]okenizer|Auto(?:Config|Model|Processor)|chat.template|rope_(?:scaling|parameters)|\w+Config\b.*attribute|json.schema")),
    (("kernel",), re.compile(r"\bptxas\b|\bnvcc\b|\bcubin\b|\bPTX\b|\bsm_?\d{2,3}a?\b|no kernel image|\bnvvm\b|MLIR|JIT|[Cc]ompil\w+ kernel")),
    (("collectives",), re.compile(r"\bNCCL\b|all_?reduce|ProcessGroup|[Cc]ollective|nvshmem|\bIBV?_")),
    (("torch",), re.compile(r"torch\.(?:_dynamo|_inductor|compile|distributed)|[Ii]nductor|[Dd]ynamo|c10::|at::")),
    (("server",), re.compile(r"[Ww]arm-?up failed|aborting startup|\b(?:launch_server|http_server|api_server|[Ss]erver_?[Aa]rgs|Engine_?[Aa]rgs)\b")),
    (("numeric",), re.compile(r"dtype size changed|_ARRAY_API|Descriptors cannot be created|numpy\.")),
)


def _table(**rows: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((family, re.compile("|".join(row.split()))) for family, row in rows.items())


_PACKAGES = _table(
    binding="apache-tvm-ffi torch-c-dlpack-ext cuda-tile cuda-python cuda-bindings cuda-pathfinder nvidia-ml-py pynvml",
    kernel="""
        sgl-kernel(-cpu|-npu|-xpu)? sglang-kernel(-cpu|-npu|-xpu)? sgl-(deep-gemm|flash-mla) flash-attn.* flash-mla.* flashinfer.* deep-gemm triton(-.*)?
        pytorch-triton.* tilelang nvidia-cutlass.* quack-kernels xformers vllm-flash-attn causal-conv1d
        mamba-ssm flash-linear-attention fla-core (amd-)?aiter cuda-tile.* conch-triton-kernels
        transformer-engine.* apex""",
    saver="torch-memory-saver",
    beside_torch="torchvision torchaudio",
    torch="torch pytorch torch-(npu|xla|musa|mlu) intel-extension-for-pytorch",
    collectives="nvidia-nccl.* nccl.* nvidia-nvshmem.* mooncake.* nixl.* ucxx?.* sgl-deep-ep deep-ep mpi4py rccl.*",
    linker="nvidia-(nvjitlink|nvtx|nvfatbin|cuda-cupti|nvml-dev).*",
    cuda="nvidia-.* cuda-.* cupy.* cudnn.* hip-.* rocm-.*",
    server="sglang(-cpu|-npu|-xpu)? vllm(-cpu|-rocm|-xpu|-tpu)? sgl-router sglang-router lmdeploy tensorrt.*",
    trainer="deepspeed megatron-.* verl slime openrlhf nemo.* torchtitan",
    cache="lmcache.*",
    executor="ray ray-.* dask.* distributed pyzmq msgspec",
    loading="huggingface-hub hf-xet hf-transfer safetensors modelscope fastsafetensors runai-model-streamer.*",
    modeling="transformers diffusers timm",
    model="""
        tokenizers compressed-tensors accelerate xgrammar.* outlines.* llguidance torchao bitsandbytes autoawq.*
        gptqmodel auto-gptq tiktoken sentencepiece mistral-common gguf peft torchcodec decord2? einops llmcompressor
        openai-harmony
        trl unsloth.* llamafactory ms-swift axolotl torchtune""",
    numeric="numpy scipy pandas numba llvmlite ml-dtypes pyarrow protobuf grpcio.* onnx.*",
    tool="""
        pip setuptools wheel uv pytest.* ruff mypy black isort pre-commit py-spy ipython.* ipykernel jedi debugpy build twine tqdm rich colorama pygments
        virtualenv coverage nvitop gpustat pynvml""",
    request="fastapi starlette pydantic prometheus-fastapi-instrumentator sse-starlette",
    web="""
        fastapi.* uvicorn uvloop httpcore httptools aiohttp aiosignal aiohappyeyeballs frozenlist multidict yarl anyio sniffio h11 h2 certifi idna
        charset-normalizer pydantic.* websockets python-multipart jinja2 markupsafe orjson prometheus.* watchfiles propcache attrs""",
    client="""
        httpx.* requests urllib3 openai anthropic litellm mcp sentry.* opentelemetry.* filelock fsspec email-validator boto.* botocore s3fs gcsfs
        gradio.* datasets evaluate rouge.* nltk wandb tensorboard.* typer rich.* click""",
)
_LEAST_ABBREVIATED = 6
_REFUSES = (
    r"(?:Assertion|Value|NotImplemented|Runtime)Error\W.{0,160}(?:not (?:yet )?(?:supported|compatible|implemented|allowed) (?:in|with|for|when|by|on)\b"
    r"|incompatible with|mutually exclusive|cannot be used (?:with|together))")
_REFUSES_SETTINGS = re.compile(_REFUSES)
_PYTHON_ERROR = re.compile(
    r"\b(?:httpx|requests|urllib3|aiohttp|fastapi|starlette|pydantic\w*|uvicorn)\.[\w.]*[A-Z]\w+"
    r"|\b(?:Attribute|Type|Key|Name|Index|Validation|UnicodeDecode)Error\b|" + _REFUSES)
_NATIVE_FAULT = re.compile(r"CUDA error|illegal (?:memory|instruction)|Segmentation fault|Bus error|core dumped|SIGSEGV|misaligned address|device-side assert")
_COMPANIONS = (  # what moves with the first name and cannot be put back alone
    ("torch", r"torchvision|torchaudio|triton|xformers|pytorch-triton.*|nvidia-(?!nccl|nvshmem|cutlass|ml-py|modelopt|cudnn-frontend).*|sympy"),
    ("flashinfer-python", r"flashinfer-(?:cubin|jit-cache)"), ("nvidia-cutlass-dsl", r"nvidia-cutlass-dsl-libs-.*"), ("pydantic", r"pydantic-core"),
    ("nvidia-cuda-nvcc", r"nvidia-cuda-(?:cccl|crt|nvdisasm|tileiras)|nvidia-nvvm"), ("grpcio", r"grpcio-.*"),
    ("opentelemetry-api", r"opentelemetry-.*"), ("cuda-python", r"cuda-(?:bindings|pathfinder)"), ("numba", r"llvmlite"),
    ("outlines", r"outlines-core"), ("gradio", r"gradio-client"), ("transformers", r"tokenizers"),
    ("fla-core", r"flash-linear-attention"), ("ms-swift", r"swift-.*"),
)
_ATTENTION = re.compile(r"flashinfer-python|flash-attn.*|flash-mla.*|sgl-flash-mla|xformers|vllm-flash-attn|tokenspeed-mla|aiter")
_ARGUMENTS = _table(
    harmless=r"""
        log_.* .*_log_.* port host served_model_name (admin_)?api_key enable_metrics.* show_.* decode_log_interval random_seed seed nccl_port metrics_.*
        otlp_.* collect_.* crash_dump_.* uvicorn_.* ssl_.* warmups file_storage_path weight_version bucket_.* \w+_tokens_buckets disable_log_.* root_path
        uds fastapi_.* dist_init_addr""",
    graphs="(disable_|enable_)?cuda_graph.* disable_cuda_graph.* enforce_eager (disable_|enable_)?piecewise_cuda_graph.* .*cudagraph.* max_seq_len_to_capture",
    memory="""
        mem_fraction_static gpu_memory_utilization max_total_tokens max_running_requests max_num_seqs max_num_batched_tokens chunked_prefill_size
        max_prefill_tokens page_size block_size
        enable_(torch_)?symm_mem mamba_.* max_mamba_cache_size swa_full_tokens_ratio cpu_offload_gb swap_space enable_memory_saver .*lora.* hicache_.*
        enable_hierarchical_cache ep_num_redundant_experts context_length max_model_len kv_cache_memory.*
        max_input_length max_batch_(prefill|total)_tokens ctx_size n_gpu_layers ngl cache_ram""",
    precision="kv_cache_dtype quantization.* dtype .*_dtype fp8_.* fp4_.* torchao_config modelopt_.* calculate_kv_scales quantize_.*",
    model="""
        model_path model tokenizer.* revision load_format trust_remote_code json_model_override_args hf_overrides model_impl
        chat_template rope_.* jinja mmproj language_only (override_)?generation_config""",
    collective="""
        (tp|pp|dp|ep)_size (tensor|pipeline|data)_parallel_size enable_dp_attention disable_custom_all_reduce enable_mscclpp enable_nccl_nvls nnodes
        node_rank enable_p2p_check moe_a2a_backend .*all_?reduce.* .*expert_parallel.* distributed_executor_backend deepep_mode""",
    speed=r"""
        .*_backend disable_overlap_schedule enable_mixed_chunk enable_two_batch_overlap speculative_.* disable_radix_cache enable_prefix_caching schedule_.*
        num_\w*_steps enable_torch_compile torch_compile_.* compilation_config optimization_level disable_flashinfer_autotune numa_.*
        enable_deterministic_inference stream_interval .*chunked_prefill.*""",
)
_VARIABLES = _table(
    harmless=r"""
        (NCCL|CUDA|TORCH|VLLM|SGLANG|SGL|TLLM|CUTE_DSL|HF_HUB|TRANSFORMERS|GLOO|UCX|NVSHMEM|TORCH_CPP)_(\w+_)?(DEBUG|LOG|VERBOSITY|LOGGING|LOG_LEVEL)\w*
        \w*LOG_LEVEL OLLAMA_(DEBUG|HOST|ORIGINS|NOHISTORY|NOPRUNE)
        PYTHON(FAULTHANDLER|UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8|WARNINGS|STARTUP|ASYNCIODEBUG) PROMETHEUS_\w+ LANG LC_\w+ TERM SHLVL
        TZ PWD OLDPWD INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID SSH_\w+ XDG_SESSION\w* SGLANG_RUN_ID HOSTNAME \w*(TOKEN|KEY|SECRET|PASSWORD) DO_NOT_TRACK
        \w*USAGE_STATS\w*
        SLURM_(JOB_?ID|JOB_NAME|JOB_(START|END)_TIME|STEP_?ID|SUBMIT_\w+|TASK_PID|GTIDS|LAUNCH_\w+)
        HF_HUB_DISABLE_(?!XET)\w+ TOKENIZERS_PARALLELISM USER LOGNAME MAIL""",
    allocator=r"""
        PYTORCH_(\w+_)?ALLOC_CONF \w*_PREALLOC\w* \w*MEM_POOL\w* NCCL_CUMEM_\w+ NCCL_NVLS_ENABLE NCCL_BUFFSIZE NCCL_(MIN|MAX)_NCHANNELS CUDA_MODULE_LOADING
        SGLANG_\w*CACHE\w*_MB SGLANG_ENABLE_POST_CAPTURE_KV_SIZING MALLOC_\w+ SGL\w*_MEMORY_INBALANCE_CHECK PYTORCH_NO_CUDA_MEMORY_CACHING""",
    devices=r"\w*VISIBLE_DEVICES CUDA_DEVICE_(ORDER|MAX_CONNECTIONS) NVIDIA_DRIVER_CAPABILITIES CUDA_MPS_\w+ (LOCAL_)?RANK WORLD_SIZE LOCAL_SIZE",
    loader=r"LD_\w+ PYTHON(PATH|HOME|NOUSERSITE|USERBASE) VIRTUAL_ENV CONDA_\w+ PATH \w*_SO_PATH CUDA_(HOME|PATH) CUDNN_\w*PATH TORCH_(LIB|HOME)",
    transport=r"(NCCL|UCX|NVSHMEM|GLOO|MC|MOONCAKE|NIXL|FI|IBV|MLX5|RDMA|OMPI|RCCL)_\w+ MASTER_(ADDR|PORT) TORCH_NCCL_\w+ TP_SOCKET_IFNAME",
    threads=r"(OMP|MKL|OPENBLAS|NUMEXPR|KMP|GOMP|TBB|BLIS)_\w+ TORCH_NUM_THREADS",
    hub=r"(HF_HUB|TRANSFORMERS|HF_DATASETS)_OFFLINE HF_(ENDPOINT|HUB_\w+|XET_\w+) \w*MODELSCOPE\w*",
    proxy=r"(HTTPS?|ALL|NO|FTP)_PROXY (https?|all|no|ftp)_proxy",
    caches=r"\w*CACHE\w* HF_HOME FLASHINFER_WORKSPACE_BASE TORCH_EXTENSIONS_DIR \w*TMPDIR TEMP TMP",
    framework=r"""
        (SGLANG|SGL|VLLM|FLASHINFER|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|TRTLLM|TLLM|DG|DEEP|CUTE|TILELANG|TVM|CUBLAS|CUDNN)\w*
        (CUDA|NVIDIA|HF|TRANSFORMERS|ROCM|HIP|HSA|AITER|MIOPEN)\w* (GGML|LLAMA)_\w+
        OLLAMA_(FLASH_ATTENTION|KV_CACHE_TYPE|NUM_\w+|CONTEXT_LENGTH|LLM_LIBRARY|GPU_OVERHEAD|SCHED_SPREAD|NEW_ENGINE|MULTIUSER_CACHE|MAX_\w+)""",
)
_OS_PACKAGES = _table(
    fabric="nvidia-fabricmanager.* libnvidia-nscq.* nvidia-imex.* nvlsm.*",
    container="(lib)?nvidia-container.* nvidia-docker.* docker.* moby-.* containerd.* runc crun podman.* cri-o.* buildah",
    driver="""
        nvidia-(driver|dkms|kernel|utils|headless|compute|firmware|modprobe|settings|open|persistenced).* libnvidia-.* cuda-drivers.* cuda-compat.*
        kmod-nvidia.* linux-(modules|objects)-nvidia.* xserver-xorg-video-nvidia.* datacenter-gpu-manager.*""",
    kernel="linux-(image|modules|headers|generic|hwe|aws|azure|gcp|oem|base).* kernel(-.*)?",
    nccl="libnccl.* nccl.* libnvshmem.* librccl.*",
    network="mlnx.* ofed.* rdma.* .*ibverbs.* librdmacm.* infiniband.* doca.* mft.* ucx.* openmpi.* libfabric.* efa.* libpsm.* libmlx.* opensm.*",
    library="""
        libcudnn.* cudnn.* libcu(blas|fft|rand|solver|sparse|file|tensor|pti|dart).* cuda-.* libnv(infer|jitlink|jpeg|rtc).* tensorrt.* libnpp.* libstdc.*
        libgomp.* libopenblas.* intel-mkl.* libze.* level-zero.* intel-(opencl|level-zero|igc|ocloc|oneapi).* libigc.* libigdgmm.* rocm.* hsa-rocr.* hip.*
        amdgpu.*""",
    job="slurm.* munge.* libslurm.* kubelet kubeadm nomad",
    system="libc6.* glibc.* gcc.* g\\+\\+.* clang.* cmake.* python3.*",
)
_WORKAROUNDS = re.compile(
    r"NCCL_(P2P|SHM|IB|NVLS|CUMEM)_(DISABLE|ENABLE)|NCCL_P2P_LEVEL|CUDA_LAUNCH_BLOCKING|TORCH_NCCL_BLOCKING_WAIT|SGLANG_SKIP_\w+"
    r"|\w+_(?:DISABLE|SKIP)_\w*CHECKS?"
)


@lru_cache(maxsize=1 << 15)
def package_family(name: str) -> str:
    """Return the family of a distribution by its canonical name, a key of the table or "other"."""
    return _first(_PACKAGES, name)


def companion_of(name: str) -> str:
    """Return the distribution with which this one moves and without which it cannot be put back; "" where there is none."""
    return next((leader for leader, pattern in _COMPANIONS if re.fullmatch(pattern, name) and leader != name), "")


def is_attention(name: str) -> bool:
    """Tell whether a distribution brings attention kernels: the one choice that makes whole runs slow without any error."""
    return _ATTENTION.fullmatch(name) is not None


def speaks_of(text: str, family: str) -> bool:
    """Tell whether an error text speaks in the words of a family of packages, naming none of them perhaps."""
    return any(family in of and pattern.search(text) for of, pattern in _WORDS)


def is_off_level(text: str, name: str) -> bool:
    """Tell whether an error is of the other level than a package: raised by Python code where the package is native, or a native fault where it is not."""
    is_native = package_family(name) in GPU_STACK
    return (is_native and _PYTHON_ERROR.search(text) is not None) or (not is_native and _NATIVE_FAULT.search(text) is not None)


def refuses_settings(text: str) -> bool:
    """Tell whether an error says that one way of working does not go with another: what was asked for, not what was installed."""
    return _REFUSES_SETTINGS.search(text) is not None


def argument_family(name: str) -> str:
    """Return the group of a launch argument by its field name: harmless, precision, model, memory, collective, speed or other."""
    family = _first(_ARGUMENTS, name)
    return _first(_ARGUMENTS, _whole_argument(name)) if family == "other" else family


@lru_cache(maxsize=1024)
def _whole_argument(name: str) -> str:
    """Return the argument that a name abbreviates, as argparse lets it be typed; the name itself where none, or more than one, begins so."""
    known = {word for _, pattern in _ARGUMENTS for word in pattern.pattern.split("|") if word.startswith(name) and word.isidentifier()}
    return known.pop() if len(known) == 1 and len(name) >= _LEAST_ABBREVIATED else name


def variable_family(name: str) -> str:
    """Return the family of an environment variable, a key of the table, or "other"."""
    return _first(_VARIABLES, name)


def os_package_family(name: str) -> str:
    """Return the family of a package of the operating system: fabric, container, driver, kernel, nccl, network, library, job, system or other."""
    return _first(_OS_PACKAGES, name)


def is_workaround(name: str) -> bool:
    """Tell whether a variable is one that people set against a trouble, so that it may follow the failure instead of making it."""
    return _WORKAROUNDS.fullmatch(name) is not None


def _first(table: tuple[tuple[str, re.Pattern[str]], ...], name: str) -> str:
    return next((family for family, pattern in table if pattern.fullmatch(name)), "other")
