"""Makes real package folders: small wheels as zip files, unpacked with a RECORD as an installer writes it, and virtual environments."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

from driftwatch.agent.host import Host, Settings, Target
from driftwatch.agent.real import RealRoot
from tests.agent.recording import told

WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def record_line(path: str, data: bytes) -> str:
    """Return the line that a RECORD has for a file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}"


def wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: tuple[str, ...] = ()) -> Path:
    """Return a wheel with these files, as a build tool would make it."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {one}\n" for one in requires) + "\nWhat it is.\n"
    contents = {**files, f"{info}/METADATA": metadata, f"{info}/WHEEL": WHEEL}
    lines = [record_line(path, text.encode()) for path, text in contents.items()]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in {**contents, f"{info}/RECORD": "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"}.items():
            archive.writestr(inner, text)
    return path


def install(site: Path, name: str, version: str, files: dict[str, str] | None = None, **more: Any) -> Path:
    """Unpack a wheel into a package folder, RECORD last, and return the dist-info folder. ``requires`` as for a wheel, ``direct_url`` as text."""
    direct_url = more.pop("direct_url", None)
    made = wheel(site.parent / "wheels", name, version, files or {}, **more)
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    extra = {"INSTALLER": "pip\n", **({"direct_url.json": direct_url} if direct_url else {})}
    with zipfile.ZipFile(made) as archive:
        archive.extractall(site, [one for one in archive.namelist() if not one.endswith("/RECORD")])
        lines = archive.read(f"{info.name}/RECORD").decode()
    for inner, text in extra.items():
        (info / inner).write_text(text)
        lines += record_line(f"{info.name}/{inner}", text.encode()) + "\n"
    (info / "RECORD").write_text(lines)
    return info


def edit(path: Path, text: str) -> None:
    """Write a file anew, surely at a later moment than what was written before (the kernel's file clock ticks every few ms)."""
    time.sleep(0.02)
    path.write_text(text)


def venv(folder: Path) -> tuple[str, Path]:
    """Make a virtual environment without pip; return its interpreter and its package folder."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python"), next((folder / "lib").glob("python3*")) / "site-packages"


def host_for(*sites: Path, python: str = sys.executable, source: str | None = None, **settings: Any) -> Host:
    """Return this machine as a host whose serving interpreter has these package folders."""
    host = Host(RealRoot(), Settings()._replace(**settings))
    host.targets = (Target(python, tuple(map(str, sites)), source, "the test says so"),)
    return host


def facts_of(collect: Any, host: Host) -> dict[str, Any]:
    """Return the facts that a collector tells; it must end well."""
    facts, status, reason = told(collect, host)
    assert (status, reason) == ("ok", "")
    return facts
