"""Access tokens: made, listed, revoked."""

import secrets
from dataclasses import replace

from siltstone.engine.backing_up import BackingUp
from siltstone.engine.call import Call
from siltstone.engine.core import found
from siltstone.engine.pages import decode_token, encode_token
from siltstone.engine.patterns import Patterns
from siltstone.engine.tokens import TokenBook, digest_of, make_secret
from siltstone.engine.validate import check_label, check_page, invalid
from siltstone.model import Token, check_roles
from siltstone.model.requests import (
    CreateTokenRequest,
    ListTokensRequest,
    ListTokensResponse,
    RevokeTokenRequest,
    RevokeTokenResponse,
)
from siltstone.store import Writer

_ID_BYTES = 8


class TokenKeeping(BackingUp):
    tokens: TokenBook

    def create_token(self, request: CreateTokenRequest, call: Call) -> Token:
        """The secret is in this answer only. Whoever may make tokens may make any: the guard asks for the
        role admin and a token for everything."""
        check_label(request.name, "name")
        patterns = Patterns.of(request.namespaces)
        roles = sorted(check_roles(request.roles))
        if not roles:
            raise invalid("roles", "is empty; give at least one of reader, writer, auditor, admin")
        id = secrets.token_hex(_ID_BYTES)
        secret = make_secret(id)
        token = Token(id=id, name=request.name, namespaces=list(patterns.texts), roles=roles)

        def operation(writer: Writer) -> Token:
            return writer.put_token(digest_of(secret), token)

        stored = self.store.commit(operation, timeout=call.remaining())
        self.tokens.put(digest_of(secret), stored)
        return replace(stored, secret=secret)

    def list_tokens(self, request: ListTokensRequest, call: Call) -> ListTokensResponse:
        size = check_page(request.page_size)
        scope = ("ListTokens",)
        after = decode_token(request.page_token, scope)
        tokens = self.tokens.all()
        if after:
            ids = [token.id for token in tokens]
            if after not in ids:
                raise invalid("page_token", "is none that this service gave; leave it out")
            tokens = tokens[ids.index(after) + 1 :]
        more = len(tokens) > size
        return ListTokensResponse(
            tokens=tokens[:size], next_page_token=encode_token(tokens[size - 1].id, scope) if more else ""
        )

    def revoke_token(self, request: RevokeTokenRequest, call: Call) -> RevokeTokenResponse:
        def operation(writer: Writer) -> Token:
            return found(writer.revoke_token(request.id), "token", request.id)

        revoked = self.store.commit(operation, timeout=call.remaining())
        self.tokens.put(self.tokens.digest(revoked.id), revoked)
        return RevokeTokenResponse()
