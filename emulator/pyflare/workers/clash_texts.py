"""Why workers cannot be kept apart, and what to do: the texts of IsolationError."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["clash_text", "threads_text"]


def threads_text(clashes: Mapping[str, list[str]]) -> str:
    """For workers in different threads."""
    if folders := _of_one_worker(clashes):
        return (
            "the modules of one Worker are to be loaded twice at a time, on event loops in different threads: "
            f"{folders}.\n"
            "Close the first Pyflare before the second one starts, or make both before the first one starts, so that "
            "they share a loop."
        )
    lines = [f"  {name}: {', '.join(dict.fromkeys(owners))}" for name, owners in clashes.items()]
    return "\n".join(
        [
            "the modules of Workers on two event loops in different threads cannot be kept apart:",
            *lines,
            "Give all their configurations to one Pyflare, or make every Pyflare before the first one starts, so that "
            "they share a loop.",
        ]
    )


def _of_one_worker(clashes: Mapping[str, list[str]]) -> str:
    """The folders, where all names clash with themselves."""
    if not clashes or any(len(set(owners)) > 1 for owners in clashes.values()):
        return ""
    return ", ".join(sorted({owners[0] for owners in clashes.values()}))


def clash_text(clashes: Mapping[str, list[str]]) -> str:
    """For workers on a loop that cannot switch modules."""
    if folders := _of_one_worker(clashes):
        return "\n".join(
            [
                "the modules of one Worker are to be loaded twice at a time, and the running event loop cannot keep "
                f"the copies apart: {folders}.",
                "Close the first Pyflare before the second one starts (under pytest: keep async tests with `pyflare` "
                "and those with `pyflare_shared` in different modules), or run both on a loop that can, with "
                "asyncio.Runner(loop_factory=flare.switching_loop).",
            ]
        )
    lines = [f"  {name}: {', '.join(dict.fromkeys(owners))}" for name, owners in clashes.items()]
    return "\n".join(
        [
            "these module names mean different modules, and the running event loop cannot switch "
            "between them:",
            *lines,
            "Run them on a loop that can, with asyncio.Runner(loop_factory=flare.loop_factory), or "
            "rename the modules.",
        ]
    )
