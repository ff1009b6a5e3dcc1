"""Tokens over real servers: how they are sent, that they end at once, and what they leave open."""

import queue
import time
from collections.abc import Iterator
from typing import Any

import grpc
import httpx2
import jwt
import pytest
import siltstone
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from siltstone.config import Settings
from siltstone.data import from_data
from siltstone.engine import Call
from siltstone.gateway import Gateway
from siltstone.local import Local
from siltstone.model.requests import ExportMemoriesRequest, TrajectoryChunk
from siltstone.server import IssuedTokens, Issuer, Server, serve
from siltstone.v1 import admin_pb2, admin_pb2_grpc, memory_service_pb2, memory_service_pb2_grpc, search_pb2

SETTINGS = Settings(
    embedding_model="hashing", hindsight_workers=0, max_memories_per_token=3, max_namespaces_per_token=2
)


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with siltstone.open(tmp_path_factory.mktemp("tokens"), settings=SETTINGS) as opened:
        opened.create_token("first", namespaces=["**"], roles=["admin"])
        yield opened


@pytest.fixture
def server(mem: Local) -> Iterator[Server]:
    """One a test, since failed attempts count."""
    running = serve(mem.engine, address="127.0.0.1:0")
    yield running
    running.stop(1)


def new(mem: Local, *roles: str, namespaces: tuple[str, ...] = ("team/**",)) -> Any:
    return mem.create_token("测试", namespaces=namespaces, roles=roles or ("reader", "writer"))


def code(server: Server, metadata: list[tuple[str, str]]) -> str:
    """Status and reason of a call of statistics with this metadata."""
    with grpc.insecure_channel(server.address) as channel:
        try:
            admin_pb2_grpc.AdminServiceStub(channel).GetStats(
                admin_pb2.GetStatsRequest(), metadata=metadata, timeout=20
            )
        except grpc.RpcError as error:
            call: Any = error
            assert "slt_" not in call.details()
            return str(call.code().name)
    return "OK"


def test_every_form_of_the_header_is_taken_or_refused(mem: Local, server: Server) -> None:
    secret = new(mem).secret
    good = [f"Bearer {secret}", f"bearer {secret}", f"BEARER   {secret}", f"Bearer {secret} "]
    bad = [secret, "Bearer", "Bearer ", f"Basic {secret}", f"Bearer {secret} x"]
    assert [text for text in good if code(server, [("authorization", text)]) != "OK"] == []
    assert [text for text in bad if code(server, [("authorization", text)]) != "UNAUTHENTICATED"] == []
    twice = [("authorization", f"Bearer {secret}"), ("authorization", f"Bearer {secret}")]
    assert code(server, twice) == "UNAUTHENTICATED"
    assert code(server, []) == "UNAUTHENTICATED"
    assert code(server, [("authorization", "Bearer " + "x" * 6000)]) == "UNAUTHENTICATED"
    assert code(server, [("x-authorization", f"Bearer {secret}")]) == "UNAUTHENTICATED"


def test_a_secret_that_is_nearly_right_is_wrong(mem: Local, server: Server) -> None:
    token = new(mem)
    secret = token.secret
    near = [
        secret[:-1],
        secret + "x",
        secret.swapcase(),
        f"slt_{token.id}_",
        f"slt_{token.id}",
        "slt_",
        token.id,
    ]
    near.append(f"slt_{token.id}_" + new(mem).secret.rpartition("_")[2])
    assert [text for text in near if code(server, [("authorization", f"Bearer {text}")]) == "OK"] == []


def test_roles_given_up_are_given_up_and_none_is_gained(mem: Local, server: Server) -> None:
    bearer = ("authorization", f"Bearer {new(mem, 'reader').secret}")
    assert code(server, [bearer, ("siltstone-roles", "reader,admin")]) == "OK"
    assert code(server, [bearer, ("siltstone-roles", "writer")]) == "PERMISSION_DENIED"
    assert code(server, [bearer, ("siltstone-roles", "reader"), ("siltstone-roles", "writer")]) == (
        "PERMISSION_DENIED"
    )


