"""Server-sent events, framed incrementally: bytes to lines, lines to the data of events."""

import re

_LINE_END = re.compile(rb"\r\n|\r|\n")


class LineSplitter:
    """Bytes as they come from the wire, in whole lines without their ends (LF, CR LF or CR).

    Lines are split as bytes: `str.splitlines` would also break at U+2028, which JSON may hold unescaped.
    """

    def __init__(self) -> None:
        self._open: list[bytes] = []
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that `chunk` completes."""
        if not chunk:
            return []
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        first, *others = _LINE_END.split(chunk)
        self._open.append(first)
        whole = []
        for begun in others:
            whole.append(b"".join(self._open).decode("utf-8", errors="replace"))
            self._open = [begun]
        return whole

    def flush(self) -> list[str]:
        """The last line, when the stream ended without a line end."""
        rest, self._open = b"".join(self._open), []
        return [rest.decode("utf-8", errors="replace")] if rest else []


def data_of(line: str) -> str | None:
    """The value of a `data` field; None for comments (keep-alives), other fields and anything else."""
    name, colon, value = line.partition(":")
    if name != "data":
        return None
    return value.removeprefix(" ") if colon else ""
