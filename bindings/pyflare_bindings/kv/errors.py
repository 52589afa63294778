"""The error of a KV namespace."""

from __future__ import annotations


class KVError(Exception):
    """A request that was refused.

    `status` is the HTTP status with which the platform's service refuses it, and `str()` its words;
    a worker sees both behind `KV <OP> failed: `.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
