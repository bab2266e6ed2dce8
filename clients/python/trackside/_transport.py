"""How a request is sent, sent again, and refused. The same for every route."""

from __future__ import annotations

import copy
import http.client
import json as _json
import os
import random
import ssl
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from ._generated import Page, Problem, Unmet

T = TypeVar("T")

#: A stream that says nothing for so long is gone: the server says something every 15 seconds.
SILENCE = 45.0
#: Who follows along waits longer for a server that is away than who asks.
PATIENCE = 5


class Unreachable(Exception):
    """No answer, or one that is not understood."""


class Refused(Exception):
    """The server turned it down. `problem` is all it had to say."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.problem = problem
        #: Seconds after which it may be asked again.
        self.retry_after: float | None = None

    @property
    def status(self) -> int:
        return self.problem["status"]

    @property
    def code(self) -> str:
        """A word for programs, such as `requirement-missing`."""
        return self.problem["code"]

    @property
    def errors(self) -> list[Unmet]:
        """Every unmet condition."""
        return self.problem["errors"]

    @property
    def allowed(self) -> list[str]:
        """The states that the rules permit from here."""
        return self.problem["allowedTransitions"]


class Invalid(Refused):
    """400: a body or a parameter of the wrong shape."""


class Unauthorized(Refused):
    """401: no valid token."""


class Forbidden(Refused):
    """403: this actor may not."""


class NotFound(Refused):
    """404: it is not there, or not for this actor."""


class Conflict(Refused):
    """409: a fence, a key or an id that is taken."""


class Stale(Refused):
    """412: it is no longer at the version that was named."""


class Rejected(Refused):
    """422: the lifecycle refuses."""


class Overloaded(Refused):
    """429 or 503, still so after every try."""


_BY_STATUS: dict[int, type[Refused]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Stale,
    422: Rejected,
    429: Overloaded,
    503: Overloaded,
}


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Only the parameters that were given."""
    return {name: value for name, value in values.items() if value is not None}


def part(text: object) -> str:
    """A part of a path: nothing in it can lead elsewhere."""
    return urllib.parse.quote(str(text), safe="")


