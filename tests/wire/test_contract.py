import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from siltstone.operations import OPERATIONS
from siltstone.wire import METHODS, SERVICES

ROOT = Path(__file__).parents[2]
PROTOS = sorted((ROOT / "proto/siltstone/v1").glob("*.proto"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[descriptor_pb2.FileDescriptorProto]:
    protoc = pytest.importorskip("grpc_tools.protoc")
    out = tmp_path_factory.mktemp("contract") / "set.bin"
    arguments = [
        "protoc",
        f"--proto_path={ROOT / 'proto'}",
        f"--proto_path={resources.files('grpc_tools') / '_proto'}",
        "--include_source_info",
        f"--descriptor_set_out={out}",
        *(f"siltstone/v1/{path.name}" for path in PROTOS),
    ]
    assert protoc.main(arguments) == 0
    return list(descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file)


def elements(file: Any) -> Iterator[tuple[tuple[int, ...], str]]:
    """Path (as in SourceCodeInfo) and name of everything that needs a comment."""

    def of_enum(enum: Any, at: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
        yield at, enum.name
        for i, value in enumerate(enum.value):
            yield (*at, 2, i), value.name

    def of_message(message: Any, at: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
        if message.options.map_entry:
            return
        yield at, message.name
        for i, field in enumerate(message.field):
            yield (*at, 2, i), f"{message.name}.{field.name}"
        for i, inner in enumerate(message.nested_type):
            yield from of_message(inner, (*at, 3, i))
        for i, enum in enumerate(message.enum_type):
            yield from of_enum(enum, (*at, 4, i))

    for i, message in enumerate(file.message_type):
        yield from of_message(message, (4, i))
    for i, enum in enumerate(file.enum_type):
        yield from of_enum(enum, (5, i))
    for i, service in enumerate(file.service):
        yield (6, i), service.name
        for j, rpc in enumerate(service.method):
            yield (6, i, 2, j), rpc.name


def comments(file: Any) -> dict[tuple[int, ...], str]:
    return {tuple(place.path): place.leading_comments for place in file.source_code_info.location}


def test_every_element_of_the_contract_has_a_comment(files: list[Any]) -> None:
    assert len(files) == len(PROTOS)
    bare = [name for f in files for path, name in elements(f) if not comments(f).get(path, "").strip()]
    assert bare == []


def test_every_rpc_says_its_errors(files: list[Any]) -> None:
    said = {
        name: comments(f)[path]
        for f in files
        for path, name in elements(f)
        if len(path) == 4 and path[0] == 6
    }
    assert said.keys() == OPERATIONS.keys()
    assert [name for name, text in said.items() if "Errors: " not in text] == []


def test_every_enum_begins_unspecified_and_bears_its_name(files: list[Any]) -> None:
    for file in files:
        for enum in file.enum_type:
            prefix = "".join("_" + c if c.isupper() else c.upper() for c in enum.name).lstrip("_") + "_"
            assert enum.value[0].name == prefix + "UNSPECIFIED"
            assert all(value.name.startswith(prefix) for value in enum.value)


def test_services_and_rpcs_are_those_of_the_table() -> None:
    rpcs = {(s.name, m.name) for s in SERVICES.values() for m in s.methods}
    assert rpcs == {(operation.service, operation.rpc) for operation in OPERATIONS.values()}


def test_every_rpc_has_a_request_of_its_own_and_streams_as_the_table_says() -> None:
    for rpc, method in METHODS.items():
        service = SERVICES[f"siltstone.v1.{method.operation.service}"]
        found = service.methods_by_name[rpc]
        assert found.input_type.name == f"{rpc}Request"
        assert found.client_streaming == method.operation.request_stream
        assert found.server_streaming == method.operation.response_stream


def test_generated_files_are_those_the_sources_give() -> None:
    pytest.importorskip("grpc_tools")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/generate.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
