import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from siltstone.errors import (
    BY_STATUS,
    InternalError,
    InvalidArgumentError,
    SiltstoneError,
    StaleRevisionError,
    UnavailableError,
)
from siltstone.wire import from_status, to_status

CLASSES = SiltstoneError.__subclasses__()


def there_and_back(error: SiltstoneError) -> SiltstoneError:
    return from_status(error.status, error.message, to_status(error).SerializeToString())


def details(error: SiltstoneError, kind: type[Message]) -> list[Message]:
    found = []
    for detail in to_status(error).details:
        message = kind()
        if detail.Unpack(message):
            found.append(message)
    return found


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_comes_back_as_itself(kind: type[SiltstoneError]) -> None:
    back = there_and_back(kind("坏了：a\nb", reason="SPECIAL_REASON", field="drafts[2].标签"))
    assert type(back) is kind
    assert (back.message, back.reason, back.field) == ("坏了：a\nb", "SPECIAL_REASON", "drafts[2].标签")


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_keeps_its_default_reason(kind: type[SiltstoneError]) -> None:
    back = there_and_back(kind("x"))
    assert (back.reason, back.field) == (kind.default_reason, "")


def test_every_class_has_a_status_of_its_own() -> None:
    assert len(BY_STATUS) == len(CLASSES)


def test_a_field_at_fault_is_a_violation_for_other_languages() -> None:
    (bad,) = details(InvalidArgumentError("no", field="top_k"), error_details_pb2.BadRequest)
    assert bad.field_violations[0].field == "top_k"
    assert not details(InvalidArgumentError("no"), error_details_pb2.BadRequest)


def test_only_what_a_retry_may_mend_says_when_to_retry() -> None:
    told = {kind.status for kind in CLASSES if details(kind("x"), error_details_pb2.RetryInfo)}
    assert told == {"UNAVAILABLE", "RESOURCE_EXHAUSTED"}


def test_a_long_text_is_cut_so_that_the_trailers_fit() -> None:
    error = InvalidArgumentError("坏" * 10_000, field="字" * 10_000)
    status = to_status(error)
    percent_encoded = 3 * len(status.message.encode())
    assert percent_encoded + len(status.SerializeToString()) * 4 / 3 < 8 * 1024
    assert status.message.endswith("…")
    assert there_and_back(error).field.startswith("字字")


def test_a_status_of_another_server_maps_by_its_code() -> None:
    assert isinstance(from_status("ABORTED", "x"), StaleRevisionError)
    assert isinstance(from_status("CANCELLED", "x"), UnavailableError)
    assert isinstance(from_status("DATA_LOSS", "x"), InternalError)
    assert isinstance(from_status("UNKNOWN", "x", b"\xff\xff"), InternalError)


def test_details_of_another_domain_give_no_reason() -> None:
    status = status_pb2.Status(code=3)
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason="THEIRS", domain="example.com"))
    assert from_status("INVALID_ARGUMENT", "x", status.SerializeToString()).reason == "INVALID_ARGUMENT"
