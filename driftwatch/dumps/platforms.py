"""What Python's ``platform.platform()`` says, as facts. Pure text."""

from __future__ import annotations

import re

_LINUX = re.compile(r"Linux-(?P<release>\S{1,160})-(?P<machine>x86_64|aarch64|arm64|ppc64le|riscv64|s390x)(?:-with-\S*)?\Z")


def kernel_of(platform: str) -> dict[str, str]:
    """Return the kernel's release that ``Linux-RELEASE-MACHINE-with-LIBC`` tells; nothing of another system."""
    found = _LINUX.match(platform.strip())
    return {"kernel/release": found["release"]} if found else {}


def os_name(text: str) -> str:
    """Return an operating system's name without the machine in brackets that PyTorch's tool adds."""
    text = re.sub(r"\s*\([^()]*\Z", "", text)  # a bracket that a cut left open
    return re.sub(r"\s*\((?:x86_64|aarch64|arm64|ppc64le|riscv64|s390x|AMD64)\)\Z", "", text)
