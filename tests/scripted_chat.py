"""A scripted OpenAI-compatible model in a thread of its own, for commands."""

import asyncio
import json
import threading
from collections import Counter

from tests.llm.scripted import Scripted, error, said


class ScriptedChat:
    """Answers each prompt by a function of it; counts how often each came.

    It holds its answers back from the `hold_after`-th on until `release` is set.
    """

    def __init__(self, answer, hold_after=None):
        self.answer = answer
        self.prompts = Counter()
        self.hold_after = hold_after
        self.holding, self.release = threading.Event(), threading.Event()
        self.status = 200

    def __enter__(self):
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)))
        self._thread.start()
        assert started.wait(240)
        return self

    def __exit__(self, *_):
        self.release.set()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(240)

    async def _serve(self, started):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(Scripted(self._canned).serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        started.set()
        await self._stop.wait()
        server.close()

    async def _canned(self, request):
        if self.status == 200:
            reply = await asyncio.to_thread(self.reply_to, request["messages"][-1]["content"])
            if self.status == 200:
                return said(reply)
        return error(self.status, headers=("retry-after-ms: 1",))

    def reply_to(self, prompt):
        self.count(prompt)
        return self.answer(prompt)

    def count(self, prompt):
        """Remember a prompt, and wait if it is one to be held back."""
        self.prompts[prompt] += 1
        if self.hold_after is not None and self.prompts.total() > self.hold_after:
            self.holding.set()
            self.release.wait(240)


def rating(number):
    """A judge's reply in due form."""
    return json.dumps({"explanation": "Clear and good.", "rating": number})
