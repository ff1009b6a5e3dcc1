"""Tokens that another service issued: JSON Web Tokens (RFC 7519) of one OpenID Connect issuer.

Only signatures with the issuer's private key are taken: with a shared secret, whoever can check tokens could
make them, and "none" is no signature.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siltstone.engine.patterns import Patterns
from siltstone.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnauthenticatedError,
    UnavailableError,
)
from siltstone.exposure import is_local
from siltstone.model import ROLES
from siltstone.server.callers import Caller

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_S = 30  # between the clocks of the issuer and this machine
FRESH_S = 300.0  # until keys from a URL are asked for again
REFRESH_S = 15.0  # between two questions at least
TIMEOUT_S = 5.0
MAX_SUBJECT = 256


@dataclass(frozen=True, slots=True)
class Issuer:
    """Whose tokens are taken, and what they say.

    Attributes:
        issuer, audience: what `iss` must be, and what `aud` must hold.
        keys: a PEM file with a public key, a file with a JSON Web Key Set, or an https URL of one.
        namespaces_claim, roles_claim: where a token says what it opens; a list, or text with blanks between.
            A name with dots that is no claim is a path, such as ``realm_access.roles``.
    """

    issuer: str
    audience: str
    keys: str
    namespaces_claim: str = "siltstone_namespaces"
    roles_claim: str = "siltstone_roles"


class IssuedTokens:
    """Checks tokens of one issuer; a `Verifier`. For any thread.

    Raises:
        InvalidArgumentError: a setting is missing.
        FailedPreconditionError: (JWT_UNUSABLE) the library is not installed, or the keys cannot be read.
    """

    def __init__(self, issuer: Issuer, clock: Callable[[], float] = time.time) -> None:
        for name in ("issuer", "audience", "keys"):
            if not getattr(issuer, name):
                raise InvalidArgumentError(
                    f"jwt_{name}: is missing; jwt_issuer, jwt_audience and jwt_keys go together",
                    field=f"jwt_{name}",
                )
        try:
            import jwt
        except ImportError:
            raise _unusable("jwt_issuer", "PyJWT is not installed; pip install 'siltstone[jwt]'") from None
        self._jwt = jwt
        self._issuer = issuer
        self._clock = clock
        self._keys = _UrlKeys(jwt, issuer.keys) if "://" in issuer.keys else _FileKeys(jwt, issuer.keys)

    def caller(self, token: str) -> Caller:
        claims = self._claims(token)
        expires = claims["exp"]

        def still_valid() -> None:
            if self._clock() > expires + LEEWAY_S:
                raise _not_good("has expired")

        still_valid()
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT:
            raise _not_good(f"has no subject of 1 to {MAX_SUBJECT} characters")
        roles = ROLES.intersection(_words(claims, self._issuer.roles_claim))
        if not roles:
            raise _not_good(f"names none of {', '.join(sorted(ROLES))} in {self._issuer.roles_claim}")
        try:
            patterns = Patterns.of(
                _words(claims, self._issuer.namespaces_claim), self._issuer.namespaces_claim
            )
        except InvalidArgumentError as error:
            raise _not_good(f"opens no namespaces ({error})") from None
        return Caller(f"jwt {self._issuer.issuer} {subject}", roles, patterns, still_valid)

    def _claims(self, token: str) -> dict[str, Any]:
        try:
            header = self._jwt.get_unverified_header(token)
            key = self._keys.find(header.get("kid"))
            claims: dict[str, Any] = self._jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._issuer.audience,
                issuer=self._issuer.issuer,
                # `exp` is asked of the same clock as later on.
                options={"require": ["exp", "iss", "aud", "sub"], "verify_exp": False},
                leeway=LEEWAY_S,
            )
            claims["exp"] = float(claims["exp"])
        except self._jwt.PyJWKClientError as error:
            raise UnavailableError(
                f"authorization: the issuer's keys cannot be had ({error}); try again", reason="NO_KEYS"
            ) from None
        # A header, a key or a claim that is not what it should be raises more than PyJWT's own errors.
        except (self._jwt.PyJWTError, TypeError, ValueError):
            raise _not_good("is not one of its issuer's for this service") from None
        return claims


class _FileKeys:
    def __init__(self, jwt: Any, path: str) -> None:
        try:
            text = Path(path).read_text("utf-8")
            if text.lstrip().startswith("{"):
                keys = _by_id(jwt.PyJWKSet.from_dict(json.loads(text)).keys)
            else:
                keys = {None: _public_key(text)}
        except (OSError, ValueError, jwt.PyJWTError) as error:
            raise _unusable("jwt_keys", f"{path} holds no public key in PEM and no JWKS ({error})") from None
        self._keys = keys

    def find(self, id: str | None) -> Any:
        return _chosen(self._keys, id)


class _UrlKeys:
    """Keys at a URL. Neither strangers, who can name any key, nor an issuer that is down, set the pace at
    which it is asked; keys that were had stay good while it is down."""

    def __init__(self, jwt: Any, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        host = url.partition("://")[2].partition("/")[0]
        local = is_local(host if ":" in host else f"{host}:80")
        if not url.startswith("https://") and not (url.startswith("http://") and local):
            raise InvalidArgumentError(
                f"jwt_keys: {url!r} is no https URL; keys that come unprotected protect nothing",
                field="jwt_keys",
            )
        self._error = jwt.PyJWKClientError
        self._client = jwt.PyJWKClient(url, cache_jwk_set=False, timeout=TIMEOUT_S)
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str | None, Any] = {}
        self._asked = -FRESH_S

    def find(self, id: str | None) -> Any:
        age = self._clock() - self._asked
        if age > FRESH_S or (age > REFRESH_S and id not in self._keys):
            self._ask()
        if not self._keys:
            raise self._error("its key server did not answer")
        return _chosen(self._keys, id)

    def _ask(self) -> None:
        if not self._lock.acquire(blocking=not self._keys):
            return  # another call asks
        try:
            if self._clock() - self._asked > REFRESH_S:
                self._asked = self._clock()
                self._keys = _by_id(self._client.get_signing_keys())
        except self._error as error:
            log.warning("the keys of the issuer of tokens cannot be had: %s", error)
        finally:
            self._lock.release()


def _by_id(keys: Sequence[Any]) -> dict[str | None, Any]:
    return {key.key_id: key.key for key in keys if key.public_key_use in (None, "sig")}


def _chosen(keys: Mapping[str | None, Any], id: str | None) -> Any:
    """The key with an id; where there is one key only, and it or the token has no id, that one."""
    if id in keys:
        return keys[id]
    if len(keys) == 1 and (id is None or None in keys):
        return next(iter(keys.values()))
    raise ValueError("no such key")


def _public_key(text: str) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    return load_pem_public_key(text.encode())


def _words(claims: Mapping[str, Any], name: str) -> list[str]:
    """What a claim lists."""
    value: Any = claims.get(name)
    if value is None and "." in name:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    return []


def _unusable(field: str, problem: str) -> FailedPreconditionError:
    return FailedPreconditionError(f"{field}: {problem}", reason="JWT_UNUSABLE", field=field)


def _not_good(problem: str) -> UnauthenticatedError:
    return UnauthenticatedError(
        f"authorization: this token {problem}; ask its issuer for another",
        reason="UNKNOWN_TOKEN",
        field="authorization",
    )
