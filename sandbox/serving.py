"""The sandbox on a port: uvicorn with a protocol that can drop a connection on script."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sandbox.exchange import HANG_UP, Message, Receive, Send

Application = Callable[[Message, Receive, Send], Awaitable[None]]


class DroppingProtocol(H11Protocol):
    """HTTP/1.1 whose requests carry the extension by which the application closes or resets the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wrap the application of this one connection."""
        super().connection_made(transport)
        self.app = _with_hang_up(self.app, transport)


def _with_hang_up(app: Application, transport: asyncio.Transport) -> Application:
    """The application with a `hang_up(reset)` for this connection in its scope."""

    def hang_up(reset: bool) -> None:
        if not reset:
            transport.close()
            return
        sock = transport.get_extra_info("socket")
        if sock is not None:
            # No lingering: the kernel answers with a reset in place of an orderly end.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()

    async def wrapped(scope: Message, receive: Receive, send: Send) -> None:
        scope["extensions"] = {**(scope.get("extensions") or {}), HANG_UP: hang_up}
        await app(scope, receive, send)

    return wrapped


class ScriptedServer(uvicorn.Server):
    """uvicorn's server, whose owner decides when it ends; it leaves the process's signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals stay with the owner, so that a stop is an ordinary end with status 0."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drop every connection first: a stalled answer would otherwise hold the end up."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, DroppingProtocol):
                connection.transport.abort()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one. Raises OSError when the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock


def server(app: Any) -> ScriptedServer:
    """A server for the application; answers under way are cut off when it ends."""
    config = uvicorn.Config(
        app,
        http=DroppingProtocol,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=30,
        backlog=4096,
    )
    return ScriptedServer(config)
