"""A store of finished points: Parquet files in a directory that any number of hosts may share.

Each file is a *part*: some points, a row for each, with the digest of what determines its result. A part gets
its name when it is complete. The name is a digest of its bytes: what has other bytes is damaged, wherever that
is, and counts as absent. There is no database, and nothing is ever locked: what is computed twice by chance is
the same, byte by byte.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ackclock import _native
from ackclock._build import build
from ackclock._errors import failed

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
            raise failed(f"the store {self.path} cannot be used: {error}", "give another directory") from error

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
            raise failed(
                f"the store {self.path} has points of the build {kept}, and this is the build {own}",
                "another build may give other results: give another directory, or install that build again",
            )

    def names(self) -> list[str]:
        """The names of all parts."""
        names = (entry.name for entry in os.scandir(self.path))
        return sorted(name for name in names if name.startswith(_PART) and name.endswith(_ENDING))

    def digests(self, name: str) -> bytes | None:
        """The digests of the points in a part; None if it is damaged or gone."""
        data = self._whole(name)
        return data and bytes.fromhex("".join(_table(data, ["digest"]).column("digest").to_pylist()))

    def read(self, name: str, columns: list[str]) -> Any:
        """These columns of a part's rows, as one record batch."""
        data = self._whole(name)
        if data is None:
            raise failed(
                f"the part {self.path / name} is gone, or was damaged after the sweep had found it",
                "run the same sweep again: it computes what is missing",
            )
        return _table(data, columns).combine_chunks().to_batches()[0]

    def _whole(self, name: str) -> bytes | None:
        """The bytes of a part, if they are those that were kept."""
        try:
            data = (self.path / name).read_bytes()
        except OSError:
            return None
        return data if part_name(data) == name else None

    def keep(self, data: bytes) -> None:
        """Keeps an encoded part."""
        try:
            with replacing(self.path / part_name(data)) as file:
                file.write(data)
        except OSError as error:
            raise NotKept(f"{self.path}: {error}") from error


class NotKept(Exception):
    """Why a part could not be written, which is where the disk is full. It travels from workers to the driver:
    what Dask itself raises may be an OSError, too."""


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets this name when it is complete. Before, its name is unique among all hosts. Of what fails
    nothing is left."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with open(partial, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def part_name(data: bytes) -> str:
    """The name of an encoded part."""
    return f"{_PART}{hashlib.sha256(data).hexdigest()[:32]}{_ENDING}"


def _table(data: bytes, columns: list[str]) -> Any:
    """These columns of an encoded part."""
    from pyarrow import BufferReader, parquet

    return parquet.read_table(BufferReader(data), columns=columns)


def encoded(batch: Any) -> bytes:
    """Rows of finished points as a part: Parquet."""
    import pyarrow
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    # Numbers hardly repeat: dictionaries of them cost more than they save.
    parquet.write_table(
        pyarrow.Table.from_batches([batch]),
        sink,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
    )
    return sink.getvalue().to_pybytes()
