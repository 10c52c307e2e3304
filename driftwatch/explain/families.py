"""Which family a package, a launch argument or a variable belongs to. Families are of the field, not of any incident.

A table's first fitting row counts. Names stand in whole patterns, white space between them is layout.
"""

from __future__ import annotations

import re

GPU_STACK = frozenset({"kernel", "torch", "collectives", "cuda"})


def _table(**rows: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((family, re.compile("|".join(row.split()))) for family, row in rows.items())


_PACKAGES = _table(
    kernel="""
        sgl-kernel sglang-kernel sgl-(deep-gemm|flash-mla) flash-attn.* flash-mla.* flashinfer.* deep-gemm triton(-.*)? pytorch-triton.* tilelang
        apache-tvm-ffi nvidia-cutlass.* quack-kernels xformers vllm-flash-attn causal-conv1d mamba-ssm flash-linear-attention fla-core aiter cuda-tile.*""",
    torch="torch torchvision torchaudio torch-memory-saver pytorch",
    collectives="nvidia-nccl.* nccl.* nvidia-nvshmem.* mooncake.* nixl.* ucxx?.* sgl-deep-ep deep-ep mpi4py rccl.*",
    cuda="nvidia-ml-py nvidia-.* cuda-.* cupy.* cudnn.* hip-.* rocm-.*",
    server="sglang vllm sgl-router sglang-router lmdeploy tensorrt.* ray",
    model="""
        transformers tokenizers huggingface-hub safetensors compressed-tensors accelerate xgrammar.* outlines.* llguidance torchao bitsandbytes autoawq.*
        gptqmodel auto-gptq tiktoken sentencepiece mistral-common gguf peft timm diffusers torchcodec decord2? einops llmcompressor modelscope
        openai-harmony""",
    numeric="numpy scipy pandas numba llvmlite ml-dtypes pyarrow protobuf grpcio.* onnx.*",
    tool="""
        pip setuptools wheel uv pytest.* ruff mypy black isort pre-commit py-spy ipython.* ipykernel jedi debugpy build twine tqdm rich colorama pygments
        virtualenv coverage nvitop gpustat pynvml""",
    web="""
        fastapi.* starlette uvicorn uvloop httpx.* httpcore httptools aiohttp aiosignal aiohappyeyeballs frozenlist multidict yarl anyio sniffio h11 h2
        requests urllib3 certifi idna charset-normalizer pydantic.* websockets python-multipart openai anthropic litellm jinja2 markupsafe orjson
        prometheus.* opentelemetry.* sentry.* watchfiles propcache attrs filelock""",
)
_ARGUMENTS = _table(
    harmless=r"""
        log_.* .*_log_.* port host served_model_name (admin_)?api_key enable_metrics.* show_.* decode_log_interval random_seed seed nccl_port metrics_.*
        otlp_.* collect_.* crash_dump_.* uvicorn_.* ssl_.* warmups file_storage_path weight_version bucket_.* \w+_tokens_buckets disable_log_.* root_path
        uds fastapi_.*""",
    memory="""
        mem_fraction_static gpu_memory_utilization max_total_tokens max_running_requests max_num_seqs max_num_batched_tokens chunked_prefill_size
        max_prefill_tokens cuda_graph_.* disable_cuda_graph.* enforce_eager .*piecewise_cuda_graph.* kv_cache_dtype page_size block_size
        enable_(torch_)?symm_mem mamba_.* max_mamba_cache_size swa_full_tokens_ratio cpu_offload_gb swap_space enable_memory_saver .*lora.* hicache_.*
        enable_hierarchical_cache ep_num_redundant_experts context_length max_model_len kv_cache_memory.*""",
    model="""
        model_path model tokenizer.* revision quantization.* dtype load_format trust_remote_code json_model_override_args hf_overrides model_impl
        chat_template language_only""",
    collective="""
        (tp|pp|dp|ep)_size (tensor|pipeline|data)_parallel_size enable_dp_attention disable_custom_all_reduce enable_mscclpp enable_nccl_nvls nnodes
        node_rank dist_init_addr enable_p2p_check moe_a2a_backend .*all_?reduce.* .*expert_parallel.* distributed_executor_backend deepep_mode""",
    speed="""
        .*_backend disable_overlap_schedule enable_mixed_chunk enable_two_batch_overlap speculative_.* disable_radix_cache enable_prefix_caching schedule_.*
        num_continuous_decode_steps enable_torch_compile torch_compile_.* compilation_config optimization_level disable_flashinfer_autotune numa_.*
        enable_deterministic_inference stream_interval .*chunked_prefill.*""",
)
_VARIABLES = _table(
    harmless=r"""
        (NCCL|CUDA|TORCH|VLLM|SGLANG|SGL|TLLM|CUTE_DSL|HF_HUB|TRANSFORMERS|GLOO|UCX|NVSHMEM|TORCH_CPP)_(\w+_)?(DEBUG|LOG|VERBOSITY|LOGGING|LOG_LEVEL)\w*
        \w*LOG_LEVEL PYTHON(FAULTHANDLER|UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8|WARNINGS|STARTUP|ASYNCIODEBUG) PROMETHEUS_\w+ LANG LC_\w+ TERM SHLVL
        PWD OLDPWD INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID SSH_\w+ XDG_SESSION\w* SGLANG_RUN_ID HOSTNAME \w*(TOKEN|KEY|SECRET|PASSWORD) DO_NOT_TRACK
        \w*USAGE_STATS\w* HF_HUB_DISABLE_\w+ TOKENIZERS_PARALLELISM USER LOGNAME MAIL""",
    allocator=r"""
        PYTORCH_(\w+_)?ALLOC_CONF \w*_PREALLOC\w* \w*MEM_POOL\w* NCCL_CUMEM_\w+ NCCL_NVLS_ENABLE NCCL_BUFFSIZE NCCL_(MIN|MAX)_NCHANNELS CUDA_MODULE_LOADING
        SGLANG_\w*CACHE\w*_MB SGLANG_ENABLE_POST_CAPTURE_KV_SIZING MALLOC_\w+ SGL\w*_MEMORY_INBALANCE_CHECK PYTORCH_NO_CUDA_MEMORY_CACHING""",
    devices=r"\w*VISIBLE_DEVICES CUDA_DEVICE_(ORDER|MAX_CONNECTIONS) NVIDIA_DRIVER_CAPABILITIES CUDA_MPS_\w+ (LOCAL_)?RANK WORLD_SIZE LOCAL_SIZE",
    loader=r"LD_\w+ PYTHON(PATH|HOME|NOUSERSITE|USERBASE) VIRTUAL_ENV CONDA_\w+ PATH \w*_SO_PATH CUDA_(HOME|PATH) CUDNN_\w*PATH TORCH_(LIB|HOME)",
    transport=r"(NCCL|UCX|NVSHMEM|GLOO|MC|MOONCAKE|NIXL|FI|IBV|MLX5|RDMA|OMPI|RCCL)_\w+ MASTER_(ADDR|PORT) TORCH_NCCL_\w+ TP_SOCKET_IFNAME",
    threads=r"(OMP|MKL|OPENBLAS|NUMEXPR|KMP|GOMP|TBB|BLIS)_\w+ TORCH_NUM_THREADS",
    caches=r"\w*CACHE\w* HF_HOME FLASHINFER_WORKSPACE_BASE TORCH_EXTENSIONS_DIR \w*TMPDIR TEMP TMP",
    framework=r"""
        (SGLANG|SGL|VLLM|FLASHINFER|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|TRTLLM|TLLM|DG|DEEP|CUTE|TILELANG|TVM|CUBLAS|CUDNN)\w*
        (CUDA|NVIDIA|HF|TRANSFORMERS|ROCM|HIP|HSA|AITER|MIOPEN)\w*""",
)
_WORKAROUNDS = re.compile(
    r"NCCL_(P2P|SHM|IB|NVLS|CUMEM)_(DISABLE|ENABLE)|NCCL_P2P_LEVEL|CUDA_LAUNCH_BLOCKING|TORCH_NCCL_BLOCKING_WAIT|SGLANG_SKIP_\w+|\w+_DISABLE_VERSION_CHECK"
)


def package_family(name: str) -> str:
    """Return the family of a distribution by its canonical name: kernel, torch, collectives, cuda, server, model, numeric, tool, web or other."""
    return _first(_PACKAGES, name)


def argument_family(name: str) -> str:
    """Return the group of a launch argument by its field name: harmless, memory, model, collective, speed or other."""
    return _first(_ARGUMENTS, name)


def variable_family(name: str) -> str:
    """Return the family of an environment variable: harmless, allocator, devices, loader, transport, threads, caches, framework or other."""
    return _first(_VARIABLES, name)


def is_workaround(name: str) -> bool:
    """Tell whether a variable is one that people set against a trouble, so that it may follow the failure instead of making it."""
    return _WORKAROUNDS.fullmatch(name) is not None


def _first(table: tuple[tuple[str, re.Pattern[str]], ...], name: str) -> str:
    return next((family for family, pattern in table if pattern.fullmatch(name)), "other")
