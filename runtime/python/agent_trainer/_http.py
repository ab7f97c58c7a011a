"""Hooks on HTTP clients, for requests to the trainer's gateway and nothing else.

They add a `traceparent` header, so that an LLM call is attributed to the step that made it, and remember
exceptions from a broken connection, so that a dead gateway is not counted as the agent's mistake.
"""

from __future__ import annotations

import functools
import http.client
import sys
from typing import Any, Optional, Tuple

from ._context import current_span

_gateway: Optional[Tuple[str, int]] = None
_MARK = "__agent_trainer_gateway_error__"


def install(host: str, port: int) -> None:
    """Starts hooking requests to this host and port. Called once, by the worker."""
    global _gateway
    _gateway = (host, port)
    _hook_http_client()


def is_gateway_error(error: Optional[BaseException]) -> bool:
    """Whether an exception comes, by cause or context, from the connection to the gateway."""
    seen = set()
    pending = [error]
    while pending:
        item = pending.pop()
        if not isinstance(item, BaseException) or id(item) in seen:
            continue
        seen.add(id(item))
        if getattr(item, _MARK, False):
            return True
        pending += [item.__cause__, item.__context__, getattr(item, "reason", None)]
    return False


def _mark(error: BaseException) -> None:
    try:
        setattr(error, _MARK, True)
    except AttributeError:
        pass  # exceptions with __slots__ cannot carry the mark


def _traceparent() -> Optional[str]:
    span = current_span()
    return span.traceparent if span else None


def _hook_http_client() -> None:
    connection = http.client.HTTPConnection
    original_endheaders = connection.endheaders
    original_getresponse = connection.getresponse
    original_putheader = connection.putheader

    def to_gateway(self: http.client.HTTPConnection) -> bool:
        return (self.host, self.port) == _gateway

    @functools.wraps(original_putheader)
    def putheader(self: http.client.HTTPConnection, header: Any, *values: Any) -> None:
        name = header if isinstance(header, str) else bytes(header).decode("latin-1")
        if name.lower() == "traceparent":
            self.__dict__["_agent_trainer_traced"] = True
        original_putheader(self, header, *values)

    @functools.wraps(original_endheaders)
    def endheaders(self: http.client.HTTPConnection, *args: Any, **kwargs: Any) -> None:
        if not to_gateway(self):
            return original_endheaders(self, *args, **kwargs)
        value = _traceparent()
        if not self.__dict__.pop("_agent_trainer_traced", False) and value:
            original_putheader(self, "traceparent", value)
        try:
            return original_endheaders(self, *args, **kwargs)  # connects
        except Exception as error:  # clients on top of http.client (urllib3) raise types of their own
            _mark(error)
            raise

    @functools.wraps(original_getresponse)
    def getresponse(self: http.client.HTTPConnection) -> http.client.HTTPResponse:
        try:
            return original_getresponse(self)
        except (ConnectionError, http.client.HTTPException) as error:
            if to_gateway(self):
                _mark(error)
            raise

    connection.putheader = putheader  # type: ignore[method-assign]
    connection.endheaders = endheaders  # type: ignore[method-assign]
    connection.getresponse = getresponse  # type: ignore[method-assign]


_unhooked = {"httpx", "httpx2"}  # the OpenAI SDK uses one or the other, by its version


def hook_httpx() -> None:
    """Hooks httpx clients once they are imported; cheap to call again."""
    for name in list(_unhooked):
        module: Any = sys.modules.get(name)
        if _gateway is not None and hasattr(module, "AsyncClient"):
            _unhooked.discard(name)
            _hook_clients(module)


def _hook_clients(httpx: Any) -> None:
    original_send = httpx.Client.send
    original_async_send = httpx.AsyncClient.send
    broken = (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout)

    def prepare(request: Any) -> bool:
        if (request.url.host, request.url.port) != _gateway:
            return False
        value = _traceparent()
        if value and "traceparent" not in request.headers:
            request.headers["traceparent"] = value
        return True

    @functools.wraps(original_send)
    def send(self: Any, request: Any, **kwargs: Any) -> Any:
        ours = prepare(request)
        try:
            return original_send(self, request, **kwargs)
        except broken as error:
            if ours:
                _mark(error)
            raise

    @functools.wraps(original_async_send)
    async def async_send(self: Any, request: Any, **kwargs: Any) -> Any:
        ours = prepare(request)
        try:
            return await original_async_send(self, request, **kwargs)
        except broken as error:
            if ours:
                _mark(error)
            raise

    httpx.Client.send = send
    httpx.AsyncClient.send = async_send
