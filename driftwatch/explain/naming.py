"""Whether an error text names a thing: an argument, a variable, a distribution, a file. Pure text; it knows no incident."""

from __future__ import annotations

import re
from functools import lru_cache

_VENDOR = re.compile(r"^(?:apache|nvidia|pytorch|vllm)-")
_TAIL = re.compile(r"-(?:python|cu\d+|cubin|jit-cache|gpu|binary|base|libs)$")
_LEAST = 4  # a shorter core of a name, such as "ray" or "py", is found in any text


def names_argument(text: str, name: str) -> bool:
    """Tell whether a text holds ``--mem-fraction-static`` or ``mem_fraction_static=`` for a field name."""
    spelled = re.escape(name.replace("_", "-"))
    return re.search(rf"(?<![a-z0-9-])(?:--{spelled}(?![a-z0-9-])|{spelled}\s*=)", text.lower().replace("_", "-")) is not None


def names_variable(text: str, name: str) -> bool:
    """Tell whether a text holds a variable's name as a word."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text) is not None


def names_package(text: str, name: str) -> bool:
    """Tell whether a text names a distribution, by its own name, its import name or its namespace, as code does: not as a word of a sentence."""
    flat = _flat(text)
    return any(core in flat for core in _cores(name)) and _package_pattern(name).search(text.lower()) is not None


def names_file(text: str, path: str) -> bool:
    """Tell whether a text holds a file's base name, or the dotted name of its module."""
    base = path.rsplit("/", 1)[-1]
    if len(base) > _LEAST and base != "__init__.py" and re.search(rf"(?<![\w.-]){re.escape(base)}(?![\w-])", text):
        return True
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return module.count(".") > 1 and module in text


@lru_cache(maxsize=64)
def _flat(text: str) -> str:
    return re.sub(r"[-_.:]+", "-", text.lower())


def _cores(name: str) -> list[str]:
    """Return the names under which code knows a distribution: ``apache-tvm-ffi`` is ``tvm-ffi`` too; the longest first."""
    cores = {name, _TAIL.sub("", name), _VENDOR.sub("", _TAIL.sub("", name))}
    return sorted((core for core in cores if len(core) >= _LEAST or core == name), key=len, reverse=True)


@lru_cache(maxsize=4096)
def _package_pattern(name: str) -> re.Pattern[str]:
    spelled = "|".join(re.escape(core).replace(r"\-", r"(?:[-_.]|::)") for core in _cores(name))
    as_code = rf"(?:(?<![\w.-])|(?<![\w.-])lib)(?:{spelled})(?:\.\w|::|/|==|>=|<=|~=|['\"\]]|: )"
    as_words = rf"(?:import|module named|module|package) ['\"]?(?:{spelled})(?![\w-])"
    return re.compile(f"{as_code}|{as_words}")
