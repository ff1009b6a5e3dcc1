"""Tokens of another issuer: which are taken, what they say, and where its keys come from."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from siltstone.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnauthenticatedError,
    UnavailableError,
)
from siltstone.server import IssuedTokens, Issuer
from siltstone.server.issued import LEEWAY_S

ISSUER, AUDIENCE = "https://login.example.org", "siltstone"
KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)
ED = ed25519.Ed25519PrivateKey.generate()


def public(key: Any) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def claims(**changes: Any) -> dict[str, Any]:
    whole = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "张三",
        "exp": time.time() + 600,
        "siltstone_namespaces": ["团队/*"],
        "siltstone_roles": ["reader", "writer"],
    }
    return {name: value for name, value in (whole | changes).items() if value is not None}


def token(key: Any = KEY, algorithm: str = "ES256", headers: Any = None, **changes: Any) -> str:
    return jwt.encode(claims(**changes), key, algorithm, headers=headers)


@pytest.fixture
def pem(tmp_path: Path) -> str:
    path = tmp_path / "key.pem"
    path.write_text(public(KEY))
    return str(path)


@pytest.fixture
def issued(pem: str) -> IssuedTokens:
    return IssuedTokens(Issuer(ISSUER, AUDIENCE, pem))


def test_a_good_token_tells_who_calls_with_what_roles_and_where(issued: IssuedTokens) -> None:
    caller = issued.caller(token())
    assert caller.principal == f"jwt {ISSUER} 张三"
    assert caller.roles == {"reader", "writer"}
    assert caller.namespaces.match("团队/甲")
    assert not caller.namespaces.match("default")
    caller.still_valid()


def test_claims_may_be_text_a_path_and_hold_what_is_no_role_of_ours(pem: str) -> None:
    issuer = Issuer(ISSUER, AUDIENCE, pem, "namespaces", "realm_access.roles")
    said = {"namespaces": "团队/* public", "realm_access": {"roles": ["offline_access", "auditor"]}}
    caller = IssuedTokens(issuer).caller(token(**said))
    assert caller.roles == {"auditor"}
    assert caller.namespaces.texts == ("团队/*", "public")


def forged() -> dict[str, str]:
    head, body, signature = token().split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    return {
        "another key": token(OTHER),
        "no signature": f"{none}.{body}.",
        "the signature cut": f"{head}.{body}.{signature[:-4]}",
        "another body": f"{head}.{token(sub='李四').split('.')[1]}.{signature}",
        "another issuer": token(iss="https://evil.example.org"),
        "another audience": token(aud="other"),
        "no audience": token(aud=None),
        "no issuer": token(iss=None),
        "no subject": token(sub=None),
        "an empty subject": token(sub=""),
        "a long subject": token(sub="x" * 1000),
        "no end": token(exp=None),
        "an end that is none": token(exp="soon"),
        "an end that passed": token(exp=time.time() - 3600),
        "not yet": token(nbf=time.time() + 3600),
        "no roles": token(siltstone_roles=None),
        "no role of ours": token(siltstone_roles=["god"]),
        "roles that are no list": token(siltstone_roles={"admin": True}),
        "no namespaces": token(siltstone_namespaces=[]),
        "no pattern": token(siltstone_namespaces=["a/**/b"]),
        "nothing": "",
        "no token": "a.b.c",
        "no text": "\udcff.x.y",
        # With the public key, which everybody has, as if it were a shared secret.
        "signed with the public key": _hs256(),
    }


def _hs256() -> str:
    def encoded(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    signed = encoded(b'{"alg":"HS256","typ":"JWT"}') + "." + encoded(json.dumps(claims()).encode())
    return signed + "." + encoded(hmac.new(public(KEY).encode(), signed.encode(), hashlib.sha256).digest())


@pytest.mark.parametrize("what", list(forged()))
def test_what_is_not_good_is_refused_without_a_word_of_it(issued: IssuedTokens, what: str) -> None:
    shown = forged()[what]
    with pytest.raises(UnauthenticatedError) as caught:
        issued.caller(shown)
    assert caught.value.field == "authorization"
    for part in shown.split("."):
        assert len(part) < 5 or part not in str(caught.value)


def test_a_token_that_ends_is_good_no_longer_in_an_open_stream(pem: str) -> None:
    now = time.time()
    issued = IssuedTokens(Issuer(ISSUER, AUDIENCE, pem), clock=lambda: now)
    caller = issued.caller(token(exp=now + 60))
    now += 60 + LEEWAY_S - 1
    caller.still_valid()
    now += 2
    with pytest.raises(UnauthenticatedError):
        caller.still_valid()
    with pytest.raises(UnauthenticatedError):
        issued.caller(token(exp=now - LEEWAY_S - 1))


def jwks(**keys: Any) -> str:
    made = []
    for id, key in keys.items():
        algorithm = {rsa.RSAPrivateKey: "RS256", ed25519.Ed25519PrivateKey: "EdDSA"}.get(
            next((c for c in (rsa.RSAPrivateKey, ed25519.Ed25519PrivateKey) if isinstance(key, c)), None),
            "ES256",
        )
        data = json.loads(jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key()))
        made.append(data | {"kid": id, "alg": algorithm})
    return json.dumps({"keys": made})


def test_a_key_set_has_the_key_that_a_token_names(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(jwks(a=KEY, b=RSA, c=ED))
    issued = IssuedTokens(Issuer(ISSUER, AUDIENCE, str(path)))
    for key, algorithm, id in (
        (KEY, "ES256", "a"),
        (RSA, "RS256", "b"),
        (RSA, "PS256", "b"),
        (ED, "EdDSA", "c"),
    ):
        assert issued.caller(token(key, algorithm, {"kid": id})).roles
    for headers in ({"kid": "b"}, {"kid": "x"}, None):
        with pytest.raises(UnauthenticatedError):
            issued.caller(token(KEY, "ES256", headers))


class KeyServer:
    def __init__(self) -> None:
        self.answer = ""
        self.asked = 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked += 1
                self.send_response(200 if owner.answer else 503)
                self.end_headers()
                self.wfile.write(owner.answer.encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/keys"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(10)


@pytest.fixture
def key_server() -> Iterator[KeyServer]:
    server = KeyServer()
    yield server
    server.close()


def test_keys_from_a_url_are_kept_and_asked_for_again_at_our_own_pace(key_server: KeyServer) -> None:
    now = 0.0
    issued = IssuedTokens(Issuer(ISSUER, AUDIENCE, key_server.url))
    issued._keys._clock = lambda: now  # type: ignore[union-attr]
    with pytest.raises(UnavailableError) as caught:
        issued.caller(token(headers={"kid": "a"}))
    assert caught.value.reason == "NO_KEYS"
    with pytest.raises(UnavailableError):
        issued.caller(token(headers={"kid": "a"}))
    assert key_server.asked == 1, "an issuer that is down is not asked for each call"
    now += 20
    key_server.answer = jwks(a=KEY)
    for _ in range(3):
        assert issued.caller(token(headers={"kid": "a"})).roles
    assert key_server.asked == 2
    for i in range(5):
        with pytest.raises(UnauthenticatedError):
            issued.caller(token(OTHER, headers={"kid": f"made-up-{i}"}))
    assert key_server.asked == 2
    now += 20
    key_server.answer = jwks(b=OTHER)
    assert issued.caller(token(OTHER, headers={"kid": "b"})).roles, "a new key is looked for"
    with pytest.raises(UnauthenticatedError):
        issued.caller(token(headers={"kid": "a"}))
    assert key_server.asked == 3
    now += 1000
    key_server.answer = ""
    assert issued.caller(token(OTHER, headers={"kid": "b"})).roles, "what was had stays good meanwhile"
    assert key_server.asked == 4


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (("", AUDIENCE, "k"), "jwt_issuer"),
        ((ISSUER, "", "k"), "jwt_audience"),
        ((ISSUER, AUDIENCE, ""), "jwt_keys"),
        ((ISSUER, AUDIENCE, "{tmp}/none.pem"), "jwt_keys"),
        ((ISSUER, AUDIENCE, "{tmp}/broken.pem"), "jwt_keys"),
        ((ISSUER, AUDIENCE, "http://login.example.org/keys"), "jwt_keys"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path: Path, given: tuple[str, ...], field: str) -> None:
    (tmp_path / "broken.pem").write_text("-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n")
    with pytest.raises((InvalidArgumentError, FailedPreconditionError)) as caught:
        IssuedTokens(Issuer(*(text.format(tmp=tmp_path) for text in given)))
    assert caught.value.field == field
