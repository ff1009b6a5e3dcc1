"""Data files of former formats, as releases wrote them, are opened and brought to the format of this one."""

import gzip
import json
from pathlib import Path

import lmdb
import pytest
import siltstone
from siltstone.config import Settings
from siltstone.data import from_data
from siltstone.errors import SiltstoneError
from siltstone.model import Memory, Task, Trace
from siltstone.store import FORMAT_VERSION, Store, keys, upgrades

FORMATS = Path(__file__).parent / "formats"
SETTINGS = Settings(embedding_model="hashing", hindsight_workers=0)


def unpacked(version: int, data: Path) -> None:
    (data / "store").mkdir(parents=True)
    (data / "store/data.mdb").write_bytes(gzip.decompress((FORMATS / f"{version}.mdb.gz").read_bytes()))


def format_of(file: Path) -> int:
    options = {"subdir": False, "readonly": True, "lock": False, "max_dbs": 1, "lib_version": 0}
    with lmdb.open(str(file), **options) as env, env.begin() as txn:
        written = upgrades.written_format(txn, env.open_db(b"meta", txn=txn, create=False))
    assert written is not None
    return written[0]


def test_there_is_a_fixture_and_a_step_for_every_former_format() -> None:
    former = list(range(1, FORMAT_VERSION))
    assert sorted(upgrades.STEPS) == former
    assert sorted(int(path.name.split(".")[0]) for path in FORMATS.glob("*.mdb.gz")) == former


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION))
def test_a_data_directory_of_a_former_format_opens_with_all_that_was_in_it(
    version: int, tmp_path: Path
) -> None:
    unpacked(version, tmp_path)
    expected = json.loads((FORMATS / f"{version}.json").read_text("utf-8"))
    for _ in range(2):  # once upgraded, and once as upgraded
        with siltstone.open(tmp_path, settings=SETTINGS) as mem:
            memories = [m for name in ("default", "team/agent-a", "own") for m in mem.list(name)]
            assert memories == from_data(list[Memory], expected["memories"])
            trace = next(m for m in memories if m.supersedes)
            assert mem.trace(trace.id) == from_data(Trace, expected["trace"])
            assert mem.get_task(expected["task"]["id"]) == from_data(Task, expected["task"])
            with pytest.raises(siltstone.NotFoundError):
                mem.get([expected["erased"]])
            [forgotten] = mem.get([expected["forgotten"]])
            assert forgotten.invalidate_time is not None
            found = mem.search("为什么容器不能用服务名访问", include_superseded=True).hits[0].memory
            assert found.summary.startswith("容器之间")
            assert mem.check().problems == []
    assert format_of(tmp_path / "store/data.mdb") == FORMAT_VERSION


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION))
def test_the_file_as_it_was_is_kept_until_the_store_is_compacted(version: int, tmp_path: Path) -> None:
    unpacked(version, tmp_path)
    kept = tmp_path / f"store/former/format-{version}/data.mdb"
    with siltstone.open(tmp_path, settings=SETTINGS) as mem:
        assert format_of(kept) == version
        mem.compact()
        assert not kept.exists()


def test_a_step_that_fails_leaves_the_file_in_its_format_and_the_next_start_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked(1, tmp_path)
    step = upgrades.STEPS[1]

    def half(txn: lmdb.Transaction, tables: upgrades.Tables) -> None:
        step(txn, tables)
        raise lmdb.DiskError("in the midst of a step")

    monkeypatch.setitem(upgrades.STEPS, 1, half)
    with pytest.raises(SiltstoneError, match="in the midst"):
        Store(tmp_path / "store", applier=lambda _: None)
    assert format_of(tmp_path / "store/data.mdb") == 1
    monkeypatch.setitem(upgrades.STEPS, 1, step)
    Store(tmp_path / "store", applier=lambda _: None).close()
    assert format_of(tmp_path / "store/data.mdb") == FORMAT_VERSION


def test_a_new_store_has_an_id_of_its_own_and_the_present_format(tmp_path: Path) -> None:
    ids = set()
    for name in ("a", "b"):
        with Store(tmp_path / name, applier=lambda _: None) as store, store.frozen() as frozen:
            ids.add(frozen.store)
            assert frozen.format == FORMAT_VERSION
            assert len(frozen.store) == upgrades.STORE_ID_BYTES
            assert keys.number(frozen.seq)
    assert len(ids) == 2
