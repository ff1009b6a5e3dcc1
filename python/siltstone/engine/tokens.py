"""The access tokens of a store, in memory: which callers present one that is good.

A secret is ``slt_ID_RANDOM`` with 256 random bits. The store holds its SHA-256 digest: the secret cannot be
guessed, so nothing slower is needed to keep a stolen digest from being turned back. The id finds the digest;
comparing it takes the same time wherever two digests differ.
"""

import hashlib
import hmac
import secrets
import threading

from siltstone.model import Token
from siltstone.store import Store

PREFIX = "slt_"
_NOBODY = bytes(32)


def make_secret(id: str) -> str:
    return f"{PREFIX}{id}_{secrets.token_urlsafe(32)}"


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


class TokenBook:
    """All tokens of a store, of which this process is the only writer. For any thread."""

    def __init__(self, store: Store) -> None:
        self._lock = threading.Lock()
        with store.read() as reader:
            self._tokens = {token.id: (digest, token) for digest, token in reader.tokens()}

    @property
    def in_use(self) -> bool:
        """Whether the store has, or ever had, a token: then nobody is let in without one. A service must not
        open to everybody because the last one is revoked."""
        return bool(self._tokens)

    def find(self, secret: str) -> Token | None:
        """The token with this secret, if it is good."""
        id = secret.removeprefix(PREFIX).partition("_")[0]
        digest, token = self._tokens.get(id, (_NOBODY, None))
        same = hmac.compare_digest(digest, digest_of(secret))
        return token if same and token is not None and token.revoke_time is None else None

    def good(self, id: str) -> bool:
        """Whether the token with this id was not revoked."""
        _, token = self._tokens.get(id, (_NOBODY, None))
        return token is not None and token.revoke_time is None

    def all(self) -> list[Token]:
        """By their age."""
        with self._lock:
            tokens = [token for _, token in self._tokens.values()]
        return sorted(tokens, key=_age)

    def put(self, digest: bytes, token: Token) -> None:
        """Take over a token that the store has got, or its new state."""
        with self._lock:
            self._tokens[token.id] = (digest, token)

    def digest(self, id: str) -> bytes:
        return self._tokens[id][0]


def _age(token: Token) -> tuple[str, str]:
    assert token.create_time is not None
    return token.create_time.isoformat(), token.id
