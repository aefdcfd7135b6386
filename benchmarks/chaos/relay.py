"""A TCP relay that can be slow, or cut."""

from __future__ import annotations

import asyncio
import contextlib


class Relay:
    """Between clients and a Redis, in this process."""

    def __init__(self, host: str, port: int) -> None:
        """Args: host, port: where the connections go."""
        self.delay_s = 0.0
        """Added to what is sent and to what is answered."""
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._address = ("", 0)
        self._writers: set[asyncio.StreamWriter] = set()

    async def listen(self, host: str, port: int) -> None:
        """Accept connections."""
        self._address = (host, port)
        self._server = await asyncio.start_server(self._serve, host, port, backlog=1024)

    async def cut(self) -> None:
        """End all connections and accept none."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()

    async def join(self) -> None:
        """Accept connections again."""
        if self._server is None:
            await self.listen(*self._address)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, onward[1]}
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(self._copy(reader, onward[1]), self._copy(onward[0], writer))
        finally:
            self._writers -= {writer, onward[1]}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                writer.write(data)
                await writer.drain()
        # Either end takes the other one with it, as a lost connection does.
        writer.transport.abort()
