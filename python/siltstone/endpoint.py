"""An HTTP endpoint that serves a model: where it is, its key, and questions to it that end in time."""

import time
from typing import Any

import httpx2

from siltstone.errors import InvalidArgumentError


class EndpointError(Exception):
    """No answer; the text says why and never holds the key. `again`: another try may help."""

    def __init__(self, why: str, *, again: bool = False) -> None:
        super().__init__(why)
        self.again = again


class Endpoint:
    """Attributes:
    url: to post to.
    shown_url: the same without user and password, for messages.
    headers: what each request carries.
    """

    def __init__(self, base_url: str, path: str, *, api_key: str, example: str, settings: str = "") -> None:
        """Nothing is asked yet.

        Args:
            base_url: what stands before `path`, as in `example`.
            api_key: sent as bearer token; "" sends none.
            settings: how the names of base_url and api_key begin where they are set; errors name them.

        Raises:
            InvalidArgumentError: the URL or the key cannot be used.
        """
        self._key = api_key.strip()
        if not (self._key.isascii() and self._key.isprintable()):
            # The client would quote it in its own error.
            field = f"{settings}api_key"
            raise InvalidArgumentError(f"{field}: has characters that no HTTP header may have", field=field)
        self.headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        problem = ""
        try:
            url = httpx2.URL(base_url.rstrip("/") + path)
            if url.scheme not in ("http", "https") or not url.host:
                problem = "no http:// or https:// address"
        except httpx2.InvalidURL as error:
            problem = str(error)
        if problem:
            field = f"{settings}base_url"
            raise InvalidArgumentError(
                f"{field}: {base_url!r}: {problem}; give what stands before {path}, as {example}", field=field
            )
        self.url = str(url)
        self.shown_url = str(url.copy_with(username="", password=""))

    def without_key(self, text: str) -> str:
        """The text with the key masked."""
        return text.replace(self._key, "***") if self._key else text


class Connection:
    """Asks an endpoint. Safe for many threads."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = httpx2.Client(headers=endpoint.headers)

    def post(self, payload: dict[str, Any], *, timeout_s: float, most: int) -> tuple[int, bytes]:
        """Status and body of the answer to a JSON payload.

        Args:
            timeout_s: for the request as a whole.
            most: bytes that the answer may have.

        Raises:
            EndpointError: no whole answer in time, one that is too long, or no connection.
        """
        deadline = time.monotonic() + timeout_s
        body = bytearray()
        try:
            with self._client.stream("POST", self._endpoint.url, json=payload, timeout=timeout_s) as response:
                for chunk in response.iter_bytes():
                    body += chunk
                    # The client's timeout is for each read: a trickle would never end.
                    if time.monotonic() > deadline:
                        raise EndpointError(f"no whole answer within {timeout_s:g} s")
                    if len(body) > most:
                        raise EndpointError(f"answer above {most} bytes")
                return response.status_code, bytes(body)
        except httpx2.TimeoutException:
            what = "no whole answer" if body else "no answer"
            raise EndpointError(f"{what} within {timeout_s:g} s") from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            said = self._endpoint.without_key(str(error))
            again = isinstance(error, httpx2.TransportError)
            raise EndpointError(f"connection failed ({said})", again=again) from None

    def close(self) -> None:
        self._client.close()
