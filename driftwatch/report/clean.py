"""Makes text of other hosts harmless: what would steer a terminal is shown, never obeyed. Knows nothing of layout."""

from __future__ import annotations

import unicodedata

STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def clean(text: str) -> str:
    r"""Return the text with control and format characters, line separators and lone surrogates shown as ``\x1b`` or ``\u202e``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(one) if unicodedata.category(one) in STEERING else one for one in text)


def _shown(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
