"""The names of types, without ``typing``: importing that costs half of what Python itself costs to start, and only a type checker needs it.

``Regex`` is a pattern that is compiled where it is first asked: a probe asks few of those that it imports, and the controller asks none.
``NamedTuple`` makes the same classes as typing's. That one would also compile each annotation, which here are texts that nobody evaluates.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import *

    Regex = re.compile
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

    class Regex:
        """A pattern, and perhaps flags; whatever is asked of it, the compiled one answers."""

        def __init__(self, pattern, flags=0):
            self.pattern, self.flags = pattern, flags

        def __getattr__(self, name):
            import re  # noqa: PLC0415  # who asks no pattern does without

            setattr(self, name, getattr(re.compile(self.pattern, self.flags), name))
            return self.__dict__[name]
