"""The names of types, without ``typing``: importing that costs half of what Python itself costs to start, and only a type checker needs it.

``NamedTuple`` makes the same classes as typing's. That one would also compile each annotation, which here are texts that nobody evaluates.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import *
else:
    from collections import namedtuple

    class _Form:
        """Stands for any type; what is written in brackets behind it changes nothing."""

        def __getitem__(self, _parts):
            return self

    class _Maker(type):
        """Turns a class of annotated fields into a namedtuple with its methods."""

        def __new__(cls, name, _bases, body):
            fields = list(body["__annotations__"])
            made = namedtuple(name, fields, defaults=[body[field] for field in fields if field in body], module=body["__module__"])
            for key, value in body.items():
                if key not in fields:
                    setattr(made, key, value)
            return made

    Any = Callable = Dict = Generator = Iterable = Iterator = List = Mapping = NoReturn = Optional = Sequence = Set = Tuple = Union = _Form()
    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})