def each(page: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """Every item of a list, page by page: `each(lambda c: client.list_entities("mission.task", cursor=c))`."""
    cursor: str | None = None
    while True:
        found = page(cursor)
        yield from found["items"]
        cursor = found.get("nextCursor")
        if cursor is None:
            return


class Transport:
    """A server, and how it is spoken to."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        tries: int = 6,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`tries` is how often a request is sent until it is given up; `context` is for TLS."""
        self._url = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        if self._url.scheme not in ("http", "https") or self._url.hostname is None:
            raise ValueError(f"{url} is no address: give one such as http://127.0.0.1:7420")
        self._token = token.strip()
        self._timeout = timeout
        self._tries = max(1, tries)
        self._context = context
        self._subject: str | None = None

    @classmethod
    def from_environment(cls, data: str | os.PathLike[str] = ".trackside") -> Self:
        """The server that TRACKSIDE_URL and TRACKSIDE_TOKEN name, else that of a folder."""
        url, token = os.environ.get("TRACKSIDE_URL"), os.environ.get("TRACKSIDE_TOKEN")
        if url and token:
            return cls(url, token)
        folder = Path(data)
        return cls((folder / "address").read_text().strip(), token or (folder / "token").read_text())

    def for_agent(self, agent: str) -> Self:
        """The same, for one of the agents that the token may act for."""
        other = copy.copy(self)
        other._subject = agent
        return other

    @staticmethod
    def _key(key: str | None) -> str:
        return key or str(uuid.uuid4())

    def _json(self, method: str, path: str, **how: Any) -> Any:
        text = self._whole(method, path, **how)
        return _json.loads(text) if text else None

    def _nothing(self, method: str, path: str, **how: Any) -> None:
        self._whole(method, path, **how)

    def _text(self, method: str, path: str, **how: Any) -> str:
        return self._whole(method, path, **how).decode()

    def _bytes(self, method: str, path: str, **how: Any) -> bytes:
        return self._whole(method, path, **how)

    def _lines(self, method: str, path: str, **how: Any) -> Iterator[dict[str, Any]]:
        connection, response = self._tried(method, path, **how)
        try:
            while line := response.readline():
                yield _json.loads(line)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self._url.netloc} broke off: {error}") from error
        finally:
            connection.close()

    def _events(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, **how: Any
    ) -> Iterator[Any]:
        """Resumes after the last entry, through every interruption."""
        last: str | None = None
        missed = 0
        while True:
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
            try:
                connection, response = self._once(method, path, query=query, headers=headers, timeout=SILENCE, **how)
                missed = 0
                try:
                    for last, data in _frames(response):
                        yield _json.loads(data)
                finally:
                    connection.close()
            except (OSError, http.client.HTTPException) as error:
                missed += 1
                if missed >= PATIENCE * self._tries:
                    raise Unreachable(f"{self._url.netloc} is away: {error}") from error
            except Overloaded:
                missed += 1
                if missed >= PATIENCE * self._tries:
                    raise
            time.sleep(_pause(missed))

    def _whole(self, method: str, path: str, **how: Any) -> bytes:
        connection, response = self._tried(method, path, **how)
        try:
            return response.read()
        finally:
            connection.close()

    def _tried(
        self, method: str, path: str, *, key: str | None = None, **how: Any
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends it until it is answered, as often as that does no harm."""
        # Without a key a retry after a lost answer could repeat the command.
        counts_once = method != "POST" or key is not None
        headers = {**how.pop("headers", {}), **({"Idempotency-Key": key} if key else {})}
        for number in range(self._tries):
            last = number + 1 == self._tries
            try:
                return self._once(method, path, headers=headers, **how)
            except Overloaded as refused:
                if last:
                    raise
                time.sleep(_pause(number, refused.retry_after))
            except (OSError, http.client.HTTPException) as error:
                refused_at_the_door = isinstance(error, ConnectionRefusedError)
                if last or not (counts_once or refused_at_the_door):
                    raise Unreachable(f"{self._url.netloc} cannot be reached: {error}") from error
                time.sleep(_pause(number))
        raise Unreachable(f"{self._url.netloc} was not tried")

    def _once(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        json: object = None,
        content: bytes | None = None,
        timeout: float | None = None,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "*/*", "Connection": "close"}
        if self._subject is not None:
            sent["Trackside-For"] = self._subject
        sent.update({name: str(value) for name, value in (headers or {}).items()})
        body = content
        if content is not None:
            sent["Content-Type"] = "application/octet-stream"
        elif json is not None:
            sent["Content-Type"] = "application/json"
            body = _json.dumps(json).encode()
        if query:
            path = f"{path}?{urllib.parse.urlencode({name: _plain(value) for name, value in query.items()})}"
        connection = self._connection(timeout or self._timeout)
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            if response.status >= 300:
                raise self._refused(response)
        except BaseException:
            connection.close()
            raise
        return connection, response

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._context)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _refused(self, response: http.client.HTTPResponse) -> Exception:
        text = response.read()
        try:
            problem = _json.loads(text)
            refused = _BY_STATUS.get(response.status, Refused)(problem)
        except (ValueError, KeyError, TypeError):
            return Unreachable(f"{self._url.netloc} answered {response.status}: is it a Trackside server?")
        after = response.headers.get("Retry-After")
        if after is not None and after.isdigit():
            refused.retry_after = float(after)
        return refused


def _plain(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def _pause(number: int, after: float | None = None) -> float:
    """Seconds before the next try: longer every time, and never in step with others."""
    most = after if after is not None else min(5.0, 0.1 * 2.0**number)
    return most * random.uniform(0.5, 1.0) if after is None else most + random.uniform(0.0, 0.1)


def _frames(response: http.client.HTTPResponse) -> Iterator[tuple[str | None, str]]:
    """Server-sent events: the id and the data of each."""
    last: str | None = None
    data: list[str] = []
    while line := response.readline():
        text = line.decode().rstrip("\r\n")
        if not text:
            if data:
                yield last, "\n".join(data)
            data = []
            continue
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            last = value
        elif name == "data":
            data.append(value)
