"""What a backup brings back, and that it brings back nothing half."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import siltstone
from siltstone.backup import Folder, Manifest, backups_at
from siltstone.engine.restoring import choose, restore, verify
from siltstone.errors import SiltstoneError
from siltstone.local import Local
from siltstone.store import FORMAT_VERSION

from .conftest import answers, fill

Open = Callable[..., Local]


def put_back(tmp_path: Path, name: str = "restored", **options: object) -> object:
    target = Folder(tmp_path / "kept")
    which = str(options.pop("backup", ""))
    return restore(tmp_path / name, target, choose(target, which), **options)  # type: ignore[arg-type]


def files_below(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def test_a_backup_restored_into_an_empty_directory_gives_the_same_answers(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at()
    fill(mem)
    made = mem.backup_to(tmp_path / "kept")
    before = answers(mem)
    assert made.seq == mem.stats().seq
    assert before["problems"] == []
    assert before["searches"][0]["hits"]
    mem.close()
    put_back(tmp_path)
    assert answers(open_at("restored")) == before


def test_a_backup_while_others_write_is_one_consistent_state(open_at: Open, tmp_path: Path) -> None:
    mem = open_at()
    ids = fill(mem)
    stop = threading.Event()

    def write() -> None:
        for i in range(100_000):
            if stop.is_set():
                return
            newer = mem.write(f"第 {i} 次改口：端口是 {i * 31}", supersedes=[ids[-1]]).memory.id
            ids.append(newer)

    ids.append(mem.write("第一次说：端口是 80").memory.id)
    writer = threading.Thread(target=write)
    writer.start()
    made = [mem.backup_to(tmp_path / "kept") for _ in range(3)]
    stop.set()
    writer.join(60)
    assert not writer.is_alive()
    assert made[0].seq < made[1].seq < made[2].seq
    for i, backup in enumerate(made):
        put_back(tmp_path, f"restored{i}", backup=backup.name)
        restored = open_at(f"restored{i}")
        assert restored.check().problems == []
        said = [m for m in restored.list(page_size=1000) if "端口是" in m.content]
        assert sum(not m.superseded_by for m in said) == 1, "a supersession is there whole or not at all"


def test_writes_after_a_backup_are_not_in_it_and_the_next_one_sends_only_what_is_new(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at()
    vector = [0.1] * 4095 + [1.0]
    for batch in range(4):
        drafts = [
            {"content": f"第 {batch * 100 + i} 条", "vector": vector, "on_duplicate": "KEEP"}
            for i in range(100)
        ]
        mem.write_many(drafts, namespace="large")
    first = mem.backup_to(tmp_path / "kept")
    assert first.new_bytes == first.size_bytes > 6_000_000
    later = mem.write("写在第一次备份之后").memory
    second = mem.backup_to(tmp_path / "kept")
    assert second.size_bytes > first.size_bytes
    assert second.new_bytes < first.size_bytes / 2
    mem.close()
    put_back(tmp_path, "older", backup=first.name)
    put_back(tmp_path, "newer", backup=second.name)
    assert open_at("newer").get([later.id])[0].content == "写在第一次备份之后"
    older = open_at("older")
    with pytest.raises(siltstone.NotFoundError):
        older.get([later.id])
    assert older.stats("large").memories == 400


def test_what_was_erased_since_stays_erased_told_by_the_store_that_is_replaced(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at()
    ids = fill(mem)
    secret = mem.write("这句话日后要彻底删除 top-secret-words", task_id=mem.list_tasks()[0].id).memory
    mem.backup_to(tmp_path / "kept")
    mem.forget(ids=[secret.id], mode="ERASE")
    mem.close()
    done = put_back(tmp_path, "data", replace=True)
    assert done.erased == 1  # type: ignore[attr-defined]
    mem = open_at()
    with pytest.raises(siltstone.NotFoundError):
        mem.get([secret.id])
    assert mem.get(ids)
    mem.close()
    kept = tmp_path / "data/store/former"
    held = [name for name, data in files_below(tmp_path / "data").items() if b"top-secret-words" in data]
    assert held == []
    assert list(kept.rglob("data.mdb"))


def test_what_was_erased_since_stays_erased_told_by_a_later_backup(open_at: Open, tmp_path: Path) -> None:
    mem = open_at()
    fill(mem)
    secret = mem.write("这句话日后要彻底删除 top-secret-words").memory
    first = mem.backup_to(tmp_path / "kept")
    mem.forget(ids=[secret.id], mode="ERASE")
    mem.backup_to(tmp_path / "kept")
    mem.close()
    assert put_back(tmp_path, backup=first.name).erased == 1  # type: ignore[attr-defined]
    restored = open_at("restored")
    with pytest.raises(siltstone.NotFoundError):
        restored.get([secret.id])
    assert restored.check().problems == []
    restored.close()
    held = [name for name, data in files_below(tmp_path / "restored").items() if b"top-secret-words" in data]
    assert held == []


def test_a_store_that_is_there_is_replaced_only_on_request_and_its_file_is_kept(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at()
    fill(mem)
    mem.backup_to(tmp_path / "kept")
    mem.write("写在备份之后的唯一一句")
    mem.close()
    before = (tmp_path / "data/store/data.mdb").read_bytes()
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        put_back(tmp_path, "data")
    assert caught.value.reason == "DATA_EXISTS"
    assert (tmp_path / "data/store/data.mdb").read_bytes() == before
    done = put_back(tmp_path, "data", replace=True)
    assert Path(done.former).read_bytes() == before  # type: ignore[attr-defined]
    assert not [m for m in open_at().list(page_size=1000) if "唯一" in m.content]


def test_a_directory_that_a_server_has_open_is_left_alone(open_at: Open, tmp_path: Path) -> None:
    mem = open_at()
    fill(mem)
    mem.backup_to(tmp_path / "kept")
    with pytest.raises(siltstone.FailedPreconditionError) as caught:
        put_back(tmp_path, "data", replace=True)
    assert caught.value.reason == "DATA_LOCKED"
    assert mem.check().problems == []


@pytest.mark.parametrize("kind", ["backups", "chunks"])
def test_a_flipped_byte_anywhere_is_found_before_anything_is_replaced(
    open_at: Open, tmp_path: Path, kind: str
) -> None:
    mem = open_at()
    fill(mem)
    mem.backup_to(tmp_path / "kept")
    mem.close()
    before = files_below(tmp_path / "data")
    target = Folder(tmp_path / "kept")
    for path in (p for p in (tmp_path / "kept").rglob("*") if p.is_file() and f"/{kind}/" in str(p)):
        whole = path.read_bytes()
        for at in (0, len(whole) // 2, len(whole) - 2):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(siltstone.FailedPreconditionError) as caught:
                verify(target, choose(target))
            assert caught.value.reason == "BACKUP_DAMAGED"
            with pytest.raises(siltstone.FailedPreconditionError):
                restore(tmp_path / "data", target, choose(target), replace=True)
        path.write_bytes(whole)
    path.unlink()
    with pytest.raises(SiltstoneError):
        restore(tmp_path / "data", target, choose(target), replace=True)
    assert files_below(tmp_path / "data").keys() == before.keys()
    assert files_below(tmp_path / "data")["store/data.mdb"] == before["store/data.mdb"]


def test_a_backup_of_a_later_release_is_refused(open_at: Open, tmp_path: Path) -> None:
    mem = open_at()
    mem.backup_to(tmp_path / "kept")
    target = Folder(tmp_path / "kept")
    [manifest] = backups_at(target)
    later = Manifest(
        manifest.name, manifest.store, manifest.create_time, 1, FORMAT_VERSION + 1, "9.1", manifest.tables
    )
    with pytest.raises(siltstone.FailedPreconditionError, match=r"9\.1") as caught:
        restore(tmp_path / "new", target, later)
    assert caught.value.reason == "FORMAT_VERSION"
    assert not (tmp_path / "new/store/data.mdb").exists()
    sealed = json.loads(later.to_bytes())
    assert Manifest.from_bytes(json.dumps(sealed).encode(), "here") == later


def test_a_store_that_cannot_be_read_is_replaced_and_that_is_said(open_at: Open, tmp_path: Path) -> None:
    mem = open_at()
    fill(mem)
    mem.backup_to(tmp_path / "kept")
    before = answers(mem)
    mem.close()
    data = tmp_path / "data/store/data.mdb"
    data.write_bytes(b"\0" * 100_000)
    assert put_back(tmp_path, "data", replace=True).unread  # type: ignore[attr-defined]
    assert answers(open_at()) == before


def test_tokens_are_what_they_were_last_and_no_revoked_one_is_good_again(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at()
    before = mem.create_token("before", namespaces=["**"], roles=["admin"])
    stays = mem.create_token("stays", namespaces=["**"], roles=["reader"])
    mem.backup_to(tmp_path / "kept")
    mem.revoke_token(before.id)
    after = mem.create_token("after", namespaces=["team/*"], roles=["reader"])
    mem.close()
    done = put_back(tmp_path, "data", replace=True)
    assert done.revoked == 1  # type: ignore[attr-defined]
    tokens = open_at().engine.tokens
    assert tokens.find(before.secret) is None
    assert tokens.find(stays.secret) is not None
    assert tokens.find(after.secret) is not None


def test_a_store_that_asked_for_tokens_asks_for_them_after_an_older_backup_is_back(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at()
    mem.backup_to(tmp_path / "kept")
    mem.create_token("first", namespaces=["**"], roles=["admin"])
    mem.close()
    put_back(tmp_path, "data", replace=True)
    assert open_at().engine.tokens.in_use


def test_a_token_that_was_revoked_in_a_second_life_stays_revoked_in_a_third(
    open_at: Open, tmp_path: Path
) -> None:
    mem = open_at()
    token = mem.create_token("leaked", namespaces=["**"], roles=["admin"])
    first = mem.backup_to(tmp_path / "kept")
    for i in range(5):
        mem.write(f"第一生的记忆 {i}")
    mem.backup_to(tmp_path / "kept")
    mem.close()
    target = Folder(tmp_path / "kept")
    restore(tmp_path / "data", target, choose(target, first.name), replace=True)
    mem = open_at()
    mem.revoke_token(token.id)  # at a commit whose number is below those of the first life
    mem.close()
    restore(tmp_path / "data", target, choose(target, first.name), replace=True)
    assert open_at().engine.tokens.find(token.secret) is None


def test_where_there_is_no_backup_the_error_says_so_and_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(siltstone.NotFoundError) as caught:
        choose(Folder(tmp_path / "nowhere"))
    assert caught.value.message == (
        f"backup: no backup at {tmp_path / 'nowhere'}; name the folder or URL that backups were written to"
    )
    with pytest.raises(siltstone.NotFoundError, match=r"^backup: no backup 'x' at "):
        choose(Folder(tmp_path / "nowhere"), "x")
