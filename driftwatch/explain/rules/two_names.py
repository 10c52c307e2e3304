"""Two distributions that put the same folder into place, or two folders of metadata of one: the last unpacked, or the first found, wins."""

from __future__ import annotations

import re
from collections.abc import Iterator

from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.mentions import Said, mentions
from driftwatch.explain.requirements import has_moved
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import pip, term
from driftwatch.explain.words import command, listed, show

_SAME_FOLDER = (  # the folder, and the distributions that bring it
    ("sgl_kernel", r"sgl-kernel|sglang-kernel"), ("cv2", r"opencv-(?:contrib-)?python(?:-headless)?"), ("deep_gemm", r"deep-gemm|sgl-deep-gemm"),
    ("deep_ep", r"deep-ep|sgl-deep-ep"), ("triton", r"triton|pytorch-triton(?:-rocm|-xpu)?"), ("nvidia/nccl", r"nvidia-nccl-cu\d+"),
    ("pynvml.py", r"pynvml|nvidia-ml-py"), ("nvidia/cudnn", r"nvidia-cudnn-cu\d+"), ("nvidia/nvshmem", r"nvidia-nvshmem-cu\d+"),
    ("cupy", r"cupy(?:-cuda\d+x)?"), ("onnxruntime", r"onnxruntime(?:-gpu)?"), ("nixl", r"nixl-cu\d+"), ("mooncake", r"mooncake-transfer-engine(?:-\w+)?"),
)


def weigh(case: Case) -> Iterator[Finding]:
    """Yield the one that came to another of the same folder, or each of the two where both came."""
    yield from _of_one_name(case)
    good, bad = _installed(case, "good"), _installed(case, "bad")
    if set(good) == set(bad):
        return
    for folder, pattern in _SAME_FOLDER:
        before, now = ([name for name in names if re.fullmatch(pattern, name)] for names in (good, bad))
        if len(now) > 1 and set(now) != set(before):
            came = [name for name in now if name not in before and has_moved(case, name)]
            for name in came:
                yield _told(case, name, next(other for other in now if other != name), folder)


def _of_one_name(case: Case) -> Iterator[Finding]:
    """Yield each distribution of which a second folder of metadata came: who asks for its version may be given either, or nothing."""
    for change in case.moved("packages/*/others"):
        name, folders = change.path.split("/")[1], case.value("bad", change.path)
        if isinstance(folders, list) and change.kind == "added":
            second = listed([str(one.get("folder")) for one in folders if isinstance(one, dict)])
            says = f"{second} lies beside the folder of {name}: who asks for its version may be told either, or none"
            site = command([str(case.value("bad", f"packages/{name}/location") or "SITE-PACKAGES")])
            look = Command("confirm", f"ls -d {site}/{command([name.replace('-', '_')])}-*.dist-info")
            wording = Wording("package", f"{name}, metadata", "!", "one folder", second, f"{says}.", commands=(look,))
            told = mentions(Said(case), name, (change.path,))
            yield Evidence(Subject("package", name), (term("two owners", says, (change.path,)), *told), wording)


def _installed(case: Case, side: SideName) -> list[str]:
    told = (path.split("/") for path, value in case.below(side, "packages") if isinstance(value, str))
    return [parts[1] for parts in told if len(parts) == 3 and parts[2] == "version"]


def _told(case: Case, name: str, other: str, folder: str) -> Evidence:
    facts = (f"packages/{name}/version", f"packages/{other}/version")
    version, beside = (show(case.value("bad", fact)) for fact in facts)
    says = f"{name} {version} and {other} {beside} both bring {folder}: the one unpacked last wins"
    look = Command("confirm", pip(case, "show", "-f", name, other), "which of them owns what is there")
    wording = Wording("package", name, "!", case.value("good", facts[0]), case.value("bad", facts[0]), f"{says}.", commands=(look,))
    return Evidence(Subject("package", name), (term("two owners", says, facts), *mentions(Said(case), name, facts)), wording)


RULES = (Rule("two_names", needs=("packages/*/version",), weigh=weigh, blames=("package",)),)