def test_a_revoked_token_is_useless_at_once_in_an_open_stream_too(mem: Local, server: Server) -> None:
    token = new(mem)
    mem.write("the harbour", namespace="team/a")
    sent: queue.Queue[Any] = queue.Queue()
    query = search_pb2.SearchMemoriesRequest(query="harbour", namespaces=["team/a"])
    message = memory_service_pb2.StreamSearchMemoriesRequest(requests=[query])
    with grpc.insecure_channel(server.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        answers = stub.StreamSearchMemories(
            iter(sent.get, None), metadata=[("authorization", f"Bearer {token.secret}")], timeout=30
        )
        sent.put(message)
        assert len(next(answers).results) == 1
        mem.revoke_token(token.id)
        sent.put(message)
        with pytest.raises(grpc.RpcError) as caught:
            next(answers)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED  # type: ignore[attr-defined]
        sent.put(None)
    assert code(server, [("authorization", f"Bearer {token.secret}")]) == "UNAUTHENTICATED"
    [listed] = [t for t in mem.tokens(page_size=1000) if t.id == token.id]
    assert listed.revoke_time is not None
    assert listed.secret == ""
    mem.revoke_token(token.id)
    with pytest.raises(siltstone.NotFoundError) as unknown:
        mem.revoke_token("none")
    assert unknown.value.reason == "TOKEN_NOT_FOUND"


def test_of_a_log_whose_token_is_revoked_while_it_is_sent_nothing_is_kept(mem: Local) -> None:
    token = new(mem)
    sent = iter([{"options": {"namespace": "team/cut"}}, {"data": b'{"goal": "g", "steps": []}'}])

    def revoked() -> None:
        if not mem.engine.tokens.good(token.id):
            raise siltstone.UnauthenticatedError("revoked")

    def chunks() -> Iterator[Any]:
        yield from_data(TrajectoryChunk, next(sent))
        mem.revoke_token(token.id)
        yield from_data(TrajectoryChunk, next(sent))

    call = Call(still_valid=revoked)
    with pytest.raises(siltstone.UnauthenticatedError):
        mem.engine.stream_trajectory(chunks(), call)
    assert "team/cut" not in {n.name for n in mem.namespaces()}

    def exporting() -> None:
        raise siltstone.UnauthenticatedError("revoked")

    parts = mem.engine.export_memories(ExportMemoriesRequest(), Call(still_valid=exporting))
    with pytest.raises(siltstone.UnauthenticatedError):
        list(parts)


def test_a_store_whose_last_token_is_revoked_stays_closed_also_when_it_is_opened_again(tmp_path: Any) -> None:
    for round in range(2):
        with siltstone.open(tmp_path / "d", settings=SETTINGS) as mem:
            if round == 0:
                mem.revoke_token(mem.create_token("only", namespaces=["**"], roles=["admin"]).id)
            server = serve(mem.engine, address="127.0.0.1:0")
            assert code(server, []) == "UNAUTHENTICATED"
            server.stop(1)


def test_a_store_without_tokens_is_open_until_there_is_one_and_knows_no_other(tmp_path: Any) -> None:
    with siltstone.open(tmp_path / "d", settings=SETTINGS) as mem:
        server = serve(mem.engine, address="127.0.0.1:0")
        assert code(server, []) == "OK"
        assert code(server, [("authorization", "Bearer made-up")]) == "UNAUTHENTICATED"
        with siltstone.Client(server.address) as owner:
            secret = owner.create_token("甲", namespaces=["**"], roles=["reader"]).secret
            with pytest.raises(siltstone.UnauthenticatedError):
                owner.stats()
        assert code(server, [("authorization", f"Bearer {secret}")]) == "OK"
        server.stop(1)
        data = b"".join(p.read_bytes() for p in (tmp_path / "d").rglob("*") if p.is_file())
        assert secret.encode() not in data
        assert secret.rpartition("_")[2].encode() not in data


def test_of_a_caller_without_a_token_no_message_is_awaited(mem: Local, server: Server) -> None:
    never: queue.Queue[Any] = queue.Queue()
    with grpc.insecure_channel(server.address) as channel:
        # As a stream, so that the message can be held back.
        call = channel.stream_unary("/siltstone.v1.MemoryService/WriteMemories")
        with pytest.raises(grpc.RpcError) as caught:
            call(iter(never.get, None), timeout=20)
        never.put(None)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED  # type: ignore[attr-defined]


def test_health_stays_open_and_reflection_does_not(mem: Local, server: Server) -> None:
    listing = reflection_pb2.ServerReflectionRequest(list_services="")
    bearer = [("authorization", f"Bearer {new(mem, 'writer').secret}")]
    with grpc.insecure_channel(server.address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        assert health.Check(health_pb2.HealthCheckRequest(), timeout=20).status == 1
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            list(stub.ServerReflectionInfo(iter([listing]), timeout=20))
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED  # type: ignore[attr-defined]
        [answer] = stub.ServerReflectionInfo(iter([listing]), metadata=bearer, timeout=20)
        assert len(answer.list_services_response.service) >= 4


def test_failed_attempts_end_in_a_refusal_that_holds_up_nobody_who_was_good(
    mem: Local, server: Server
) -> None:
    good = [("authorization", f"Bearer {new(mem).secret}")]
    assert code(server, good) == "OK"
    codes = [code(server, [("authorization", "Bearer wrong")]) for _ in range(12)]
    assert codes[:10] == ["UNAUTHENTICATED"] * 10
    assert codes[10:] == ["RESOURCE_EXHAUSTED"] * 2
    assert code(server, good) == "OK"


def test_callers_of_one_gateway_are_told_apart_by_their_tokens(mem: Local, server: Server) -> None:
    a, b = new(mem, namespaces=("team/a",)), new(mem, namespaces=("team/b",))
    mem.write("alpha 甲", namespace="team/a")
    mem.write("beta 乙", namespace="team/b")
    body = {"query": "alpha beta", "namespaces": ["team/a"], "include_public": False}
    with (
        Gateway(server.address, address="127.0.0.1:0", token=a.secret) as gateway,
        httpx2.Client(base_url=f"http://{gateway.address}", timeout=20) as http,
    ):

        def status(*headers: tuple[str, str]) -> int:
            return http.post("/v1/SearchMemories", json=body, headers=list(headers)).status_code

        assert status() == 200, "on the loopback address the gateway's own token serves those without one"
        assert status(("Authorization", f"Bearer {a.secret}")) == 200
        assert status(("Authorization", f"Bearer {b.secret}")) == 404
        assert status(("Authorization", "Bearer wrong")) == 401
        assert status(("Authorization", "Basic eA==")) == 401
        assert status(("Authorization", "Bearer")) == 401
        both = ("Authorization", f"Bearer {a.secret}"), ("Authorization", f"Bearer {b.secret}")
        assert status(*both) == 401
        # A caller cannot say for whom it calls, or give itself roles, past the gateway.
        assert status(("Authorization", f"Bearer {b.secret}"), ("siltstone-roles", "admin")) == 404


def test_what_a_token_may_create_is_limited_and_nothing_of_what_is_too_much_is_written(
    mem: Local, server: Server
) -> None:
    token = new(mem)
    with siltstone.Client(server.address, token=token.secret) as client:
        client.write_many([{"content": f"fact 事实 {i} {'x' * i}"} for i in range(2)], namespace="team/limit")
        before = mem.stats("team/limit").memories
        with pytest.raises(siltstone.ResourceExhaustedError) as caught:
            client.write_many(
                [{"content": "third one"}, {"content": "the fourth 第四"}], namespace="team/limit"
            )
        assert caught.value.reason == "TOO_MANY_MEMORIES"
        assert "max_memories_per_token" in str(caught.value)
        assert mem.stats("team/limit").memories == before
        client.write("third one", namespace="team/limit")
        # What it forgets counts on, and what it says again creates nothing.
        client.forget(ids=[client.list("team/limit")[0].id], mode="ERASE")
        assert client.write("third one", namespace="team/limit").action in ("MERGED", "UNCHANGED")
        with pytest.raises(siltstone.ResourceExhaustedError):
            client.write("one more, quite another", namespace="team/limit")
        client.start_task("g", namespace="team/limit2")
        with pytest.raises(siltstone.ResourceExhaustedError) as caught:
            client.start_task("g", namespace="team/limit3")
        assert caught.value.reason == "TOO_MANY_NAMESPACES"
        assert "team/limit3" not in {n.name for n in mem.namespaces()}
    with siltstone.Client(server.address, token=new(mem).secret) as other:
        other.write("another token has a count of its own", namespace="team/limit")


def test_lessons_of_a_task_count_as_made_by_the_token_that_opened_it(tmp_path: Any) -> None:
    settings = Settings(embedding_model="hashing", max_memories_per_token=1)
    log = [
        {"tool": "run", "arguments": {"cmd": "curl api"}, "result": "Connection refused", "is_error": True},
        {"text": "根本原因是 api 只监听 127.0.0.1。", "tool": "read", "result": "listen(3000, '127.0.0.1')"},
        {"text": "改为监听 0.0.0.0。", "tool": "edit", "result": "ok"},
        {"tool": "run", "arguments": {"cmd": "curl api"}, "result": "HTTP/1.1 200 OK"},
    ]
    with siltstone.open(tmp_path / "d", settings=settings) as mem:
        secret = new(mem).secret
        server = serve(mem.engine, address="127.0.0.1:0")
        try:
            with siltstone.Client(server.address, token=secret) as client:
                jobs = []
                for goal in ("让 web 能访问 api", "find out why the other service refuses connections"):
                    task = client.start_task(goal, namespace="team/a")
                    client.append_steps(task.id, log)
                    jobs.append(client.finish_task(task.id, "SUCCESS", wait=True))
                    if len(jobs) == 1:
                        assert jobs[0].state == "DONE"
                        id = jobs[0].hindsight.receipts[0].memory.id
                        client.forget(ids=[id], mode="ERASE")
            assert jobs[1].state == "FAILED"
            assert "max_memories_per_token" in jobs[1].error
            assert mem.stats("team/a").memories == 0
            made = [e.principal for e in mem.audit_log(namespace="team/a") if e.action == "created"]
            assert [principal.partition(" ")[0] for principal in made] == ["token"]
        finally:
            server.stop(1)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "", "namespaces": ["a"], "roles": ["reader"]}, "name"),
        ({"name": "n", "namespaces": [], "roles": ["reader"]}, "namespaces"),
        ({"name": "n", "namespaces": ["a", "**/b"], "roles": ["reader"]}, "namespaces[1]"),
        ({"name": "n", "namespaces": ["a"], "roles": []}, "roles"),
        ({"name": "n", "namespaces": ["a"], "roles": ["god"]}, "roles"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(mem: Local, given: dict[str, Any], field: str) -> None:
    before = len(mem.tokens(page_size=1000))
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem._call("CreateToken", given)
    assert caught.value.field == field
    assert len(mem.tokens(page_size=1000)) == before


def test_tokens_are_listed_page_by_page_by_their_age(mem: Local) -> None:
    for _ in range(3):
        new(mem)
    seen: list[str] = []
    token = ""
    while True:
        page = mem.tokens(page_size=2, page_token=token)
        seen += [t.id for t in page]
        token = page.next_page_token
        if not token:
            break
    assert seen == [t.id for t in mem.tokens(page_size=1000)]
    assert len(set(seen)) == len(seen) >= 4
    with pytest.raises(siltstone.InvalidArgumentError):
        mem.tokens(page_token="nonsense")


@pytest.mark.parametrize("secret", ["slt_中文", "slt_a b", "slt_a\r\nx: y", "\x00"])
def test_a_client_does_not_send_what_no_token_is_and_does_not_show_it(secret: str) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        siltstone.Client("127.0.0.1:1", token=secret)
    assert secret not in str(caught.value)


def test_tokens_of_another_issuer_open_what_they_say_beside_those_of_the_store(
    mem: Local, tmp_path: Any
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "key.pem").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    verifier = IssuedTokens(Issuer("https://i", "siltstone", str(tmp_path / "key.pem")))
    said = {"iss": "https://i", "aud": "siltstone", "sub": "张三", "exp": time.time() + 600}
    said |= {"siltstone_namespaces": "team/**", "siltstone_roles": "reader writer"}
    server = serve(mem.engine, address="127.0.0.1:0", verifier=verifier)
    try:
        with siltstone.Client(server.address, token=jwt.encode(said, key, "ES256")) as client:
            id = client.write("by another issuer 别处", namespace="team/jwt").memory.id
            with pytest.raises(siltstone.NotFoundError):
                client.list("default")
        assert [e.principal for e in mem.audit_log(namespace="team/jwt") if e.memory_id == id] == [
            "jwt https://i 张三"
        ]
        assert code(server, [("authorization", f"Bearer {new(mem).secret}")]) == "OK"
        expired = jwt.encode(said | {"exp": time.time() - 600}, key, "ES256")
        assert code(server, [("authorization", f"Bearer {expired}")]) == "UNAUTHENTICATED"
    finally:
        server.stop(1)


def test_with_another_issuer_nobody_gets_in_without_a_token(tmp_path: Any) -> None:
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    (tmp_path / "key.pem").write_bytes(
        key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    verifier = IssuedTokens(Issuer("https://i", "siltstone", str(tmp_path / "key.pem")))
    with siltstone.open(tmp_path / "d", settings=SETTINGS) as mem:
        server = serve(mem.engine, address="127.0.0.1:0", verifier=verifier)
        assert code(server, []) == "UNAUTHENTICATED"
        server.stop(1)
