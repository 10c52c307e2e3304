"""SHA-256 without ``hashlib``, whose import looks up every kind of digest that OpenSSL has: a twelfth of what Python itself takes to start."""
from __future__ import annotations

try:
    from _hashlib import openssl_sha256 as sha256
except ImportError:  # a Python that was built without OpenSSL
    from hashlib import sha256

__all__ = ["sha256"]
