"""`siltstone.open`: the engine in this process behind the same methods as a client."""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from siltstone.api import Api
from siltstone.config import Settings
from siltstone.data import from_data
from siltstone.engine import Call, Engine
from siltstone.files import Sink, pour
from siltstone.model import ROLES, check_roles
from siltstone.operations import OPERATIONS


class Local(Api):
    """A data directory opened in this process. Close it, or use it in a ``with``.

    Args:
        roles: what its calls may do, of `siltstone.model.ROLES`.
    """

    def __init__(self, engine: Engine, roles: Iterable[str] = ROLES) -> None:
        self.engine = engine
        self._roles = check_roles(roles)

    def close(self) -> None:
        self.engine.close()

    def __enter__(self) -> "Local":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(
        self,
        rpc: str,
        given: dict[str, Any],
        then: Callable[[Any], Any] | None = None,
        sink: Sink | None = None,
    ) -> Any:
        operation = OPERATIONS[rpc]
        request: Any
        if operation.request_stream:
            request = (from_data(operation.request, message) for message in given["messages"])
        else:
            request = from_data(operation.request, given)
        response = getattr(self.engine, operation.method)(request, Call(roles=self._roles))
        if sink is not None:
            return pour(response, sink)
        return then(response) if then else response


def open(path: str | Path, *, settings: Settings | None = None) -> Local:
    """Open or create the data directory `path` in this process; no server is needed.

    Raises:
        FailedPreconditionError: another process has it open, or the embedding model does not load.
    """
    return Local(Engine.open(path, settings))
