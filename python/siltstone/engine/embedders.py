"""The embedding models of a service: that of its settings, and those that namespaces were moved to since."""

import threading
from collections.abc import Callable

from siltstone.embed import Embedder
from siltstone.store import NamespaceRecord


class Embedders:
    """Args:
    default: the model of the settings.
    open_one: loads a model by its name; raises InvalidArgumentError for an unknown one,
        FailedPreconditionError or UnavailableError when it does not load.
    """

    def __init__(self, default: Embedder, open_one: Callable[[str], Embedder]) -> None:
        self.default = default
        self._open = open_one
        self._lock = threading.Lock()
        self._named: dict[str, Embedder] = {}

    def by_name(self, name: str) -> Embedder:
        """The model of this name, loaded at its first use."""
        if (known := self._named.get(name)) is not None:
            return known  # while another one loads, which takes seconds
        with self._lock:
            if name not in self._named:
                embedder = self._open(name)
                if embedder.model == self.default.model:
                    embedder.close()
                    embedder = self.default
                self._named[name] = embedder
            return self._named[name]

    def of(self, namespace: NamespaceRecord | None) -> Embedder:
        """The model that embeds for a namespace; that of the settings where it has none yet, or no name of
        its own is known: whoever embeds compares the two."""
        if namespace is None or not namespace.embedding_name:
            return self.default
        if namespace.embedding_model == self.default.model:
            return self.default
        return self.by_name(namespace.embedding_name)

    def maker_of(self, namespace: NamespaceRecord) -> Embedder | None:
        """The model that made the namespace's vectors; None where the service has not got it, or its callers
        brought them."""
        embedder = self.of(namespace)
        return embedder if namespace.embedding_model == embedder.model else None

    def close(self) -> None:
        with self._lock:
            for embedder in {id(e): e for e in (*self._named.values(), self.default)}.values():
                embedder.close()
