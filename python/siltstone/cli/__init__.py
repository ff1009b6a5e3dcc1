"""The command line. Commands import what they need when they run, so that help and clients start fast."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """The entry of the `siltstone` program; see `siltstone.cli.program.main`."""
    from siltstone.cli import program

    return program.main(argv)
