"""Opening: which class reaches a destination. A transport is one file: NAME.py holds a class whose SCHEME is NAME, for NAME://HOST."""
from __future__ import annotations

import importlib
import pkgutil
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .destination import BadDestination

if TYPE_CHECKING:
    from .destination import Destination, Options
    from .wire import Transport


def open_transport(destination: Destination, options: Options) -> Transport:
    """Return the transport for a destination; where no ``ssh`` is installed, paramiko stands in for openssh. BadDestination for an unknown scheme."""
    scheme = destination.scheme
    if scheme == "openssh" and shutil.which("ssh") is None:
        scheme = "paramiko"
    offered = _offered(scheme)
    if offered is None:
        known = ", ".join(["ssh", *sorted(name for name in _names() if _offered(name))])
        raise BadDestination(f'no transport is called "{scheme}"', f"one of: {known}")
    transport: Transport = offered(destination, options)
    return transport


def _names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]


def _offered(name: str) -> Any:
    """Return the transport class of a file, None where there is no such file or it holds none."""
    if name not in _names():
        return None
    module = importlib.import_module(f"{__package__}.{name}")
    return next((one for one in vars(module).values() if isinstance(one, type) and getattr(one, "SCHEME", None) == name), None)
