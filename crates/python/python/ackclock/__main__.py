"""`python -m ackclock`: sweeps on clusters from a shell. Everything else the program `ackclock` does."""

from __future__ import annotations

import argparse
import json
import socket
import sys
import warnings

from ackclock import Error, __version__
from ackclock._errors import failed, first_line, needed
from ackclock._sweep import KEPT, sweep


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ackclock", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("sweep", help="run the sweep of a scenario file, and keep its points")
    command.add_argument("file", metavar="FILE", help="the scenario file (TOML)")
    command.add_argument("--store", required=True, metavar="DIR", help="the directory of finished points")
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="set a value of the scenario; may be repeated"
    )
    where = command.add_mutually_exclusive_group()
    where.add_argument("--threads", type=int, metavar="N", help="threads of this machine; default: all cores")
    where.add_argument("--dask", metavar="ADDRESS", help="the scheduler of a cluster of Dask")
    where.add_argument("--ray", metavar="ADDRESS", help="the head of a cluster of Ray, or auto")
    command.add_argument("--table", default="points", choices=KEPT, help="the table that --out has")
    command.add_argument("--out", metavar="FILE", help="write a table of all points into this Parquet file")
    command.set_defaults(run=_sweep)
    return parser


def _settings(texts: list[str]) -> dict[str, object]:
    """What --set says. A value that is no JSON is a text."""
    settings = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise Error(f"--set {text}: a setting has the form key=value")
        try:
            settings[key.strip()] = json.loads(value)
        except json.JSONDecodeError:
            settings[key.strip()] = value.strip()
    return settings


def _ray(address: str) -> object:
    """Ray, connected to the cluster there."""
    with needed("a sweep on Ray", "ray"):
        import ray

    host, _, port = address.rpartition(":")
    try:
        # Ray itself waits for minutes for a head that is not there.
        if host and port.isdigit() and "://" not in address:
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address)
    except (OSError, RuntimeError, ValueError) as error:
        raise failed(
            f"no head of Ray answers at {address}: {first_line(error)}",
            "check the address, and whether it runs there: ray start --head",
        ) from error
    return ray


def _sweep(arguments: argparse.Namespace) -> int:
    executor: object = arguments.threads if arguments.dask is None else arguments.dask
    if arguments.ray:
        executor = _ray(arguments.ray)

    def progress(done: int, count: int) -> None:
        print(f"\r{done} of {count} points", end="", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failures are printed below
        results = sweep(
            arguments.file,
            set=_settings(arguments.set),
            executor=executor,
            store=arguments.store,
            progress=progress if sys.stderr.isatty() else None,
        )
    print(f"{len(results)} points, {results.computed} of them computed now, are in {results.store}")
    for failure in results.failures:
        print(f"failed: {failure['parameters']} seed {failure['seed']}: {failure['why']}", file=sys.stderr)
    if arguments.out:
        results.to_parquet(arguments.out, arguments.table)
        print(f"wrote {arguments.out}")
    return 1 if results.failures else 0


def main() -> int:
    arguments = _parser().parse_args()
    try:
        return arguments.run(arguments)
    except (Error, ModuleNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"interrupted: {interrupt}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
