"""Compiled distributions and what they were compiled for: PyTorch's release, CUDA's major number, the C++ interface. The unchanged one is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from driftwatch.explain.broken_pair import Pair, told_of
from driftwatch.explain.case import Case, SideName
from driftwatch.explain.explanation import Command, Subject
from driftwatch.explain.mentions import Said, mentions
from driftwatch.explain.naming import lacks_symbol_of, names_package
from driftwatch.explain.pairs import good_or
from driftwatch.explain.requirements import has_moved
from driftwatch.explain.rule import Evidence, Finding, Rule, Wording
from driftwatch.explain.terms import before_unknown, pip, term
from driftwatch.explain.words import count, listed, show
from driftwatch.model import plain

_TORCH = re.compile(r"(?:^|[^a-z])(?:torch|pt)(\d)\.?(\d{1,2})")
_CUDA = re.compile(r"(?:^|[^a-z])cu(\d{2})")
_RUNTIME = re.compile(r"lib(?:cudart|cublas|cublasLt|nvrtc)\.so\.(\d{2})")
_FOLLOW = re.compile(r"torchvision|torchaudio")  # judged as a family


class Base(NamedTuple):
    """What compiled distributions stand on, of one side: PyTorch's first two numbers and CUDA's major one, "" where not known."""

    torch: str
    cuda: str


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each distribution that was compiled for another PyTorch or CUDA than is there now, and was not so before."""
    good, bad = _base(case, "good"), _base(case, "bad")
    for name, label in _labels(case, "bad"):
        wrong = _unfit(label, bad)
        before = _label(case, "good", name)
        if wrong and not _unfit(before, good):
            held = bool(before and (good.cuda if wrong.startswith("CUDA") else good.torch))
            yield from told_of(case, Pair("torch", name, f"{name} {label} was built for {wrong}", held, "built for another"))
    yield from _needs_another_cuda(case, good, bad)
    yield from _unresolved(case)
    yield from _raiser_of_symbols(case)


def _base(case: Case, side: SideName) -> Base:
    torch, cuda = case.value(side, "torch/version") or case.value(side, "packages/torch/version"), case.value(side, "torch/cuda")
    numbers = re.match(r"(\d+)\.(\d+)", torch) if isinstance(torch, str) else None
    label = re.search(r"\+cu(\d{2})", torch) if isinstance(torch, str) else None
    major = cuda.split(".")[0] if isinstance(cuda, str) else label[1] if label else ""
    return Base(f"{numbers[1]}.{numbers[2]}" if numbers else "", major)


def _labels(case: Case, side: SideName) -> list[tuple[str, str]]:
    """Return each distribution whose version, build or wheel tells what it was built for, with that text."""
    names = dict.fromkeys(path.split("/")[1] for path, _ in case.below(side, "packages"))
    return [(name, label) for name in names if name != "torch" and not _FOLLOW.fullmatch(name) and (label := _label(case, side, name))]


def _label(case: Case, side: SideName, name: str) -> str:
    version, wheel = case.value(side, f"packages/{name}/version"), _wheel(case.value(side, f"packages/{name}/direct_url"))
    found = [text for text in (version if isinstance(version, str) and "+" in version else "", wheel) if text]
    return next((text for text in found if _TORCH.search(text) or _CUDA.search(text.partition("+")[2])), "")


def _wheel(told: Any) -> str:
    """Return the file name of the wheel that a direct_url names."""
    url = told.get("url") if isinstance(told, dict) else told
    return url.rsplit("/", 1)[-1].replace("%2B", "+") if isinstance(url, str) and ".whl" in url else ""


def _unfit(label: str, base: Base) -> str:
    """Return in words what a label tells that is not so on this base; "" where it fits or nothing can be said."""
    local = label.partition("+")[2]
    torch, cuda = _TORCH.search(local), _CUDA.search(local)
    if torch and base.torch and f"{torch[1]}.{torch[2]}" != base.torch:
        return f"PyTorch {torch[1]}.{torch[2]}, and {base.torch} is there"
    if cuda and base.cuda and cuda[1] != base.cuda:
        return f"CUDA {cuda[1]}, and PyTorch is of CUDA {base.cuda}"
    return ""


