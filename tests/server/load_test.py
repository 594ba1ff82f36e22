"""Loads `sotto serve` with the official client of the OpenAI API: `load_test.py SOTTO MODEL [--requests 500]`.

50 connections at once make requests of all kinds: whole answers, streams, conversations, streams that the client
abandons, cancelled requests, and malformed requests. Each text must equal the one that a server without other requests
gives for the same seed, and the server's memory must not grow. Needs `pip install openai`, so continuous integration
does not run it; server_test.py makes similar requests without the client.
"""
import argparse
import asyncio
import collections
import json
import random
import sys
import time

import openai

from server_test import PROMPT, Server, equal, expect

SEEDS = 10
TOKENS = 24
MESSAGES = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello."}]
MALFORMED = (b"", b"{", b"[]", b"\xff\xfe", b"[" * 50000, b'{"prompt":3}', b'{"prompt":"x","temperature":"hot"}',
             b'{"prompt":"x","n":0}', b'{"prompt":"x","grammar":"root ="}', b'{"prompt":"x","colour":1}', b"x" * (5 << 20))


class Load:
    def __init__(self, server, connections):
        self.server = server
        self.client = openai.AsyncOpenAI(base_url=f"http://localhost:{server.port}/v1", api_key="none", max_retries=0,
                                         timeout=300)
        self.slots = asyncio.Semaphore(connections)
        self.counts = collections.Counter()
        self.texts, self.replies = {}, {}

    async def complete(self, seed, **options):
        return await self.client.completions.create(model="demo", prompt=PROMPT, max_tokens=TOKENS, seed=seed, **options)

    async def reply(self, seed, **options):
        return await self.client.chat.completions.create(model="demo", messages=MESSAGES, max_tokens=TOKENS, seed=seed,
                                                         **options)

    async def learn(self):
        """Finds the texts that are expected, one request at a time."""
        for seed in range(SEEDS):
            self.texts[seed] = (await self.complete(seed)).choices[0].text
            self.replies[seed] = (await self.reply(seed)).choices[0].message.content

    async def whole(self, seed):
        answer = await self.complete(seed)
        equal(answer.choices[0].text, self.texts[seed], f"text of seed {seed}")
        self.counts["tokens"] += answer.usage.completion_tokens

    async def stream(self, seed):
        stream = await self.complete(seed, stream=True, stream_options={"include_usage": True})
        text = ""
        async for chunk in stream:
            text += chunk.choices[0].text if chunk.choices else ""
            self.counts["tokens"] += chunk.usage.completion_tokens if chunk.usage else 0
        equal(text, self.texts[seed], f"stream of seed {seed}")

    async def chat(self, seed):
        text = ""
        async for chunk in await self.reply(seed, stream=True):
            text += chunk.choices[0].delta.content or ""
        equal(text, self.replies[seed], f"reply of seed {seed}")

    async def leave(self, seed):
        stream = await self.complete(seed, stream=True, extra_body={"ignore_end": True, "max_tokens": 400})
        async for _ in stream:
            if random.random() < 0.3:
                break
        await stream.close()

    async def cancel(self, seed):
        task = asyncio.ensure_future(self.complete(seed, extra_body={"ignore_end": True, "max_tokens": 100}))
        await asyncio.sleep(random.random() * 0.05)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass

    async def malformed(self, seed):
        body = MALFORMED[random.randrange(len(MALFORMED))]
        try:
            status, text = await asyncio.to_thread(self.server.call, "/v1/completions", body)
        except OSError:
            expect(len(body) > 1 << 20, f"{body[:40]}: the connection ended")  # of a body that is too large
            return
        expect(400 <= status < 500 and json.loads(text)["error"]["message"], f"{body[:40]}: {status} {text}")

    async def one(self, number):
        kinds = (self.whole, self.whole, self.stream, self.stream, self.stream, self.chat, self.leave, self.leave,
                 self.cancel, self.malformed)
        kind = kinds[number % len(kinds)]
        async with self.slots:
            await kind(number // len(kinds) % SEEDS)
        self.counts[kind.__name__] += 1

    async def run(self, requests):
        await asyncio.gather(*(self.one(number) for number in range(requests)))


async def load(args, server):
    test = Load(server, args.connections)
    await test.learn()
    await test.run(args.requests // 2)  # memory that the first requests need stays reserved
    test.counts.clear()
    before, start = server.resident_bytes(), time.monotonic()
    await test.run(args.requests)
    seconds, grown = time.monotonic() - start, server.resident_bytes() - before
    start = time.monotonic()
    await test.whole(0)  # no slot is still busy with a client that has left
    print(f"{args.requests} requests over {args.connections} connections in {seconds:.1f} s: "
          f"{', '.join(f'{count} {kind}' for kind, count in sorted(test.counts.items()))}")
    print(f"resident memory {before / 2**20:.1f} MiB before and {(before + grown) / 2**20:.1f} MiB after; "
          f"the next answer took {time.monotonic() - start:.2f} s")
    expect(grown < 4 << 20, f"{args.requests} requests took {grown} bytes of memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--slots", type=int, default=2)
    args = parser.parse_args()
    random.seed(0)
    with Server(args.program, args.model, "--parallel", str(args.slots)) as server:
        asyncio.run(load(args, server))


if __name__ == "__main__":
    sys.exit(main())
