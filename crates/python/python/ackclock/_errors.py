"""Errors as the engine raises them, and modules that are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ackclock import _native


def failed(message: str, remedy: str) -> _native.Error:
    """An error with a remedy."""
    error = _native.Error(f"{message}\n  help: {remedy}")
    error.message, error.remedy, error.line, error.key = message, remedy, None, None
    return error


def first_line(error: BaseException) -> str:
    """What an error of another package says, in short."""
    return next(iter(str(error).splitlines()), type(error).__name__)


@contextmanager
def needed(by: str, extra: str) -> Iterator[None]:
    """Says what to install if a module is missing that is imported here."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        message = f"{by} needs the package {package}: pip install 'ackclock[{extra}]'"
        raise ModuleNotFoundError(message, name=error.name) from None
