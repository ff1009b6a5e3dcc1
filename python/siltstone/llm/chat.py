"""One question to ``POST {base_url}/chat/completions``, answered in JSON, in a bounded time."""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from siltstone.endpoint import Endpoint
from siltstone.hindsight.untrusted import read_json
from siltstone.hindsight.watching import Check, unwatched
from siltstone.llm.background import Background

_MAX_BODY = 4 << 20  # bytes; an answer of 32,000 tokens is under 200 kB
_FORMATS = ("json_schema", "json_object", "plain")
_REFUSED_AS_ASKED = (400, 415, 422, 501)  # what endpoints say to a parameter that they do not know

Message = dict[str, str]


class ChatError(Exception):
    """No usable answer; the text says why, and holds neither the key nor what the endpoint said, which may
    repeat what it was sent."""

    def __init__(self, reason: str, *, again: bool, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.again = again  # whether another try may help
        self.wait_s = wait_s  # how long the endpoint asks to wait


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    tokens: int | None  # in and out, as the endpoint counts them; None where it does not
    cut_off: bool  # it ended at the limit of tokens


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How this endpoint likes to be asked, learnt from what it refuses."""

    format: int = 0
    limit: str = "max_tokens"
    temperature: bool = True


class ChatEndpoint:
    """Any OpenAI-compatible chat endpoint. Safe for many threads; connects when it is first asked."""

    def __init__(self, model: str, *, base_url: str, api_key: str = "") -> None:
        """`base_url` goes up to and including the version, as ``http://127.0.0.1:8000/v1``."""
        self._endpoint = Endpoint(
            base_url, "/chat/completions", api_key=api_key, example="http://host:port/v1", settings="llm_"
        )
        self.model = model
        self._dialect = _Dialect()
        self._client: httpx2.AsyncClient | None = None  # belongs to the background's loop
        self._background = Background("siltstone-llm")

    def complete(
        self,
        messages: list[Message],
        *,
        schema: dict[str, Any],
        max_tokens: int,
        deadline: float,
        check: Check = unwatched,
    ) -> Completion:
        """Ask once, at temperature 0, for JSON of `schema`.

        An endpoint that refuses `json_schema` is asked for `json_object`, then for text; what it took is kept
        for the next time.

        Args:
            max_tokens: of the answer.
            deadline: on the clock of `time.monotonic`.
            check: asked ten times a second; what it raises closes the connection and ends the call.

        Raises:
            ChatError: no answer in time, a refusal, or an answer that is none.
        """
        dialect = self._dialect
        while True:
            payload = self._payload(messages, schema, max_tokens, dialect)
            status, body, wait_s = self._background.run(self._post(payload, deadline), check)
            if status == 200:
                self._dialect = dialect
                return _completion(body)
            said = body[:300].decode(errors="replace")
            easier = _easier(dialect, said) if status in _REFUSED_AS_ASKED else None
            if easier is None:
                again = status in (408, 409, 425, 429) or status >= 500
                raise ChatError(f"HTTP {status}", again=again, wait_s=wait_s)
            dialect = easier

    def close(self) -> None:
        self._background.close(self._disconnect())

    async def _disconnect(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _payload(
        self, messages: list[Message], schema: dict[str, Any], max_tokens: int, dialect: _Dialect
    ) -> dict[str, Any]:
        payload: dict[str, Any] = {"model": self.model, "messages": messages, dialect.limit: max_tokens}
        if dialect.temperature:
            payload["temperature"] = 0
        wanted = _FORMATS[dialect.format]
        if wanted == "json_schema":
            named = {"name": "lessons", "strict": True, "schema": schema}
            payload["response_format"] = {"type": wanted, "json_schema": named}
        elif wanted == "json_object":
            payload["response_format"] = {"type": wanted}
        return payload

    async def _post(self, payload: dict[str, Any], deadline: float) -> tuple[int, bytes, float | None]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise ChatError("no time left to ask", again=False)
        if self._client is None:
            self._client = httpx2.AsyncClient(headers=self._endpoint.headers)
        body = bytearray()
        try:
            # The client's timeout is for each read: a trickle would never end.
            async with (
                asyncio.timeout(left),
                self._client.stream("POST", self._endpoint.url, json=payload, timeout=left) as response,
            ):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _MAX_BODY:
                        raise ChatError(f"answer above {_MAX_BODY} bytes", again=True)
                return response.status_code, bytes(body), _seconds(response.headers.get("retry-after"))
        except (TimeoutError, httpx2.TimeoutException):
            what = "no whole answer" if body else "no answer"
            raise ChatError(f"{what} within {left:.1f} s", again=False) from None
        except httpx2.HTTPError:
            raise ChatError("the connection failed", again=True) from None


def _easier(dialect: _Dialect, said: str) -> _Dialect | None:
    """The next way to ask after a refusal; None when there is none."""
    if "max_completion_tokens" in said and dialect.limit == "max_tokens":
        return replace(dialect, limit="max_completion_tokens")
    if "temperature" in said and dialect.temperature:
        return replace(dialect, temperature=False)
    if dialect.format + 1 < len(_FORMATS):
        return replace(dialect, format=dialect.format + 1)
    return None


def _completion(body: bytes) -> Completion:
    try:
        answer = read_json(body.decode())
        choice = answer["choices"][0]
        text = choice["message"]["content"]
        used = (answer.get("usage") or {}).get("total_tokens")
        if not isinstance(text, str) or not text.strip():
            raise ChatError("an empty answer", again=True)
        return Completion(
            text=text,
            tokens=used if isinstance(used, int) and used > 0 else None,
            cut_off=choice.get("finish_reason") == "length",
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ChatError(f"not a chat answer: {type(error).__name__}", again=True) from None


def _seconds(header: str | None) -> float | None:
    """`Retry-After` as seconds; a date, which no chat endpoint sends, counts as not given."""
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < 3600 else None
