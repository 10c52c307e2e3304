"""Which packages of the operating system belong to the GPU, kernel, network, container and compiler stack, by their names. Pure."""
from __future__ import annotations

from .typed import Regex

_NAMES = Regex(
    r"(?:lib|python3?-|golang-)?(?:nvidia|nvfabric|nvlsm|nvlink|cuda|cudnn|cublas|cufft|curand|cusolver|cusparse|cupti|cutensor|nccl|nvjitlink|nvrtc|nvinfer|nvshmem|nvml"
    r"|npp|nvjpeg|nvtx|nsight|tensorrt|dcgm|datacenter-gpu|gds-tools|gdrcopy|gdrdrv|gdrapi|xnvctrl"
    r"|linux-(?:image|modules|headers|generic|virtual|aws|azure|gcp|oracle|nvidia|firmware|lowlatency|objects|signatures|hwe)"
    r"|kernel(?:$|-)|kmod|dkms|mokutil|shim-signed|amd64-microcode|intel-microcode|microcode_ctl|firmware-"
    r"|mlnx|mlx|doca|ofed|rdma|rdmacm|ibverbs|ibumad|infiniband|perftest|opensm|ucx|ucp|openmpi|mpich|pmix|mft|knem|xpmem|isert|srp|iser|efa|aws-ofi|fabric[1-9]"
    r"|docker|containerd|runc|crun|moby|podman|cri-|buildah|apptainer|singularity|enroot|kubelet|kubeadm|kubectl"
    r"|slurm|munge|numa|hwloc|nfs-|lustre|beegfs|weka|fuse|rocm|hip|hsa|amdgpu|systemd$|irqbalance$"
    r"|c6$|c-bin$|glibc$|stdc\+\+|gomp|gcc|g\+\+|clang|llvm|ninja-build|python3(?:\.\d+)?(?:$|-minimal|-dev|-venv|-libs)|unattended-upgrades$)")


def is_stack(name: str) -> bool:
    """Tell whether a package of this name belongs to the stack under a GPU server."""
    return _NAMES.match(name) is not None


def upstream(version: str) -> str:
    """Return a package's version without the packager's epoch and revision: ``1:535.183.01-0ubuntu1`` is 535.183.01."""
    return version.partition(":")[2 if ":" in version else 0].partition("-")[0]
