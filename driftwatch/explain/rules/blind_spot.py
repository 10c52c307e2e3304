"""Packages that neither side's layout prints: those that the error names, and the usual suspects of this symptom. Told as not checked, never as unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from driftwatch.explain.case import Case
from driftwatch.explain.explanation import NotChecked, Subject
from driftwatch.explain.families import companion_of, package_family
from driftwatch.explain.mentions import Said
from driftwatch.explain.rule import Finding, Rule
from driftwatch.explain.terms import pip
from driftwatch.explain.usual_requirements import USUAL
from driftwatch.explain.weights import by_class, prior
from driftwatch.model import Unknown

_MOST = 10
_LEAST = -1.6  # a package whose prior and layer give less than this under a symptom is no usual suspect of it
_OF_CUDA = ("nvidia-nccl", "nvidia-cudnn", "nvidia-cublas", "nvidia-nvshmem")


def weigh(case: Case) -> Iterator[Finding]:
    """Yield each such package, those that the error names first, with the command whose output would tell it."""
    if not case.below("bad", "packages"):
        return
    said = Said(case)
    hidden = [name for name in _around(said) if _is_hidden(case, name)]
    named = [name for name in hidden if name in said.named]
    weights = {name: by_class("layer", package_family(name), case.klass) for name in hidden if name not in named and not companion_of(name)}
    usual = [name for name in sorted(weights, key=weights.__getitem__, reverse=True) if prior("package", case.klass) + weights[name] >= _LEAST]
    for name in [*named, *usual[:_MOST]]:
        is_named = name in named
        says = "the error names it, and this layout never prints it" if is_named else "neither side's layout prints it"
        yield NotChecked(Subject("package", name), "not_recorded", "both", says, pip(case, "list"), is_named=is_named)


def _is_hidden(case: Case, name: str) -> bool:
    if name == "torch" and case.value("bad", "torch/version") is not None:
        return False
    return all(isinstance(side.get(f"packages/{name}/version"), Unknown) for side in (case.good, case.bad))


def _around(said: Said) -> Iterable[str]:
    """Return what the error names, what the told distributions usually stand on, two steps deep, and the CUDA libraries of PyTorch's own CUDA."""
    case = said.case
    first = [one for name in said.installed for one in USUAL.get(name, ())]
    second = [one for name in first for one in USUAL.get(name, ())]
    cuda = case.value("bad", "torch/cuda")
    major = cuda.split(".")[0] if isinstance(cuda, str) else ""
    libraries = [f"{name}-cu{major}" for name in _OF_CUDA if major and "torch" in said.installed]
    return dict.fromkeys(one for one in (*sorted(said.named), *first, *second, *libraries) if not one.endswith("*"))


RULES = (Rule("blind_spot", needs=(), weigh=weigh),)
