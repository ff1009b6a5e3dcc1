"""Backups at the targets of the configuration: folders, and S3 as a local server speaks it."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import siltstone
from siltstone.backup import Folder, backups_at, open_target
from siltstone.config import load
from siltstone.engine.restoring import choose, restore
from siltstone.local import Local

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
    due = again.engine.backups._due("here")
    assert due == pytest.approx(backups_at(target)[0].create_time.timestamp() + 3600.0)


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