def _needs_another_cuda(case: Case, good: Base, bad: Base) -> Iterator[Finding]:
    """Yield each distribution whose shared objects look for libraries of another CUDA than PyTorch's, and did not so before."""
    told: dict[str, tuple[str, bool]] = {}
    for path, value in case.below("bad", "objects"):
        name = path.split("/")[1]
        wanted = _cuda_needed(value) if path.endswith("/needed") and name not in ("torch", *told) else ""
        if wanted and bad.cuda and wanted != bad.cuda:
            before = _cuda_needed(case.value("good", path))
            if not before or not good.cuda or before == good.cuda:
                says = f"{plain(path.split('/')[-2]).rsplit('/', 1)[-1]} of {name} looks for CUDA {wanted}, and PyTorch is of CUDA {bad.cuda}"
                told[name] = says, bool(good.cuda) and case.known(path) is not None
    for name, (says, held) in told.items():
        yield from told_of(case, Pair("torch", name, says, held, "built for another"))


def _cuda_needed(value: Any) -> str:
    """Return the major number of the CUDA whose libraries a shared object looks for; "" where it looks for none, or for several."""
    found = {match[1] for one in value if (match := _RUNTIME.fullmatch(str(one)))} if isinstance(value, list) else set()
    return found.pop() if len(found) == 1 else ""


def _unresolved(case: Case) -> Iterator[Finding]:
    """Yield each distribution whose shared objects expect names of PyTorch that it does not define, and did not so before."""
    found: dict[str, list[str]] = {}
    for path, value in case.below("bad", "objects"):
        if path.endswith("/unresolved") and value and case.value("good", path) in (None, [], {}):
            found.setdefault(path.split("/")[1], []).append(path)
    for name, paths in found.items():
        some = case.value("bad", paths[0])
        names = some.get("some") if isinstance(some, dict) else None
        told = f": {listed(map(str, names), 2)}" if isinstance(names, list) else ""
        says = f"{count(len(paths), 'shared object')} of it {'expects' if len(paths) == 1 else 'expect'} names that PyTorch does not give{told}"
        was = before_unknown(case, "they did", *paths[:20])
        terms = (term("names unresolved", says, tuple(paths[:20])), *was, *mentions(Said(case), name, tuple(paths[:1])))
        look = Command("confirm", pip(case, "show", "-f", name))
        wording = Wording("package", name, "!", good_or(case, "resolved", *paths), says, f"{name}: {says}.", commands=(look,))
        yield Evidence(Subject("package", name), terms, wording)


def _raiser_of_symbols(case: Case) -> Iterator[Finding]:
    """Yield the unchanged distribution that misses a symbol of PyTorch, where PyTorch moved: it was compiled against the one that is gone."""
    if not lacks_symbol_of(case.text, "torch") or not has_moved(case, "torch"):
        return
    facts = ("packages/torch/version",)
    for name in dict.fromkeys(path.split("/")[1] for path, _ in case.below("bad", "packages")):
        if name != "torch" and not has_moved(case, name) and names_package(case.text, name):
            version = show(case.value("bad", f"packages/{name}/version"))
            says = f"it did not move, and it misses a symbol of PyTorch, which did: {show(case.value('good', facts[0]))} → {show(case.value('bad', facts[0]))}"
            wording = Wording("package", name, "!", version, version, f"{name} {version} was compiled against another PyTorch.")
            yield Evidence(Subject("package", name), (term("base moved", says, facts), *mentions(Said(case), name, facts)), wording)


RULES = (Rule("built_for", needs=("packages/*/version",), weigh=weigh, blames=("package",)),)
