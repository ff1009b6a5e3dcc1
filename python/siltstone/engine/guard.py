"""The one place where it is decided whether a caller may make a call.

`guarded` puts it before every operation of the engine, so no door can leave it out. What a call needs and
reaches stands in the table of `siltstone.operations`. To a caller whose token opens only some namespaces the
others are as if they had never been: the same error as for a name or an id that there is not, raised here for
both, before anything else in the request is looked at. What names no namespace (lists over all of them)
leaves out, by `Call.sees`, what the caller does not see.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from itertools import chain, islice
from typing import Any, TypeVar

from siltstone.engine.call import PUBLIC, Call
from siltstone.engine.core import Core, found, namespace_not_found
from siltstone.engine.validate import check_id, check_namespace
from siltstone.errors import NotFoundError, PermissionDeniedError
from siltstone.operations import OPERATIONS, Operation, Reach

T = TypeVar("T", bound=Core)
M = TypeVar("M")

_BY_ID = frozenset({"memory", "task", "job"})


def guarded(engine: type[T]) -> type[T]:
    """The class with a guard before each of its operations."""
    for operation in OPERATIONS.values():
        if method := getattr(engine, operation.method, None):
            setattr(engine, operation.method, _guarded(operation, method))
    return engine


def check(core: Core, operation: Operation, request: Any, call: Call) -> None:
    """Refuse a call that the caller may not make.

    Raises:
        PermissionDeniedError: (ROLE_REQUIRED) for want of a role, whatever the request is about;
            (WHOLE_STORE_REQUIRED) it is about the store and the caller's token opens a part of it;
            (READ_ONLY_NAMESPACE) it changes `public`, which the caller may only read.
        NotFoundError: it reaches what there is not, or what this caller does not see.
    """
    call.require_any(operation.roles, f"call {operation.rpc}")
    if call.namespaces.whole:
        return
    reaches = list(operation.reaches(request))
    for reach, namespace in zip(reaches, _namespaces(core, reaches), strict=True):
        # A repeat of what this caller was allowed to do is answered as the first time, though an id that it
        # erased is unknown by now. What it is not allowed to see any more, it is not.
        if namespace is not None or not _is_repeat(core, operation, request, call):
            _check_reach(operation, reach, namespace, call)


def _is_repeat(core: Core, operation: Operation, request: Any, call: Call) -> bool:
    return bool(getattr(request, "request_id", "")) and (
        core.answered(operation.rpc, request, call) is not None
    )


def _namespaces(core: Core, reaches: Sequence[Reach]) -> list[str | None]:
    """In which namespace each is, "" for the store; None for an id that nothing has."""
    ids = {reach.name: check_id(reach.name, reach.field) for reach in reaches if reach.kind in _BY_ID}
    if not ids:
        return [reach.name for reach in reaches]
    with core.store.read() as reader:
        found_in = {name: reader.namespace_of(id) for name, id in ids.items()}
    return [found_in[reach.name] if reach.kind in _BY_ID else reach.name for reach in reaches]


def _check_reach(operation: Operation, reach: Reach, namespace: str | None, call: Call) -> None:
    if reach.kind == "store":
        raise PermissionDeniedError(
            f"{operation.rpc} is about the whole store; it takes a token for '**', this one is for "
            + ", ".join(call.namespaces.texts),
            reason="WHOLE_STORE_REQUIRED",
        )
    if reach.kind == "namespace":
        check_namespace(reach.name, reach.field)
    if namespace is None or not call.sees(namespace):
        raise _not_found(reach)
    if call.namespaces.match(namespace):
        return
    if "reader" not in operation.roles:
        raise PermissionDeniedError(
            f"{reach.field}: this caller may read {PUBLIC!r} and not change it; a token that is to change it "
            "names it among its namespaces",
            reason="READ_ONLY_NAMESPACE",
            field=reach.field,
        )


def _not_found(reach: Reach) -> NotFoundError:
    if reach.kind == "namespace":
        return namespace_not_found(reach.name, reach.field)
    try:
        found(None, reach.kind, check_id(reach.name, reach.field), reach.field)
    except NotFoundError as error:
        return error
    raise AssertionError("nothing is never found")


def _guarded(operation: Operation, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def one(self: Core, request: Any, call: Call) -> Any:
        check(self, operation, request, call)
        answer = method(self, request, call)
        return _while_valid(answer, call) if operation.response_stream else answer

    @wraps(method)
    def stream(self: Core, messages: Iterable[Any], call: Call) -> Any:
        messages = iter(messages)
        first = list(islice(messages, 1))
        check(self, operation, first[0] if first else operation.request(), call)
        return method(self, _while_valid(chain(first, messages), call), call)

    return stream if operation.request_stream else one


def _while_valid(messages: Iterable[M], call: Call) -> Iterator[M]:
    """The messages, for as long as the caller's token is valid."""
    for message in messages:
        call.still_valid()
        yield message
