"""Pages of a list: nothing twice, nothing missing, while others write."""

import threading

import pytest
from siltstone.local import Local


def pages(mem: Local, **arguments: object) -> list[str]:
    ids: list[str] = []
    token = ""
    for _ in range(1000):
        page = mem.list("n", page_size=7, page_token=token, **arguments)  # type: ignore[arg-type]
        assert 0 < len(page) <= 7
        ids += [memory.id for memory in page]
        token = page.next_page_token
        if not token:
            return ids
    raise AssertionError("the list has no end")


@pytest.mark.parametrize("filter", [None, {"tags_any": ["保留"]}], ids=["all", "filtered"])
def test_what_was_there_throughout_is_on_exactly_one_page(
    mem: Local, filter: dict[str, object] | None
) -> None:
    lasting = [
        receipt.memory.id
        for receipt in mem.write_many(
            [{"content": f"留下 {i}", "tags": ["保留"], "on_duplicate": "KEEP"} for i in range(60)],
            namespace="n",
        )
    ]
    passing = [
        receipt.memory.id
        for receipt in mem.write_many(
            [{"content": f"go {i}", "tags": ["保留"], "on_duplicate": "KEEP"} for i in range(40)],
            namespace="n",
        )
    ]
    failures: list[BaseException] = []
    stop = threading.Event()

    def write(number: int) -> None:
        i = 0
        try:
            while not stop.is_set() and i < 500:
                i += 1
                mem.write(
                    f"新 {number} {i}", namespace="n", tags=["保留" if i % 2 else "x"], on_duplicate="KEEP"
                )
                mem.update(lasting[(7 * i + number) % 60], attributes={"round": i})
                if passing:
                    mem.forget(ids=passing.pop())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            arguments = {} if filter is None else {"filter": filter}
            ids = pages(mem, **arguments)
            assert len(ids) == len(set(ids)), "an id stands on two pages"
            assert ids == sorted(ids), "in the order they were made"
            assert set(lasting) <= set(ids)
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert failures == []


def test_a_filter_that_lets_nothing_through_gives_one_empty_page(mem: Local) -> None:
    mem.write("x", namespace="n")
    page = mem.list("n", filter={"tags_any": ["nothing"]})
    assert (list(page), page.next_page_token) == ([], "")
