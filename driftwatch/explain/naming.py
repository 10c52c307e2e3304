"""Whether an error text names a thing: an argument, a variable, a distribution, a file. Pure text; it knows no incident."""

from __future__ import annotations

import re
from functools import lru_cache

from driftwatch.explain.code_names import code_names, missing_symbols, owner_patterns

_VENDOR = re.compile(r"^(?:amd|apache|nvidia|pytorch|vllm)-")
_TAIL = re.compile(r"-(?:python|cu\d+|cubin|jit-cache|gpu|binary|base|libs)$")
_MOST_NAMES = 1 << 15
_LEAST = 4  # a shorter core of a name, such as "ray" or "py", is found in any text
_PLAIN = re.compile("true|false|none|auto|null|default|info|warn|debug|error|model|data|server|memory|cuda|cache|local|host|kernel|value|size")
_GENERAL = re.compile(
    r"enable|disable|static|backend|default|server|memory|graph|tokens|requests?|length|prefill|decode|model|cache|batch|params?|config|steps")
_AGAINST = r"(?: \w+){0,2}\s?(?:==|!=|<|>|vs\.?|instead of|but (?:got|found|is)|, (?:but )?(?:got|expected)|\band\b)\s?(?:\w+ )?"
_LONGEST_VALUE = 4000
_SHORT = re.compile(r"[a-z]{2}\d")
_FRAME = re.compile(
    r"(?:(?:site-packages|dist-packages|sgl-workspace|\.\.\.)/(?:[\w.-]+/python/)?|File \"(?=\w[\w-]*/))([\w.-]+?)(?:/|\.py\b|\.(?:cpython|abi3)\S*\.so)")


def names_argument(text: str, name: str) -> bool:
    """Tell whether a text holds ``--mem-fraction-static`` or ``mem_fraction_static=`` for a field name."""
    spelled = re.escape(name.replace("_", "-"))
    return re.search(rf"(?<![a-z0-9-])(?:--{spelled}(?![a-z0-9-])|{spelled}\s*=)", text.lower().replace("_", "-")) is not None


def names_variable(text: str, name: str) -> bool:
    """Tell whether a text holds a variable's name as a word."""
    return name in text and re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text) is not None


def names_value(text: str, value: object) -> bool:
    """Tell whether a text holds a value as a word of its own, or one option of a list in it: a word of the field, a path or a long number, no plain word."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return False
    flat = _small(text)
    return any(word in flat and re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", flat) for word in _telling(value))


def quotes_both(text: str, one: object, other: object) -> bool:
    """Tell whether a text sets a value of one side against that of the other, ``size 7==9`` or ``expected 16 but got 8``; of JSON objects, of any part."""
    pairs = ((re.escape(first), re.escape(second)) for first, second in _parts_that_differ(one, other))
    return any(re.search(rf"(?<![\w.]){first}{_AGAINST}{second}(?![\w.])|(?<![\w.]){second}{_AGAINST}{first}(?![\w.])", text) for first, second in pairs)


def _parts_that_differ(one: object, other: object) -> list[tuple[str, str]]:
    """Return the words of two values, of a list or of JSON perhaps, that differ place by place; none where they are not as many."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return []
    first, second = (re.split(r"[^\w./-]+", str(value)[:_LONGEST_VALUE]) for value in (one, other))
    return [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1] and all(pair)] if len(first) == len(second) else []


def names_path(text: str, value: object) -> bool:
    """Tell whether a text holds a folder or a file that a value names, of two and more parts: no other thing is called so."""
    parts = value.split(":") if isinstance(value, str) else []
    return any(part.count("/") > 1 and part.rstrip("/") in text for part in parts if part.startswith("/") and not part.startswith("//"))


def code_of(trace: str, name: str, value: object) -> str:
    """Return the part of a traceback's paths that an argument's name or value selects by its words, such as ``speculative``; empty where none does."""
    parts = {word for part in re.split(r"[^a-z0-9_]+", trace.lower()) for word in (part, *part.split("_"))}
    words = [word for word in name.lower().split("_") if len(word) > _LEAST and not _GENERAL.fullmatch(word)]
    return next((word for word in (*words, *(_telling(value) if isinstance(value, str) else ())) if word in parts), "")


def _telling(value: object) -> list[str]:
    """Return the words of a value that can be recognised in a text: long ones, and short ones with a digit such as ``fa3``, but no number of few digits."""
    words = [word.strip("'\"()[]{}") for word in re.split(r"[,;:=\s]+", str(value).lower())]
    return [word for word in words if not _PLAIN.fullmatch(word) and (len(word) >= _LEAST + word.isdigit() or _SHORT.fullmatch(word))]


