"""Which distributions must be of versions that fit each other: families of one version, what SGLang and PyTorch release with what. Data and pure judgement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from packaging.version import Version

_EQUAL = (  # the leader first; all that are installed are of one version
    ("flashinfer-python", r"flashinfer-(?:cubin|jit-cache)"), ("nvidia-cutlass-dsl", r"nvidia-cutlass-dsl-libs-(?:base|core|cu\d+)"),
    ("opentelemetry-api", r"opentelemetry-sdk"), ("opentelemetry-proto", r"opentelemetry-exporter-otlp(?:-proto-(?:common|grpc|http))?"),
    ("nixl", r"nixl-cu\d+"), ("grpcio", r"grpcio-(?:tools|status|reflection|health-checking)"),
)
_SAME_MINOR = (("cuda-python", r"cuda-bindings"),)
_KERNELS = ("sglang-kernel", "sgl-kernel")
# SGLang's release: torch, kernel distribution, flashinfer-python, as its own metadata pin them
_SGLANG: Mapping[str, tuple[str, str, str]] = MappingProxyType({
    "0.4.6": ("2.6.0", "0.0.9.post2", "0.2.3"), "0.4.9": ("2.7.1", "0.2.4", "0.2.7.post1"), "0.5.1": ("2.8.0", "0.3.5", "0.2.11.post3"),
    "0.5.2": ("2.8.0", "0.3.9.post2", "0.3.1"), "0.5.4": ("2.8.0", "0.3.16.post3", "0.4.1"), "0.5.6": ("2.9.1", "0.3.18.post2", "0.5.3"),
    "0.5.8": ("2.9.1", "0.3.21", "0.6.1"), "0.5.9": ("2.9.1", "0.3.21", "0.6.3"), "0.5.10": ("2.9.1", "0.4.1", "0.6.7.post2"),
    "0.5.12": ("2.11.0", "0.4.2.post2", "0.6.11.post1"), "0.5.15": ("2.11.0", "0.4.4", "0.6.12"), "0.5.18": ("2.13.0", "0.4.6.post1", "0.6.17"),
    "0.5.20": ("2.13.0", "0.4.7", "0.6.18"), "0.5.23": ("2.14.1", "0.4.10", "0.7.2"),
})
# PyTorch's release, by its first two numbers: Triton's, and the smallest NCCL that it is built with
_TORCH: Mapping[str, tuple[str, str]] = MappingProxyType({
    "2.4": ("3.0", "2.20.5"), "2.5": ("3.1", "2.21.5"), "2.6": ("3.2", "2.21.5"), "2.7": ("3.3", "2.26.2"), "2.8": ("3.4", "2.27.3"), "2.9": ("3.5", "2.27.5"),
    "2.11": ("3.6", "2.28.9"), "2.13": ("3.7", "2.29.7"), "2.14": ("3.8", "2.30.7"),
})
_VISION_AHEAD = 15  # torchvision 0.N goes with torch 2.(N - 15), since 2.0 with 0.15


class Fit(NamedTuple):
    """Two installed distributions that must fit: whether they do, and what the follower must be, in words."""

    leader: str
    follower: str
    fits: bool
    wanted: str


def fits(versions: Mapping[str, str]) -> Iterator[Fit]:
    """Yield each pair of installed distributions that is known to belong together, judged."""
    for leader, pattern in _EQUAL:
        yield from (Fit(leader, one, _public(versions[leader]) == _public(versions[one]), f"the same version, {versions[leader]}")
                    for one in _members(versions, leader, pattern))
    for leader, pattern in _SAME_MINOR:
        yield from (Fit(leader, one, _short(versions[leader]) == _short(versions[one]), f"of {_short(versions[leader])}")
                    for one in _members(versions, leader, pattern))
    yield from _of_torch(versions)
    yield from _of_sglang(versions)


def _members(versions: Mapping[str, str], leader: str, pattern: str) -> list[str]:
    return [name for name in versions if re.fullmatch(pattern, name)] if leader in versions else []


def _of_torch(versions: Mapping[str, str]) -> Iterator[Fit]:
    torch = _parsed(versions.get("torch"))
    if torch is None or torch.major < 2:
        return
    for name, wanted in (("torchvision", f"0.{torch.minor + _VISION_AHEAD}"), ("torchaudio", f"{torch.major}.{torch.minor}")):
        other = _parsed(versions.get(name))
        if other is not None:
            labels = {label for label in (torch.local, other.local) if label and re.match(r"cu\d|rocm|cpu", label)}
            same_build = len(labels) < 2 or torch.local == other.local
            yield Fit("torch", name, _short(versions[name]) == wanted and same_build, f"{wanted}{'+' + torch.local if torch.local and not same_build else ''}")
    triton, nccl = _TORCH.get(_short(versions["torch"]), ("", ""))
    if triton and "triton" in versions:
        yield Fit("torch", "triton", _short(versions["triton"]) == triton, f"{triton}.x")
    for name in versions if nccl else ():
        if re.fullmatch(r"nvidia-nccl-cu\d+", name):
            yield Fit("torch", name, _is_at_least(versions[name], nccl), f"{nccl} or newer")


def _of_sglang(versions: Mapping[str, str]) -> Iterator[Fit]:
    pins = _SGLANG.get(versions.get("sglang", ""))
    if pins is None:
        return
    torch, kernel, flashinfer = pins
    if "torch" in versions:
        yield Fit("sglang", "torch", _public(versions["torch"]) == torch, torch)
    if "flashinfer-python" in versions:
        yield Fit("sglang", "flashinfer-python", _public(versions["flashinfer-python"]) == flashinfer, flashinfer)
    for name in _KERNELS:
        if name in versions:
            yield Fit("sglang", name, _public(versions[name]) == kernel, kernel)


def _parsed(text: str | None) -> Version | None:
    try:
        return Version(text) if text else None
    except ValueError:  # InvalidVersion, or what Python says of thousands of digits
        return None


def _public(text: str) -> str:
    version = _parsed(text)
    return text if version is None else version.public


def _short(text: str) -> str:
    version = _parsed(text)
    return text if version is None else f"{version.major}.{version.minor}"


def _is_at_least(text: str, least: str) -> bool:
    version = _parsed(text)
    return version is None or version >= Version(least)
