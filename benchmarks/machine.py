"""What the run was measured on."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import apsw

PACKAGES = ("pyflare", "uvicorn", "httptools", "uvloop", "starlette", "apsw", "greenlet")


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} absent"


def facts(directory: Path, client: str) -> dict[str, str]:
    """Processor, interpreter, versions, where the databases lie and how busy the machine was."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}"
        + (" (free-threaded)" if not getattr(sys, "_is_gil_enabled", lambda: True)() else ""),
        "packages": ", ".join(map(_version, PACKAGES)),
        "sqlite": apsw.sqlite_lib_version(),
        "databases": f"{_file_system(directory)} file system",
        "load client": client,
        "load average at the start": load,
    }


def _file_system(directory: Path) -> str:
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return "unknown"
    best, kind = "", "unknown"
    for line in mounts.read_text().splitlines():
        _, point, this_kind, *_ = line.split()
        if directory.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, this_kind
    return kind
