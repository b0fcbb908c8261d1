"""A response body read up to a limit of decoded bytes, so that no answer, compressed or not, fills the memory.

httpx decodes a chunk whole before anybody can look at its size; here the decoder itself stops at the limit.
"""

import zlib
from collections.abc import AsyncIterator

import httpx

_GZIP = 16 + zlib.MAX_WBITS


class BodyRefused(Exception):
    """The body is longer than the limit or not readable as its header says; the message is a sentence."""


async def chunks(response: httpx.Response, limit: int) -> AsyncIterator[bytes]:
    """The decoded body as it arrives. Raises `BodyRefused`, and httpx's errors for a broken transfer."""
    decoder = _Decoder(response.headers.get("content-encoding", ""), limit)
    assert isinstance(response.stream, httpx.AsyncByteStream)
    async for raw in response.stream:
        yield decoder.decode(raw)
    decoder.finish()


class _Decoder:
    def __init__(self, encoding: str, limit: int) -> None:
        name = encoding.strip().lower()
        if name not in {"", "identity", "gzip", "x-gzip"}:
            raise BodyRefused(f"The body is encoded as {name[:40]!r}, which was not asked for.")
        self._inflate = zlib.decompressobj(_GZIP) if "gzip" in name else None
        self._left = limit
        self._limit = limit

    def decode(self, raw: bytes) -> bytes:
        chunk = raw if self._inflate is None else self._inflated(self._inflate, raw)
        self._left -= len(chunk)
        if self._left < 0:
            raise BodyRefused(f"The body is longer than {self._limit} bytes.")
        return chunk

    def finish(self) -> None:
        """Refuse a compressed body that stops in the middle."""
        if self._inflate is not None and not self._inflate.eof:
            raise BodyRefused("The compressed body breaks off in the middle.")

    def _inflated(self, inflate: "zlib._Decompress", raw: bytes) -> bytes:
        try:
            return inflate.decompress(raw, self._left + 1)
        except zlib.error:
            raise BodyRefused("The body is not readable as gzip.") from None
