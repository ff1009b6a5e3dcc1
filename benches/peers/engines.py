"""One engine a function: it takes the vectors in, and gives a search back.

Every engine keeps a whole number 0..99 (`bucket`) beside each vector; a search may be held to those below a
bound.
Each is set up as its makers document it for this size, with its graph where it has one.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Vectors = np.ndarray[Any, np.dtype[np.float32]]
Search = Callable[[Vectors, int, int | None], list[int]]  # query, top_k, bound → numbers of vectors
CHUNK = 500


def siltstone(vectors: Vectors, buckets: list[int], directory: Path) -> Search:
    import siltstone as package
    from siltstone.config import Settings

    mem = package.open(directory, settings=Settings(embedding_model="hashing"))
    for at in range(0, len(vectors), CHUNK):
        chunk = range(at, min(at + CHUNK, len(vectors)))
        mem.write_many(
            [
                {
                    "content": str(i),
                    "vector": vectors[i].tolist(),
                    "attributes": {"bucket": buckets[i]},
                    "on_duplicate": "KEEP",
                }
                for i in chunk
            ],
            namespace="peers",
        )
    plain = {
        "similarity": 1,
        "recency": 0,
        "confidence": 0,
        "lexical": 0,
        "neighbours": 0,
        "calibrate": False,
    }

    def search(query: Vectors, top_k: int, bound: int | None) -> list[int]:
        result = mem.search(
            vector=query.tolist(),
            namespace="peers",
            include_public=False,
            top_k=top_k,
            weights=plain,
            diversity=0,
            filter=None if bound is None else {"attributes": {"bucket": {"lt": bound}}},
        )
        return [int(hit.memory.summary) for hit in result.hits]

    return search


def usearch(vectors: Vectors, buckets: list[int], directory: Path) -> Search:
    from usearch.index import Index, MetricKind, ScalarKind

    index = Index(
        ndim=vectors.shape[1],
        metric=MetricKind.IP,
        dtype=ScalarKind.BF16,
        connectivity=16,
        expansion_add=128,
        expansion_search=64,
    )
    index.add(np.arange(len(vectors)), vectors)

    def search(query: Vectors, top_k: int, bound: int | None) -> list[int]:
        if bound is not None:
            raise NotImplementedError("its Python interface has no filter")
        return [int(key) for key in index.search(query, top_k).keys]

    return search


def faiss(vectors: Vectors, buckets: list[int], directory: Path) -> Search:
    import faiss as package

    index = package.IndexHNSWFlat(vectors.shape[1], 16, package.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 128
    index.add(vectors)
    numbers = np.array(buckets)
    bitmaps: dict[int, Any] = {}

    def search(query: Vectors, top_k: int, bound: int | None) -> list[int]:
        parameters = package.SearchParametersHNSW(efSearch=64)
        if bound is not None:
            if bound not in bitmaps:
                bitmaps[bound] = np.packbits(numbers < bound, bitorder="little")
            parameters = package.SearchParametersHNSW(
                efSearch=64, sel=package.IDSelectorBitmap(bitmaps[bound])
            )
        return [int(key) for key in index.search(query[None], top_k, params=parameters)[1][0] if key >= 0]

    return search


def hnswlib(vectors: Vectors, buckets: list[int], directory: Path) -> Search:
    import hnswlib as package

    index = package.Index(space="ip", dim=vectors.shape[1])
    index.init_index(max_elements=len(vectors), ef_construction=128, M=16)
    index.add_items(vectors)
    index.set_ef(64)

    def search(query: Vectors, top_k: int, bound: int | None) -> list[int]:
        allowed = None if bound is None else lambda key: buckets[key] < bound
        return [int(key) for key in index.knn_query(query, k=top_k, filter=allowed, num_threads=1)[0][0]]

    return search


def qdrant(vectors: Vectors, buckets: list[int], directory: Path) -> Search:
    import qdrant_edge as package

    config = package.EdgeConfig(
        vectors={"v": package.EdgeVectorParams(size=vectors.shape[1], distance=package.Distance.Dot)}
    )
    shard = package.EdgeShard.create(str(directory), config)
    for at in range(0, len(vectors), CHUNK):
        points = [
            package.Point(i, {"v": vectors[i].tolist()}, {"bucket": buckets[i]})
            for i in range(at, min(at + CHUNK, len(vectors)))
        ]
        shard.update(package.UpdateOperation.upsert_points(points))
    shard.update(package.UpdateOperation.create_field_index("bucket", package.PayloadSchemaType.Integer))
    shard.optimize()

    def search(query: Vectors, top_k: int, bound: int | None) -> list[int]:
        allowed = None
        if bound is not None:
            below = package.FieldCondition("bucket", range=package.RangeFloat(lt=float(bound)))
            allowed = package.Filter(must=[below])
        nearest = package.Query.Nearest(query.tolist(), using="v")
        request = package.QueryRequest(query=nearest, filter=allowed, limit=top_k)
        return [int(point.id) for point in shard.query(request)]

    return search


def lancedb(vectors: Vectors, buckets: list[int], directory: Path) -> Search:
    import lancedb as package

    rows = [{"id": i, "bucket": buckets[i], "vector": vectors[i]} for i in range(len(vectors))]
    table = package.connect(directory).create_table("vectors", rows)
    table.create_index(metric="dot", vector_column_name="vector", index_type="IVF_HNSW_SQ", num_partitions=1)
    table.create_scalar_index("bucket")

    def search(query: Vectors, top_k: int, bound: int | None) -> list[int]:
        asked = table.search(query).limit(top_k).ef(128).refine_factor(4).select(["id"])
        if bound is not None:
            asked = asked.where(f"bucket < {bound}", prefilter=True)
        return [int(row["id"]) for row in asked.to_list()]

    return search


def chromadb(vectors: Vectors, buckets: list[int], directory: Path) -> Search:
    import chromadb as package

    settings = package.Settings(anonymized_telemetry=False)
    client = package.PersistentClient(str(directory), settings=settings)
    hnsw = {"space": "ip", "max_neighbors": 16, "ef_construction": 128, "ef_search": 64}
    collection = client.create_collection("vectors", configuration={"hnsw": hnsw}, embedding_function=None)
    for at in range(0, len(vectors), CHUNK):
        chunk = range(at, min(at + CHUNK, len(vectors)))
        collection.add(
            ids=[str(i) for i in chunk],
            embeddings=vectors[at : at + CHUNK],
            metadatas=[{"bucket": buckets[i]} for i in chunk],
        )

    def search(query: Vectors, top_k: int, bound: int | None) -> list[int]:
        below = None if bound is None else {"bucket": {"$lt": bound}}
        found = collection.query(query_embeddings=query[None], n_results=top_k, where=below, include=[])
        return [int(id) for id in found["ids"][0]]

    return search


ENGINES: dict[str, Callable[[Vectors, list[int], Path], Search]] = {
    f.__name__: f for f in (siltstone, usearch, faiss, hnswlib, qdrant, lancedb, chromadb)
}


def new_directory(parent: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=parent))
