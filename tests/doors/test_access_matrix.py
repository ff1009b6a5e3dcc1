"""Every RPC × every role × a namespace of one's own, public, a foreign one and one that there is not; and
every tool of the gateway. What is foreign answers word for word as what never was."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import siltstone
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from siltstone.config import Settings
from siltstone.gateway import Gateway
from siltstone.gateway.mcp_server import TOOLS
from siltstone.local import Local
from siltstone.model import ROLES
from siltstone.operations import OPERATIONS
from siltstone.server import Server, serve

OWN, PUBLIC, FOREIGN, UNKNOWN = "团队/甲", "public", "团队乙/x", "nobody/here"
PLACES = (OWN, PUBLIC, FOREIGN, UNKNOWN)
NO_ID = "0197a3c4-7d2e-7c11-9f00-3b1f6a2c9d55"
LOG = json.dumps({"goal": "g", "steps": [{"tool": "t", "result": "r"}]})


@dataclass
class Place:
    """What there is in a namespace; in one that there is not, ids that nothing has."""

    name: str
    memory: str = NO_ID
    task: str = NO_ID
    job: str = NO_ID


@dataclass
class World:
    mem: Local
    server: Server
    gateway: Gateway
    clients: dict[str, siltstone.Client]
    secrets: dict[str, str]
    places: dict[str, Place] = field(default_factory=dict)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    settings = Settings(embedding_model="hashing", hindsight_workers=0)
    mem = siltstone.open(tmp_path_factory.mktemp("matrix"), settings=settings)
    secrets = {
        role: mem.create_token(role, namespaces=["团队/*"], roles=[role]).secret for role in sorted(ROLES)
    }
    secrets["all"] = mem.create_token("all", namespaces=["团队/*"], roles=sorted(ROLES)).secret
    server = serve(mem.engine, address="127.0.0.1:0")
    gateway = Gateway(server.address, address="127.0.0.1:0")
    gateway.start()
    clients = {role: siltstone.Client(server.address, token=secret) for role, secret in secrets.items()}
    yield World(mem, server, gateway, clients, secrets)
    for client in clients.values():
        client.close()
    gateway.stop()
    server.stop()
    mem.close()


@pytest.fixture
def places(world: World) -> dict[str, Place]:
    """Fresh ones for each test, since some calls erase."""
    made = {}
    for name in PLACES[:3]:
        memory = world.mem.write("the harbour 港口", namespace=name, on_duplicate="KEEP").memory.id
        task = world.mem.start_task("find the harbour", namespace=name).id
        world.mem.append_steps(task, [{"text": "looked"}])
        made[name] = Place(name, memory, task, world.mem.create_hindsight_job(task).id)
    return {**made, UNKNOWN: Place(UNKNOWN)}


Make = Callable[[Place], dict[str, Any]]

# RPC → a request about a place that is right but for who sends it.
REQUESTS: dict[str, Make] = {
    "WriteMemories": lambda p: {"namespace": p.name, "drafts": [{"content": "a b c"}]},
    "GetMemories": lambda p: {"ids": [p.memory]},
    "ListMemories": lambda p: {"namespace": p.name},
    "SearchMemories": lambda p: {"namespaces": [p.name], "query": "harbour"},
    "BatchSearchMemories": lambda p: {"requests": [{"namespaces": [p.name], "query": "harbour"}]},
    "StreamSearchMemories": lambda p: {
        "messages": iter([{"requests": [{"namespaces": [p.name], "query": "x"}]}])
    },
    "UpdateMemory": lambda p: {"memory": {"id": p.memory, "tags": ["x"]}, "update_mask": ["tags"]},
    "ForgetMemories": lambda p: {"ids": [p.memory]},
    "VerifyMemory": lambda p: {"id": p.memory, "verdict": "FAILED"},
    "RestoreMemory": lambda p: {"id": p.memory},
    "TraceMemory": lambda p: {"id": p.memory},
    "ListAuditQueue": lambda p: {"namespace": p.name},
    "ListAuditEvents": lambda p: {"namespace": p.name},
    "StartTask": lambda p: {"namespace": p.name, "goal": "g"},
    "UpdateTask": lambda p: {"task": {"id": p.task, "pending": ["x"]}, "update_mask": ["pending"]},
    "AppendSteps": lambda p: {"task_id": p.task, "steps": [{"text": "x"}]},
    "GetTask": lambda p: {"task_id": p.task},
    "RenderTask": lambda p: {"task_id": p.task, "with_memories": 1},
    "FinishTask": lambda p: {"task_id": p.task, "outcome": "SUCCESS"},
    "ListTasks": lambda p: {"namespace": p.name},
    "SummarizeTrajectory": lambda p: {"namespace": p.name, "data": LOG},
    "CreateHindsightJob": lambda p: {"task_id": p.task},
    "StreamTrajectory": lambda p: {
        "messages": iter([{"options": {"namespace": p.name}}, {"data": LOG.encode()}])
    },
    "GetHindsightJob": lambda p: {"id": p.job},
    "ListHindsightJobs": lambda p: {"namespace": p.name},
    "CancelHindsightJob": lambda p: {"id": p.job},
    "ListNamespaces": lambda p: {},
    "DeleteNamespace": lambda p: {"name": p.name},
    "GetStats": lambda p: {"namespace": p.name},
    "GetMetrics": lambda p: {},
    "CheckStore": lambda p: {},
    "CompactStore": lambda p: {},
    "CreateBackup": lambda p: {"target": "t"},
    "StreamBackup": lambda p: {},
    "ExportMemories": lambda p: {"namespaces": [p.name]},
    "ImportMemories": lambda p: {"messages": iter([{}])},
    "ReembedMemories": lambda p: {"model": "hashing", "namespace": p.name},
    "CreateToken": lambda p: {"name": "n", "namespaces": [p.name], "roles": ["reader"]},
    "ListTokens": lambda p: {},
    "RevokeToken": lambda p: {"id": "x"},
}
NEEDS = {
    "reader": "GetMemories ListMemories SearchMemories BatchSearchMemories StreamSearchMemories TraceMemory "
    "GetTask RenderTask ListTasks GetHindsightJob ListHindsightJobs ListNamespaces GetStats GetMetrics",
    "writer": "WriteMemories UpdateMemory ForgetMemories VerifyMemory RestoreMemory StartTask UpdateTask "
    "AppendSteps FinishTask SummarizeTrajectory CreateHindsightJob StreamTrajectory CancelHindsightJob",
    "auditor": "ListAuditQueue ListAuditEvents VerifyMemory ListNamespaces GetStats GetMetrics",
    "admin": "DeleteNamespace ListNamespaces GetStats GetMetrics CheckStore CompactStore CreateBackup "
    "StreamBackup ExportMemories ImportMemories ReembedMemories CreateToken ListTokens RevokeToken",
}
OF_THE_STORE = {"CheckStore", "CompactStore", "CreateBackup", "StreamBackup", "ImportMemories"}
OF_THE_STORE |= {"GetMetrics", "CreateToken", "ListTokens", "RevokeToken"}
OF_NO_PLACE = {"ListNamespaces"} | OF_THE_STORE
STATES = {"FAILED_PRECONDITION"}  # nothing to restore: allowed, and the state is another


class Kept(list[Any]):
    """Takes a stream of answers."""

    take = list.append

    def finish(self) -> list[Any]:
        return self

    def abandon(self) -> None:
        pass


def outcome(world: World, role: str, rpc: str, place: Place) -> siltstone.SiltstoneError | None:
    sink = Kept() if OPERATIONS[rpc].response_stream else None
    try:
        world.clients[role]._call(rpc, REQUESTS[rpc](place), sink=sink)
    except siltstone.SiltstoneError as error:
        return None if error.status in STATES else error
    return None


def expected(role: str, rpc: str, place: str) -> str:
    if rpc not in NEEDS[role].split():
        return "PERMISSION_DENIED/ROLE_REQUIRED"
    if rpc in OF_THE_STORE:
        return "PERMISSION_DENIED/WHOLE_STORE_REQUIRED"
    if place == OWN or rpc in OF_NO_PLACE:
        return ""
    if place == PUBLIC and role == "reader":
        return ""
    return "NOT_FOUND"  # without the role reader, public is as unknown as any other


def test_the_matrix_leaves_no_rpc_out() -> None:
    assert REQUESTS.keys() == OPERATIONS.keys()
    assert {rpc for rpcs in NEEDS.values() for rpc in rpcs.split()} == OPERATIONS.keys()


@pytest.mark.parametrize("role", sorted(ROLES))
def test_every_call_answers_a_role_in_every_place_as_it_should(
    world: World, places: dict[str, Place], role: str
) -> None:
    faults = []
    for rpc in sorted(OPERATIONS, key=lambda rpc: rpc == "DeleteNamespace"):
        for place in PLACES:
            error = outcome(world, role, rpc, places[place])
            got = "" if error is None else f"{error.status}/{error.reason}"
            if not (got.startswith(expected(role, rpc, place)) if expected(role, rpc, place) else not got):
                faults.append((rpc, place, got, str(error)))
    assert faults == []


def said(error: siltstone.SiltstoneError, place: Place) -> tuple[str, str, str, str]:
    text = str(error)
    for own in (place.name, place.memory, place.task, place.job):
        text = text.replace(own, "…")
    return error.status, error.reason, error.field, text


@pytest.mark.parametrize("rpc", sorted(OPERATIONS.keys() - OF_NO_PLACE))
def test_what_is_foreign_answers_word_for_word_as_what_never_was(
    world: World, places: dict[str, Place], rpc: str
) -> None:
    foreign, unknown = (outcome(world, "all", rpc, places[place]) for place in (FOREIGN, UNKNOWN))
    assert foreign is not None
    assert unknown is not None
    assert said(foreign, places[FOREIGN]) == said(unknown, places[UNKNOWN])
    assert foreign.status == "NOT_FOUND"


@pytest.mark.parametrize(
    ("rpc", "more"),
    [
        ("GetMemories", {"max_tokens": 0}),
        ("UpdateMemory", {"update_mask": ["nonsense"]}),
        ("VerifyMemory", {"note": "x" * 5000}),
        ("AppendSteps", {"steps": []}),
        ("RenderTask", {"max_tokens": 1}),
        ("ListTasks", {"page_size": -1}),
    ],
)
def test_another_fault_in_the_request_does_not_tell_what_is_foreign_from_what_never_was(
    world: World, places: dict[str, Place], rpc: str, more: dict[str, Any]
) -> None:
    answers = []
    for place in (FOREIGN, UNKNOWN):
        with pytest.raises(siltstone.SiltstoneError) as caught:
            world.clients["all"]._call(rpc, {**REQUESTS[rpc](places[place]), **more})
        answers.append(said(caught.value, places[place]))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("before", [[], [OWN], [PUBLIC, OWN]])
@pytest.mark.parametrize("after", [[], [OWN], [UNKNOWN]])
@pytest.mark.parametrize("rpc", ["GetMemories", "ForgetMemories"])
def test_among_several_ids_a_foreign_one_is_told_where_one_that_never_was_is_told(
    world: World, places: dict[str, Place], rpc: str, before: list[str], after: list[str]
) -> None:
    if rpc == "ForgetMemories" and PUBLIC in before:
        before = [OWN]
    answers = []
    for place in (FOREIGN, UNKNOWN):
        ids = [places[name].memory for name in (*before, place, *after)]
        with pytest.raises(siltstone.NotFoundError) as caught:
            world.clients["all"]._call(rpc, {"ids": ids})
        answers.append(said(caught.value, places[place]))
    assert answers[0] == answers[1]
    assert answers[0][2] == f"ids[{len(before)}]"


@pytest.mark.parametrize(
    "rpc",
    ["WriteMemories", "UpdateMemory", "ForgetMemories", "AppendSteps", "DeleteNamespace", "ListAuditQueue"],
)
def test_whoever_may_read_public_is_told_that_it_may_not_change_it(
    world: World, places: dict[str, Place], rpc: str
) -> None:
    error = outcome(world, "all", rpc, places[PUBLIC])
    assert error is not None
    assert (error.status, error.reason) == ("PERMISSION_DENIED", "READ_ONLY_NAMESPACE")


TOOL_CALLS: dict[str, Make] = {
    "memory_write": lambda p: {"content": "a b c", "namespace": p.name},
    "memory_search": lambda p: {"query": "harbour", "namespace": p.name},
    "memory_get": lambda p: {"ids": [p.memory]},
    "memory_update": lambda p: {"id": p.memory, "tags": ["x"]},
    "memory_forget": lambda p: {"ids": [p.memory]},
    "memory_verify": lambda p: {"id": p.memory, "verdict": "FAILED"},
    "memory_summarize": lambda p: {"trajectory": json.loads(LOG), "namespace": p.name},
    "task_start": lambda p: {"goal": "g", "namespace": p.name},
    "task_update": lambda p: {"task_id": p.task, "pending": ["x"]},
    "task_append": lambda p: {"task_id": p.task, "steps": [{"text": "x"}]},
    "task_render": lambda p: {"task_id": p.task},
    "task_finish": lambda p: {"task_id": p.task, "outcome": "SUCCESS"},
}
READS = {"memory_search", "memory_get", "task_render"}


@pytest.mark.parametrize("role", ["reader", "writer", "auditor", "admin", "all"])
def test_every_tool_answers_the_caller_whose_token_the_request_brings(
    world: World, places: dict[str, Place], role: str
) -> None:
    assert TOOL_CALLS.keys() == TOOLS.keys()

    async def ask() -> dict[tuple[str, str], str]:
        got = {}
        headers = {"Authorization": f"Bearer {world.secrets[role]}"}
        async with (
            asyncio.timeout(60),
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            McpClient(
                streamable_http_client(f"http://{world.gateway.address}/mcp", http_client=http)
            ) as client,
        ):
            for tool, make in TOOL_CALLS.items():
                for place in PLACES:
                    result = await client.call_tool(tool, make(places[place]))
                    error = (result.meta or {}).get("siltstone/error", {"status": "", "reason": ""})
                    refused = result.is_error and error["status"] not in STATES
                    got[tool, place] = f"{error['status']}/{error['reason']}" if refused else ""
        return got

    def wanted(tool: str, place: str) -> str:
        reads = tool in READS
        may = role == "all" or role == ("reader" if reads else "writer")
        if not may:
            # An agent keeps to reader and writer, so an auditor's verdict is not to be had here either.
            return "PERMISSION_DENIED/ROLE_REQUIRED"
        if place == OWN or (place == PUBLIC and reads):
            return ""
        if place == PUBLIC and role == "all":
            return "PERMISSION_DENIED/READ_ONLY_NAMESPACE"
        return "NOT_FOUND"

    got = asyncio.run(ask())
    assert {k: v for k, v in got.items() if not (v.startswith(w) if (w := wanted(*k)) else not v)} == {}


def test_lists_over_all_namespaces_show_what_the_token_opens(world: World, places: dict[str, Place]) -> None:
    seen = world.clients["all"]
    assert {n.name for n in seen.namespaces()} == {OWN, PUBLIC}
    assert {n.name for n in world.clients["admin"].namespaces()} == {OWN}
    assert {job.namespace for job in seen.list_hindsight_jobs(page_size=1000)} == {OWN, PUBLIC}
    events = []
    token = ""
    while True:
        page = seen.audit_log(page_size=50, page_token=token)
        events += list(page)
        token = page.next_page_token
        if not token:
            break
    assert {event.namespace for event in events} == {OWN}
    stats = seen.stats()
    whole = world.mem.stats()
    assert stats.namespaces == 2
    assert 0 < stats.memories < whole.memories
    assert 0 < stats.tasks < whole.tasks
    assert 0 < stats.jobs_waiting < whole.jobs_waiting
    assert (stats.seq, stats.store_bytes) == (0, 0), "they tell how much others write"


def test_a_page_token_of_another_caller_opens_nothing(world: World, places: dict[str, Place]) -> None:
    owner = world.mem
    page = owner.namespaces(page_size=1)
    assert page.next_page_token
    shown = world.clients["all"].namespaces(page_token=page.next_page_token)
    assert {n.name for n in shown} <= {OWN, PUBLIC}
    jobs = owner.list_hindsight_jobs(page_size=1)
    more = world.clients["all"].list_hindsight_jobs(page_token=jobs.next_page_token, page_size=1000)
    assert {job.namespace for job in more} <= {OWN, PUBLIC}
    tasks = owner.list_tasks(FOREIGN, page_size=1)
    if tasks.next_page_token:
        with pytest.raises(siltstone.InvalidArgumentError):
            world.clients["all"].list_tasks(OWN, page_token=tasks.next_page_token)


def test_an_answer_kept_for_a_repeat_is_its_callers_own(world: World, places: dict[str, Place]) -> None:
    first = world.clients["all"].write("said once 一次", namespace=OWN, request_id="the-same")
    again = world.clients["all"].write("said once 一次", namespace=OWN, request_id="the-same")
    assert again.memory.id == first.memory.id
    # Another token's id of the same name is another id: neither its answer nor that it was used shows.
    other = world.clients["writer"].write("something else", namespace=OWN, request_id="the-same")
    assert other.action == "CREATED"


def test_a_repeated_erase_is_answered_as_the_first_time(world: World, places: dict[str, Place]) -> None:
    id = places[OWN].memory
    client = world.clients["all"]
    first = client._call("ForgetMemories", {"ids": [id], "mode": "ERASE", "request_id": "gone"})
    assert first.ids == [id]
    assert client._call("ForgetMemories", {"ids": [id], "mode": "ERASE", "request_id": "gone"}) == first
    with pytest.raises(siltstone.NotFoundError):
        client.forget(ids=[id], mode="ERASE")


def test_a_foreign_task_counts_as_one_that_there_is_not(world: World, places: dict[str, Place]) -> None:
    """It is no independent evidence, and is not noted as having been shown anything."""
    client = world.clients["all"]
    written = client.write("the lighthouse 灯塔", namespace=OWN).memory
    id = written.id
    receipt = client.write("the lighthouse 灯塔", namespace=OWN, task_id=places[FOREIGN].task)
    assert receipt.memory.id == id
    assert receipt.memory.confidence == written.confidence
    assert not receipt.memory.evidence
    client.get([id], task_id=places[FOREIGN].task)
    client.search("harbour", namespace=OWN, task_id=places[FOREIGN].task)
    with world.mem.engine.store.read() as reader:
        assert not reader.exposed(places[FOREIGN].task, id)
    with pytest.raises(siltstone.NotFoundError) as caught:
        client.verify(id, "WORKED", task_id=places[FOREIGN].task)
    assert caught.value.reason == "TASK_NOT_FOUND"


def test_the_audit_log_says_which_token_it_was(world: World, places: dict[str, Place]) -> None:
    receipt = world.clients["writer"].write("who wrote this 谁写的", namespace=OWN)
    event = next(
        e
        for e in reversed(world.mem.audit_log(namespace=OWN, page_size=1000))
        if e.memory_id == receipt.memory.id
    )
    assert re.fullmatch(r"token [0-9a-f]{16} writer", event.principal)
    assert not any(secret in event.principal for secret in world.secrets.values())


def test_no_field_of_the_contract_is_a_path_that_the_server_opens() -> None:
    """What a request could name a file by. `target` names one of the server's own backup targets."""
    contract = (Path(__file__).resolve().parents[2] / "proto/siltstone/v1").glob("*.proto")
    names = {
        name
        for file in contract
        for name in re.findall(r"^  (?:\w+ )?string (\w+) =", file.read_text("utf-8"), re.M)
    }
    assert "content" in names
    assert not [n for n in names if re.search(r"path|file|dir|url|uri", n)]