def names_package(text: str, name: str) -> bool:
    """Tell whether a text names a distribution, by its own name, its import name, its library or its namespace, as code does: not as a word of a sentence."""
    flat = _flat(text)
    return any(core in flat for core in _flat_cores(name)) and _package_pattern(name).search(_small(text)) is not None


def lacks_symbol_of(text: str, name: str) -> str:
    """Return the symbol, or its namespace, that a linker misses in a text and that this distribution's library gives; "" where there is none."""
    return next((symbol for symbol in _missing(text) if any(re.fullmatch(one, name) for one in owner_patterns(symbol))), "")


def quotes_version(text: str, version: object) -> bool:
    """Tell whether a text quotes a version, as a number of its own with a dot in it."""
    if not isinstance(version, str) or "." not in version:
        return False
    return re.search(rf"(?<![\w.]){re.escape(version.split('+')[0])}(?![\w]|\.\d)", text) is not None


def frames(trace: str) -> list[str]:
    """Return the import names of the packages in a traceback, in its order, one after the other, each run of one name once."""
    found = [match[1].lower().replace("-", "_") for match in _FRAME.finditer(trace)]
    return [name for position, name in enumerate(found) if not position or found[position - 1] != name]


def is_import_of(module: str, name: str) -> bool:
    """Tell whether the first part of an import path belongs to a distribution; ``google`` does to one that is known as ``google.protobuf``."""
    return module.replace("_", "-") in _first_parts(name)


def is_file_about(trace: str, name: str) -> bool:
    """Tell whether the last file of a traceback is called after a distribution: ``xgrammar_backend.py``, or ``pynccl.py``, which binds Python to it."""
    base = _last_file(trace)
    spelled = (core.replace("-", "_") for core in _cores(name) if len(core) >= _LEAST) if base else ()
    return any(core in base and re.search(rf"(?<![a-z])(?:py)?{re.escape(core)}(?![a-z])", base) for core in spelled)


def names_file(text: str, path: str) -> bool:
    """Tell whether a text holds a file's base name, or the dotted name of its module."""
    base = path.rsplit("/", 1)[-1]
    if len(base) > _LEAST and base in text and base != "__init__.py" and re.search(rf"(?<![\w.-]){re.escape(base)}(?![\w-])", text):
        return True
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return module.count(".") > 1 and module in text


@lru_cache(maxsize=64)
def _flat(text: str) -> str:
    return re.sub(r"[-_.:/]+", "-", text.lower())


@lru_cache(maxsize=64)
def _small(text: str) -> str:
    return text.lower()


@lru_cache(maxsize=64)
def _last_file(trace: str) -> str:
    return trace.rstrip().rpartition("\n")[2].partition('", line')[0].rpartition("/")[2].lower()


@lru_cache(maxsize=64)
def _missing(text: str) -> tuple[str, ...]:
    return tuple(missing_symbols(text))


@lru_cache(maxsize=_MOST_NAMES)
def _flat_cores(name: str) -> tuple[str, ...]:
    return tuple(re.sub(r"[-_.:/]+", "-", core.lower()) for core in _cores(name))


@lru_cache(maxsize=_MOST_NAMES)
def _first_parts(name: str) -> frozenset[str]:
    return frozenset(core.replace("_", "-").partition(".")[0] for core in _cores(name))


@lru_cache(maxsize=_MOST_NAMES)
def _cores(name: str) -> tuple[str, ...]:
    """Return the names under which code knows a distribution: ``apache-tvm-ffi`` is ``tvm-ffi`` too; the longest first."""
    cores = {name, _TAIL.sub("", name), _VENDOR.sub("", _TAIL.sub("", name))}
    known = {one.replace("_", "-").rstrip(":") for one in code_names(name)}
    return tuple(sorted({core for core in cores if len(core) >= _LEAST or core == name} | known, key=lambda core: (-len(core), core)))


@lru_cache(maxsize=4096)
def _package_pattern(name: str) -> re.Pattern[str]:
    spelled = "|".join(re.sub(r"\\-|\\\.|::|/", r"(?:[-_./]|::)", re.escape(core)) for core in _cores(name))
    as_code = rf"(?:(?<![\w.-])|(?<![\w.-])lib)(?:{spelled})(?:\.\w|::|/|==|>=|<=|~=|['\"\]]|: )"
    as_library = rf"(?<![\w.-])(?:lib)?(?:{spelled})\w*\.so\b"
    as_words = rf"(?:import|module named|module|package|requires|distribution) ['\"`]?(?:{spelled})(?![\w-])"
    with_version = rf"(?<![\w./-])(?:{spelled})(?: is (?:not )?(?:installed|required)| \(?v?\d+\.\d| version\b)"
    return re.compile(f"{as_code}|{as_library}|{as_words}|{with_version}")
