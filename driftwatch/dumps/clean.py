"""A paste as it reaches us -> plain lines: without quoting, escapes, code fences, a forge's links and the prefix that a log collector put before each line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from driftwatch.dumps.format import FENCE, NoDump
from driftwatch.dumps.joined import apart
from driftwatch.dumps.variants import unquoted, variants

LARGEST_TEXT = 16 << 20
LONGEST_LINE = 1 << 18
MOST_LINES = 400_000
MOST_STRANGE = 0.02
_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_BARE_ESCAPES = re.compile(r"(?:\^\[)?\[\d{1,3}(?:;\d{1,3}){0,4}m")  # colours whose escape character was lost, or is written out
_RESET = re.compile(r"\[0(?:;0)?m")
_BREAK = re.compile(r"<br ?/?>[ \t]{0,4}(?=\n|\Z)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([_*#~])")
_TYPED_SIGNS = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\uff1a": ": "})  # an editor's quotation marks, a wide colon
_FENCE = re.compile(r"\s*(?:```|~~~)[`~]*\s*[\w+.-]*\s*\Z")
_TAG = re.compile(
    r"</?(?:details|summary|pre|code|br|p|div|blockquote|samp|kbd|font|span|b|i|u|em|strong)(?: [^<>\n]{0,200})?/?>|<!--[^\n]{0,500}?-->", re.IGNORECASE)
_BLOCK_TAG = re.compile(r"</?(?:details|summary|pre|br|p|div|blockquote)\b", re.IGNORECASE)
_LINK = re.compile(r"\[([^\[\]\s]{1,200})\]\((?:https?://|mailto:)[^()\s]{1,400}\)")
_STARTS = re.compile(  # where the first line of a dump can follow other text, because a line end was lost
    r"Collecting environment information\.\.\.|Python: \d\.\d+\.\d+ [(|]|\+-{20,}|(?<=\S)Package\s{2,}Version\s*\Z|nvcc: NVIDIA \(R\) Cuda compiler"
    r"|# packages in environment at |(?<=[^=\s\[+-])={28,}\Z|PyTorch version(?: {0,20}): |ulimit soft: ")
_BEHIND = re.compile(r"(Collecting environment information\.\.\.|ulimit soft: (?:\d+|unlimited))(?=[A-Za-z=+])")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&nbsp;", " "), ("&amp;", "&"))
_NUMBERED = re.compile(r"&#(\d{2,4});")
_STRANGE = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")


@dataclass(frozen=True)
class Lines:
    """A paste as lines; ``is_whole`` tells whether its last line was ended."""

    lines: tuple[str, ...]
    is_whole: bool


def decode(data: bytes) -> str:
    """Return the text that bytes hold, in UTF-8 or, where a mark says so, UTF-16. Raises NoDump for what is no text or too large."""
    if len(data) > LARGEST_TEXT:
        raise NoDump(f"it has {len(data):,} bytes, and a dump of at most {LARGEST_TEXT:,} is read")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        raise NoDump("it holds zero bytes, so it is no text")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def clean(text: str) -> tuple[Lines, ...]:
    """Return a paste as lines: as it is and, where most of its lines share what was put around them, also without that."""
    _admit(text)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ").replace("\u200b", "")
    text = _ESCAPED.sub(r"\1", _LINK.sub(r"\1", _uncoloured(text)).translate(_TYPED_SIGNS))
    text = _NUMBERED.sub(lambda found: sign if (sign := chr(int(found[1]))).isprintable() else " ", text)
    for entity, sign in _ENTITIES:
        text = text.replace(entity, sign)
    is_whole = text.endswith("\n")
    lines = unquoted(_BREAK.sub("", text).split("\n"))
    if len(lines) > MOST_LINES:
        raise NoDump(f"it has {len(lines):,} lines, and a dump of at most {MOST_LINES:,} is read")
    if max(map(len, lines)) > LONGEST_LINE:
        raise NoDump(f"it has a line of {max(map(len, lines)):,} characters, and at most {LONGEST_LINE:,} are read")
    return tuple(Lines(tuple(_plain(one)), is_whole) for one in variants(lines))


def _uncoloured(text: str) -> str:
    """Return a text without escapes; without the rest of colour codes too, where a code that ends a colour is among them."""
    bare = _ESCAPES.sub("", text)
    return _BARE_ESCAPES.sub("", bare) if _RESET.search(bare) else bare


def _admit(text: str) -> None:
    if len(text) > LARGEST_TEXT:
        raise NoDump(f"it has {len(text):,} characters, and a dump of at most {LARGEST_TEXT:,} is read")
    if not text.strip():
        raise NoDump("it is empty")
    if "\0" in text or len(_STRANGE.findall(text)) > MOST_STRANGE * len(text) + 20:
        raise NoDump("it is no text: it holds bytes that no text has")


def _plain(lines: list[str]) -> list[str]:
    """Return lines with fences and block tags as FENCE, other tags taken out, and a line that two dumps share cut in two."""
    found: list[str] = []
    is_xml = False
    for line in lines:
        is_xml = _goes_on(line, is_xml=is_xml)
        for piece in _unfenced(line) if "`" in line else (line,):
            for bare in _untagged(piece) if "<" in piece and not is_xml else (piece,):
                found.extend(_apart(bare) if bare != FENCE else (bare,))
    return found


def _goes_on(line: str, *, is_xml: bool) -> bool:
    """Tell whether a line is within what ``nvidia-smi -q -x`` printed, whose elements are no markup: one of them is called ``summary``."""
    if "<nvidia_smi_log" in line:
        return "</nvidia_smi_log" not in line
    return is_xml and "</nvidia_smi_log" not in line and "```" not in line and "details>" not in line


def _unfenced(line: str) -> list[str]:
    """Return a line with a fence, also one that shares it with text, as FENCE; backticks at its ends are taken off where it has no other."""
    if _FENCE.match(line):
        return [FENCE]
    bare = line.strip()
    if bare.startswith("```"):
        return [FENCE, *_unfenced(bare.lstrip("`"))]
    if bare.endswith("```"):
        return [*_unfenced(bare.rstrip("`")), FENCE]
    at_ends = (bare[:1] == "`") + (bare[-1:] == "`")
    return [line.replace("`", "")] if at_ends == line.count("`") else [line]


def _untagged(line: str) -> list[str]:
    pieces: list[str] = []
    done = 0
    text = ""
    for tag in _TAG.finditer(line):
        text += line[done:tag.start()]
        done = tag.end()
        if _BLOCK_TAG.match(tag.group()):
            pieces += [text, FENCE] if text.strip() else [FENCE]
            text = ""
    text += line[done:]
    return [*pieces, text] if text.strip() or not pieces else pieces


def _apart(line: str) -> list[str]:
    """Return a line, cut before the first line of another dump that follows other text in it, and behind an opening line."""
    cuts = [0]
    cuts += [found.start() for found in _STARTS.finditer(line) if line[:found.start()].strip(" \t-*\u2022+")]  # a bullet is no text before it
    cuts += [found.end() for found in _BEHIND.finditer(line)]
    cuts = sorted(set(cuts))
    pieces = [line[start:end].rstrip() for start, end in zip(cuts, [*cuts[1:], len(line)], strict=True)]
    return [one for piece in pieces for one in apart(piece)]
