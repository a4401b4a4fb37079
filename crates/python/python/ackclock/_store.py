"""A store of finished points: Parquet files in a directory that any number of hosts may share.

Each file is a *part*: some points, a row for each, with the digest of what determines its result. A part gets
its name when it is complete, so that a part that can be seen is whole. Its name is a digest of its points and
of the build that computed them. There is no database, and nothing is ever locked: what is computed twice by
chance is the same, byte by byte.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from pathlib import Path
from typing import Any

from ackclock import _native
from ackclock._build import build

# The file that says which build the points are of.
_BUILD = "build"
# How names of parts begin and end; others are ignored.
_PART, _ENDING = "part-", ".parquet"


class Store:
    """The store in this directory, which is made if need be."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = Path(directory).absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if self.path.stat().st_uid != os.geteuid():
                raise PermissionError("it belongs to another user")
            self._claim()
        except OSError as error:
            raise _failed(f"the store {self.path} cannot be used: {error}", "give another directory") from error

    def _claim(self) -> None:
        """Says which build the points are of, or finds out that they are of another one."""
        own = f"{build()} {_native.__version__}"
        file = self.path / _BUILD
        if not file.exists():
            partial = self.path / f".{_BUILD}.{uuid.uuid4().hex}.partial"
            partial.write_text(own + "\n")
            try:
                os.link(partial, file)  # fails if another host was first
            except FileExistsError:
                pass
            finally:
                partial.unlink()
        kept = file.read_text().strip()
        if kept != own:
            raise _failed(
                f"the store {self.path} has points of the build {kept}, and this is the build {own}",
                "another build may give other results: give another directory, or install that build again",
            )

    def names(self) -> list[str]:
        """The names of all parts."""
        names = (entry.name for entry in os.scandir(self.path))
        return sorted(name for name in names if name.startswith(_PART) and name.endswith(_ENDING))

    def digests(self, name: str) -> bytes | None:
        """The digests of the points in a part; None if it cannot be read."""
        from pyarrow import ArrowInvalid, parquet

        try:
            file = parquet.ParquetFile(self.path / name, page_checksum_verification=True)
            column = file.read(columns=["digest"]).column("digest")
            return bytes.fromhex("".join(column.to_pylist()))
        except (ArrowInvalid, OSError, ValueError, KeyError):
            return None

    def read(self, name: str) -> Any:
        """The rows of a part, as one record batch."""
        from pyarrow import parquet

        file = parquet.ParquetFile(self.path / name, page_checksum_verification=True)
        return file.read().combine_chunks().to_batches()[0]

    def write(self, batch: Any) -> str:
        """Keeps the rows of finished points. Returns the name of their part."""
        data = encoded(batch)
        name = part_name(batch)
        self.put(name, data)
        return name

    def put(self, name: str, data: bytes) -> None:
        """Keeps an encoded part."""
        partial = self.path / f".{name}.{uuid.uuid4().hex}.partial"
        try:
            with open(partial, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path / name)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def part_name(batch: Any) -> str:
    """The name of the part with these points."""
    points = "".join(batch.column("digest").to_pylist())
    return f"{_PART}{hashlib.sha256(f'{build()} {points}'.encode()).hexdigest()[:32]}{_ENDING}"


def encoded(batch: Any) -> bytes:
    """Rows as Parquet."""
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    # Numbers hardly repeat: dictionaries of them cost more than they save.
    parquet.write_table(
        pyarrow.Table.from_batches([batch]),
        sink,
        compression="zstd",
        use_dictionary=False,
        write_page_checksum=True,
        write_statistics=False,
    )
    return sink.getvalue().to_pybytes()


def _failed(message: str, remedy: str) -> _native.Error:
    error = _native.Error(f"{message}\n  help: {remedy}")
    error.message, error.remedy, error.line, error.key = message, remedy, None, None
    return error
