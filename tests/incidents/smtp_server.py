"""A small real SMTP server for tests: it keeps what it accepted, and fails when told to."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass
class Mailbox:
    """What arrived. `refuse` gives the reply to a RCPT instead of 250; `on_data` runs before the final 250."""

    port: int = 0
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    connections: int = 0
    refuse: Callable[[str], str | None] = lambda _recipient: None
    on_data: Callable[[EmailMessage], None] = lambda _message: None


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    mailbox: Mailbox

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is part of the test."""


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.server.mailbox.connections += 1
        self._say("220 ready")
        while line := self.rfile.readline():
            if not self._obey(line.decode().strip()):
                return

    def _obey(self, line: str) -> bool:
        match line[:4].upper():
            case "DATA":
                self._receive()
            case "RCPT":
                recipient = line.partition("<")[2].rstrip(">")
                self.server.mailbox.recipients.append(recipient)
                self._say(self.server.mailbox.refuse(recipient) or "250 ok")
            case "QUIT":
                self._say("221 bye")
                return False
            case _:
                self._say("250 ok")
        return True

    def _receive(self) -> None:
        self._say("354 go on")
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line)
        message = message_from_bytes(b"".join(lines), policy=policy.default)
        self.server.mailbox.messages.append(message)
        self.server.mailbox.on_data(message)
        self._say("250 accepted")

    def _say(self, reply: str) -> None:
        self.wfile.write(reply.encode() + b"\r\n")


@contextmanager
def smtp_server() -> Iterator[Mailbox]:
    """Serve SMTP on a free port of this machine until the block ends."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.mailbox = Mailbox(port=server.server_address[1])
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server.mailbox
        server.shutdown()
