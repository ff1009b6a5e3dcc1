"""Backups at the targets of the configuration: folders, and S3 as a local server speaks it."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import siltstone
from siltstone.backup import Folder, backups_at, manifest_part, open_target
from siltstone.config import load
from siltstone.engine import Call
from siltstone.engine import backups as engine_backups
from siltstone.engine.restoring import choose, restore
from siltstone.local import Local
from siltstone.model.requests import StreamBackupRequest
from siltstone.server import serve

from .conftest import SETTINGS, answers, fill

Open = Callable[..., Local]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket of a local S3 server."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="kept")
    yield "s3://kept/siltstone"
    server.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_backup_to_s3_comes_back_whole_and_old_ones_go(open_at: Open, tmp_path: Path, bucket: str) -> None:
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("cloud", bucket),), backup_keep=2))
    fill(mem)
    made = [mem.backup("cloud")]
    for i in range(3):
        mem.write(f"写在第 {i} 次备份之后")
        made.append(mem.backup("cloud"))
    before = answers(mem)
    mem.close()
    target = open_target(bucket)
    assert [m.name for m in backups_at(target)] == [m.name for m in made[-2:]]
    assert made[-1].new_bytes < made[-1].size_bytes
    restore(tmp_path / "restored", target, choose(target))
    assert answers(open_at("restored")) == before


def test_a_target_keeps_the_newest_backups_and_no_chunk_that_none_of_them_names(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at(
        settings=replace(SETTINGS, backup_targets=(("here", str(tmp_path / "kept")),), backup_keep=1)
    )
    fill(mem)
    for i in range(3):
        mem.write(f"写在第 {i} 次备份之前")
        made = mem.backup("here")
    target = Folder(tmp_path / "kept")
    [manifest] = backups_at(target)
    assert manifest.name == made.name
    there = {name.rpartition("/")[2] for name in target.sizes("") if "/chunks/" in name}
    assert there == manifest.chunks().keys()


def test_a_target_that_nobody_configured_is_not_found_whatever_path_it_names(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("here", str(tmp_path / "kept")),)))
    for target in ("nowhere", str(tmp_path / "x"), "s3://bucket/x", "../x", ""):
        with pytest.raises(siltstone.NotFoundError, match="here") as caught:
            mem.backup(target)
        assert (caught.value.reason, caught.value.field) == ("TARGET_NOT_FOUND", "target")
    assert not (tmp_path / "x").exists()


def test_a_target_of_a_kind_without_its_package_says_what_to_install(open_at: Open) -> None:
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("odd", "nosuchkind://x/y"),)))
    with pytest.raises(siltstone.FailedPreconditionError, match="nosuchkind") as caught:
        mem.backup("odd")
    assert caught.value.reason == "TARGET_UNKNOWN"


def test_a_target_that_cannot_be_written_is_an_error_and_keeps_what_it_had(
    open_at: Open, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("bad", str(tmp_path / "file")),)))
    with pytest.raises(siltstone.UnavailableError) as caught:
        mem.backup("bad")
    assert caught.value.reason == "TARGET_FAILED"
    assert (tmp_path / "file").read_text() == "no folder"
    assert list((tmp_path / "data/store/frozen").iterdir()) == []


def test_backups_are_made_by_the_clock_and_not_again_before_they_are_due(
    open_at: Open, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, backup_targets=(("here", str(tmp_path / "kept")),), backup_every=3600.0)
    target = Folder(tmp_path / "kept")
    mem = open_at(settings=settings)
    waiting = threading.Event()
    for _ in range(600):
        if backups_at(target):
            break
        waiting.wait(0.05)
    assert len(backups_at(target)) == 1
    mem.close()
    again = open_at(settings=settings)
    assert 3000.0 < again.engine.backups._left("here") < 3600.0


def test_one_backup_at_a_time(open_at: Open, tmp_path: Path) -> None:
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("here", str(tmp_path / "kept")),)))
    with mem.engine.backups._lock, pytest.raises(siltstone.FailedPreconditionError) as caught:
        mem.backup("here")
    assert caught.value.reason == "BACKUP_RUNNING"


def test_a_caller_that_gave_up_the_role_of_an_admin_gets_no_backup(open_at: Open, tmp_path: Path) -> None:
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("here", str(tmp_path / "kept")),)))
    agent = Local(mem.engine, roles=["reader", "writer", "auditor"])
    with pytest.raises(siltstone.PermissionDeniedError):
        agent.backup("here")
    with pytest.raises(siltstone.PermissionDeniedError):
        agent.backup_to(tmp_path / "stolen")
    assert not (tmp_path / "kept").exists()
    assert not (tmp_path / "stolen").exists()


def test_targets_are_read_from_text_and_from_a_table(tmp_path: Path) -> None:
    file = tmp_path / "siltstone.toml"
    file.write_text('backup_every = "24h"\n[backup_targets]\nnightly = "/srv/备份"\nfar = "s3://b/p"\n')
    expected = (("nightly", "/srv/备份"), ("far", "s3://b/p"))
    settings = load({}, {}, file=file)
    assert (settings.backup_targets, settings.backup_every) == (expected, 86_400.0)
    flags = load({"backup_targets": "nightly=/srv/备份, far=s3://b/p"}, {"SILTSTONE_BACKUP_EVERY": "90"})
    assert (flags.backup_targets, flags.backup_every) == (expected, 90.0)
    for bad in ("nightly", "=x", "a b=c"):
        with pytest.raises(siltstone.InvalidArgumentError, match="backup_targets"):
            load({"backup_targets": bad}, {})
    with pytest.raises(siltstone.InvalidArgumentError, match="a minute"):
        load({"backup_every": "1s"}, {})


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_a_full_target_is_told_and_its_former_backup_stays(open_at: Open, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if os.system(f"mount -t tmpfs -o size=2m tmpfs {small} 2>/dev/null"):
        pytest.skip("this machine does not let tests mount a file system")
    try:
        mem = open_at(settings=replace(SETTINGS, backup_targets=(("small", str(small)),)))
        fill(mem)
        made = mem.backup("small")
        vector = [0.1] * 4096
        drafts = [{"content": f"第 {i} 条", "vector": vector, "on_duplicate": "KEEP"} for i in range(200)]
        mem.write_many(drafts, namespace="large")
        with pytest.raises(siltstone.ResourceExhaustedError) as caught:
            mem.backup("small")
        assert caught.value.reason == "TARGET_FULL"
        mem.close()
        target = Folder(small)
        assert [m.name for m in backups_at(target)] == [made.name]
        restore(tmp_path / "restored", target, choose(target))
        assert open_at("restored").check().problems == []
    finally:
        os.system(f"umount {small}")


class _LastYear(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return datetime.now(tz) - timedelta(days=365)


def test_a_clock_that_is_set_back_makes_no_backup_an_old_one(
    open_at: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = (("here", str(tmp_path / "kept")),)
    mem = open_at(settings=replace(SETTINGS, backup_targets=targets, backup_keep=1))
    mem.write("before the clock was set back")
    former = mem.backup("here")
    monkeypatch.setattr(engine_backups, "datetime", _LastYear)
    mem.write("时钟拨回之后")
    made = mem.backup("here")
    assert made.name > former.name
    assert [manifest.name for manifest in backups_at(Folder(tmp_path / "kept"))] == [made.name]
    sent = mem.backup_to(tmp_path / "kept")
    assert [m.name for m in backups_at(Folder(tmp_path / "kept"))] == [made.name, sent.name]
    monkeypatch.setattr(mem.engine.backups, "_every", 3600.0)
    assert mem.engine.backups._left("here") == 0.0  # not in a year


def test_what_lies_in_a_folder_by_chance_hinders_no_backup_and_no_restore(
    open_at: Open, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("here", str(kept)),), backup_keep=1))
    fill(mem)
    mem.backup("here")
    [store] = kept.iterdir()
    (store / "backups/._20260101T000000000000Z-1.json").write_bytes(b"\0\5\x16\7")  # as some systems leave
    (store / "backups/旧的.json").write_text("{}")
    (store / "chunks/loop").symlink_to(store)
    (store / "chunks/nowhere").symlink_to(tmp_path / "nowhere")
    os.close(os.open(os.fsencode(store / "chunks") + b"/\xff", os.O_CREAT))
    mem.write("写在第二次备份之前")
    server = serve(mem.engine, address="127.0.0.1:0")
    try:
        with siltstone.Client(server.address) as client:
            made = client.backup_to(kept)
    finally:
        server.stop()
    before = answers(mem)
    mem.close()
    target = Folder(kept)
    assert choose(target).name == made.name
    restore(tmp_path / "restored", target, choose(target))
    assert answers(open_at("restored")) == before


def test_a_damaged_manifest_costs_no_other_backup_and_is_told(
    open_at: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = tmp_path / "kept"
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("here", str(kept)),), backup_keep=2))
    fill(mem)
    made = [mem.backup("here") for _ in range(2)]
    files = [kept / manifest_part(manifest).name for manifest in backups_at(Folder(kept))]
    whole = files[0].read_bytes()
    files[0].write_bytes(b"{" + whole)
    made.append(mem.backup("here"))
    assert files[0].name in caplog.text
    target = Folder(kept)
    assert choose(target).name == made[2].name
    assert choose(target, made[1].name).name == made[1].name
    with pytest.raises(siltstone.FailedPreconditionError, match=made[0].name):
        choose(target, made[0].name)
    # Of the newest nobody can tell whether an older one may stand in for it.
    newest = kept / manifest_part(choose(target)).name
    newest.write_bytes(b"")
    with pytest.raises(siltstone.FailedPreconditionError, match=made[1].name) as caught:
        choose(target)
    assert caught.value.reason == "BACKUP_DAMAGED"
    done = restore(tmp_path / "restored", target, choose(target, made[1].name))
    assert newest.name in done.unread


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../../../victim"},
        {"store": "../victims"},
        {"name": "20200101T000000000000Z-2"},
        {"tables": {"memories": [["x"]]}},
        {"tables": []},
        {"seq": "1"},
        {"create_time": 5},
        {"format": None},
    ],
)
def test_a_manifest_that_someone_made_up_is_damaged_and_nothing_it_names_is_deleted(
    open_at: Open, tmp_path: Path, changes: dict[str, object]
) -> None:
    kept = tmp_path / "kept"
    (tmp_path / "victim.json").write_text("{}")
    mem = open_at(settings=replace(SETTINGS, backup_targets=(("here", str(kept)),), backup_keep=1))
    mem.backup("here")
    [manifest] = backups_at(Folder(kept))
    made_up = json.loads(manifest.to_bytes())["backup"]
    made_up |= {"name": "20200101T000000000000Z-1", "create_time": "2020-01-01T00:00:00+00:00"} | changes
    sealed = {"backup": made_up, "sha256": sha256(json.dumps(made_up, sort_keys=True).encode()).hexdigest()}
    path = kept / manifest.store / "backups/20200101T000000000000Z-1.json"
    path.write_text(json.dumps(sealed))
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        backups_at(Folder(kept))
    assert caught.value.reason == "BACKUP_DAMAGED"
    mem.backup("here")
    assert (tmp_path / "victim.json").exists()
    assert path.exists()


def test_backups_that_nobody_takes_hold_two_copies_of_the_data_at_most(open_at: Open, tmp_path: Path) -> None:
    mem = open_at()
    fill(mem)
    sent = [mem.engine.stream_backup(StreamBackupRequest(), Call()) for _ in range(3)]
    next(sent[0])
    next(sent[1])
    with pytest.raises(siltstone.ResourceExhaustedError) as caught:
        next(sent[2])
    assert caught.value.reason == "BACKUP_RUNNING"
    assert len(list((tmp_path / "data/store/frozen").iterdir())) == 2
    sent[0].close()
    assert mem.backup_to(tmp_path / "kept").new_bytes
    sent[1].close()
