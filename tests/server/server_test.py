"""Tests `sotto serve` through HTTP: answers, errors, streams, load, and the end: `server_test.py SOTTO MODEL`.

Texts are compared with those of `sotto generate`. With `--openai`, the official client of the API makes requests, too;
it is a package of PyPI (`pip install openai`).
"""
import argparse
import base64
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import time

PROMPT = "Once upon a time"


class Server:
    def __init__(self, program, model, *options, **environment):
        self.program, self.model = program, model
        self.process = subprocess.Popen([program, "serve", "-m", model, "--port", "0", *options], stderr=subprocess.PIPE,
                                        text=True, env={**os.environ, **environment})
        line = self.process.stderr.readline()
        match = re.search(r"http://[\d.]+:(\d+)/v1;", line)
        expect(match, f"the server began with {line!r}")
        self.port = int(match[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.process.stderr.close()

    def connect(self):
        return http.client.HTTPConnection("localhost", self.port, timeout=120)

    def call(self, path, body=None, **headers):
        """Returns the status and the text of an answer."""
        connection = self.connect()
        data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        headers = {"Content-Type": "application/json", "Connection": "close",
                   **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request("GET" if body is None else "POST", path, data, headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, text

    def post(self, path, **members):
        status, text = self.call(path, {"model": "demo", **members})
        expect(status == 200, f"{path} {members}: {status} {text}")
        return json.loads(text)

    def events(self, path, **members):
        status, text = self.call(path, {"model": "demo", "stream": True, **members})
        expect(status == 200 and text.endswith("data: [DONE]\n\n"), f"{path} {members}: {status} {text}")
        return [json.loads(line[len("data: "):]) for line in text.split("\n\n")[:-2]]

    def accepts(self):
        try:
            socket.create_connection(("localhost", self.port)).close()
            return True
        except OSError:
            return False

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/statm")
        return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if status.exists() else 0


def expect(condition, what):
    if not condition:
        raise SystemExit(what)


def equal(found, expected, what=""):
    expect(found == expected, f"{what}: {str(found)[:500]!r} is not {str(expected)[:500]!r}")


def generated(server, *options):
    """The text of `sotto generate`."""
    command = [server.program, "generate", "-m", server.model, "-q", "--no-echo", "-p", PROMPT, *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.removesuffix("\n")


def check_texts(server):
    expected = generated(server, "-n", "20", "--seed", "5").removesuffix("\n")
    whole = server.post("/v1/completions", prompt=PROMPT, max_tokens=20, seed=5, n=2)
    first, second = whole["choices"]
    equal(first["text"], expected, "completion")
    expect(second["text"] != expected and second["index"] == 1, "the second choice has another seed")
    equal(first["finish_reason"], "length")
    equal(whole["usage"]["completion_tokens"], 40)
    equal(server.post("/v1/completions", prompt=PROMPT, max_tokens=20, seed=6)["choices"][0]["text"], second["text"])
    events = server.events("/v1/completions", prompt=PROMPT, max_tokens=20, seed=5,
                           stream_options={"include_usage": True})
    equal("".join(event["choices"][0]["text"] for event in events[:-1]), expected, "stream")
    equal((events[-1]["choices"], events[-1]["usage"]["completion_tokens"]), ([], 20))
    tokens = [int(word) for word in subprocess.run([server.program, "tokenize", "-m", server.model, PROMPT],
                                                   capture_output=True, text=True, check=True).stdout.split()]
    several = server.post("/v1/completions", prompt=[tokens, tokens], max_tokens=20, seed=5)["choices"]
    equal([choice["text"] for choice in several], [expected] * 2, "prompts of tokens")
    stopped = server.post("/v1/completions", prompt=PROMPT, max_tokens=20, seed=5, stop=[expected[10:14]])["choices"][0]
    equal((stopped["text"], stopped["finish_reason"]), (expected[:10], "stop"))
    full = server.post("/v1/completions", prompt=PROMPT, max_tokens=10000, seed=5, ignore_end=True)
    equal(full["choices"][0]["finish_reason"], "length", "a text that fills the context")
    expect(full["usage"]["completion_tokens"] < 10000, full["usage"])
    greedy = server.post("/v1/completions", prompt=PROMPT, max_tokens=8, temperature=0, top_k=5, logprobs=2)
    equal(greedy["choices"][0]["text"], generated(server, "-n", "8", "--temp", "0"))
    scores = greedy["choices"][0]["logprobs"]
    for token, score, others in zip(scores["tokens"], scores["token_logprobs"], scores["top_logprobs"]):
        equal((others[token], max(others.values()), len(others)), (score, score, 2))
    chunks = [event["choices"][0]["logprobs"] for event in server.events(
        "/v1/completions", prompt=PROMPT, max_tokens=8, temperature=0, top_k=5, logprobs=2)]
    equal([offset for chunk in chunks if chunk for offset in chunk["text_offset"]], scores["text_offset"])


def check_grammars(server):
    schema = {"type": "object", "properties": {"b": {"type": "boolean"}, "a": {"enum": [1, 2]}}, "required": ["b", "a"],
              "additionalProperties": False}
    for format in ({"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}):
        for seed in range(5):
            choice = server.post("/v1/completions", prompt=PROMPT, max_tokens=40, seed=seed,
                                 response_format=format)["choices"][0]
            value = json.loads(choice["text"])
            expect(format["type"] == "json_object" or set(value) == {"a", "b"}, choice)
            equal(choice["finish_reason"], "stop")
    context = server.post("/v1/completions", prompt=PROMPT, max_tokens=10000, ignore_end=True)["usage"]["total_tokens"]
    for seed in range(5):  # texts are complete within the free context, too
        choice = server.post("/v1/completions", prompt=[11] * (context - 30), max_tokens=10000, seed=seed,
                             response_format={"type": "json_object"})["choices"][0]
        json.loads(choice["text"])
        equal(choice["finish_reason"], "stop")
    reply = server.post("/v1/chat/completions", messages=[{"role": "user", "content": "Is it?"}],
                        grammar='root ::= "yes" | "no"')
    expect(reply["choices"][0]["message"]["content"] in ("yes", "no"), reply)


def check_conversations(server):
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello."}]
    options = {"max_tokens": 12, "seed": 3}
    first = server.post("/v1/chat/completions", messages=messages, **options)
    text = first["choices"][0]["message"]["content"]
    command = [server.program, "chat", "-m", server.model, "--system", "Be kind.", "-n", "12", "--seed", "3", "--json"]
    lines = subprocess.run(command, input="Hello.\n", capture_output=True, text=True, check=True).stdout.splitlines()
    equal(text, json.loads(lines[-1])["text"], "chat")
    events = server.events("/v1/chat/completions", messages=messages, **options)
    equal(events[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
    equal("".join(event["choices"][0]["delta"].get("content", "") for event in events), text, "stream of a chat")
    equal(events[-1]["choices"][0]["finish_reason"], "length")
    messages += [{"role": "assistant", "content": text},
                 {"role": "user", "content": [{"type": "text", "text": "Go "}, {"type": "text", "text": "on."}]}]
    usage = server.post("/v1/chat/completions", messages=messages, **options)["usage"]
    expect(usage["prompt_tokens_details"]["cached_tokens"] >= first["usage"]["prompt_tokens"] - 1, usage)


def check_embeddings(server):
    command = [server.program, "embed", "-m", server.model, "--normalize", PROMPT]
    expected = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    plain = server.post("/v1/embeddings", input=[PROMPT, "other"])["data"]
    equal(plain[0]["embedding"], expected, "embedding")
    coded = server.post("/v1/embeddings", input=PROMPT, encoding_format="base64")["data"][0]["embedding"]
    values = struct.unpack(f"<{len(expected)}f", base64.b64decode(coded))
    expect(max(abs(a - b) for a, b in zip(values, expected)) < 1e-7, "base64")


def check_errors(server):
    completions, chat = "/v1/completions", "/v1/chat/completions"
    user = {"role": "user", "content": "x"}
    for path, body, status, message in (
            (completions, "{", 400, "not JSON"),
            (completions, b"\xff", 400, "not JSON"),
            (completions, "[]", 400, "is not an object"),
            (completions, "[" * 100000, 400, "nest"),
            (completions, {"prompt": "x", "model": "other"}, 404, 'model is "other"; this server has "demo"'),
            (completions, {}, 400, "prompt is missing"),
            (completions, {"prompt": ""}, 400, "prompt is empty"),
            (completions, {"prompt": "x" * 10000}, 400, "prompt: "),
            (completions, {"prompt": [99999]}, 400, "prompt: "),
            (completions, {"prompt": "x", "colour": "red"}, 400, "unknown parameter: colour"),
            (completions, {"prompt": "x", "temperature": -1}, 400, "temperature is -1; it must be from 0 to 100"),
            (completions, '{"prompt":"x","seed":1,"seed":2}', 400, "the request repeats a parameter"),
            (completions, {"prompt": "x", "max_tokens": 0}, 400, "max_tokens is 0"),
            (completions, {"prompt": "x", "n": 100}, 400, "n is 100; it must be from 1 to 64"),
            (completions, {"prompt": "x", "stop": 3}, 400, "stop is 3, not a list"),
            (completions, {"prompt": "x", "grammar": "root ="}, 400, "grammar:1:6: expected '::='"),
            (completions, {"prompt": "x", "grammar": "/etc/passwd"}, 400, "grammar:1:1"),
            (completions, {"prompt": "x", "max_tokens": 2, "grammar": 'root ::= "a long text"'}, 400, "max_tokens is 2"),
            (completions, {"prompt": "x", "response_format": {"type": "xml"}}, 400, 'response_format.type is "xml"'),
            (completions, {"prompt": "x", "response_format": {"type": "json_schema"}}, 400, "has no member json_schema"),
            (chat, {"messages": []}, 400, "messages is missing or empty"),
            (chat, {"messages": [{"role": "user"}]}, 400, "no role or no content"),
            (chat, {"messages": [{"role": "poet", "content": "x"}]}, 400, 'messages.role is "poet"'),
            (chat, {"messages": [user, {"role": "system", "content": "x"}]}, 400, "must be the first"),
            (chat, {"messages": [user, {"role": "assistant", "content": "x"}]}, 400, "the last message is a reply"),
            (chat, {"messages": [user], "tools": [{}]}, 400, "unknown parameter: tools"),
            ("/v1/embeddings", {"input": "x", "dimensions": 3}, 400, "dimensions is 3; the model has "),
            ("/v1/nothing", {}, 404, "no answer to POST /v1/nothing"),
            (completions, "x" * (5 << 20), 413, "")):
        status_found, text = server.call(path, body)
        expect(status_found == status and message in json.loads(text)["error"]["message"],
               f"{path} {str(body)[:100]}: {status_found} {text[:300]}")
    equal(server.call(completions, "{}", Content_Type="text/plain")[0], 415, "a page of another site")
    equal(server.call("/v1/models", Host="other.example")[0], 403, "a name that has been bound to this machine")
    equal(server.call("/v1/models", Host="[::1]:1")[0], 200)
    for bytes_sent in (b"", b"\0\xff\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\nContent-Length: 50\r\n\r\n{",
                       b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 100000):
        with socket.create_connection(("localhost", server.port)) as connection:
            try:
                connection.sendall(bytes_sent)
            except OSError:
                pass  # the server has closed the connection
    equal(server.call("/health"), (200, '{"status":"ok"}'))


def check_load(server):
    """50 connections, some of which leave, over sessions that are fewer."""
    expected = [server.post("/v1/completions", prompt=PROMPT, max_tokens=30, seed=seed)["choices"][0]["text"]
                for seed in range(10)]

    def request(number):
        seed = number % 10
        if number % 5 == 4:  # leaves after some bytes
            connection = server.connect()
            connection.request("POST", "/v1/completions", json.dumps(
                {"model": "demo", "prompt": PROMPT, "max_tokens": 200, "stream": True, "ignore_end": True}),
                {"Content-Type": "application/json"})
            connection.getresponse().read(50)
            connection.close()
            return
        if number % 2:
            events = server.events("/v1/completions", prompt=PROMPT, max_tokens=30, seed=seed)
            text = "".join(event["choices"][0]["text"] for event in events)
        else:
            text = server.post("/v1/completions", prompt=PROMPT, max_tokens=30, seed=seed)["choices"][0]["text"]
        equal(text, expected[seed], f"seed {seed} under load")

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        list(pool.map(request, range(100)))
        before = server.resident_bytes()
        list(pool.map(request, range(200)))
    grown = server.resident_bytes() - before
    # AddressSanitizer keeps freed memory, and finds leaks itself.
    is_sanitized = b"__asan_init" in pathlib.Path(server.program).read_bytes()
    expect(is_sanitized or grown < 4 << 20, f"200 requests took {grown} bytes of memory")


def check_overflow(program, model):
    """Each choice begins after the prompt, even if the ring no longer holds it."""
    for overflow in ("ring", "shift"):
        with Server(program, model, "--overflow", overflow, "-c", "300") as server:
            body = {"prompt": PROMPT, "max_tokens": 400, "ignore_end": True}
            each = [server.post("/v1/completions", seed=seed, **body)["choices"][0]["text"] for seed in (5, 6)]
            both = server.post("/v1/completions", seed=5, n=2, **body)["choices"]
            equal([choice["text"] for choice in both], each, f"choices after the context was full, {overflow}")


def check_key_and_end(program, model):
    with Server(program, model, SOTTO_API_KEY="secret") as server:
        equal(server.call("/v1/models")[0], 401)
        equal(server.call("/v1/models", Authorization="Bearer secre")[0], 401)
        equal(server.call("/v1/models", Authorization="Bearer secret")[0], 200)
        equal(server.call("/health")[0], 200)
        second = subprocess.run([program, "serve", "-m", model, "--port", str(server.port)], capture_output=True,
                                text=True, timeout=60)
        expect(second.returncode == 1 and "the address is not available" in second.stderr, f"a shared port: {second}")
    with Server(program, model, "--alias", "mine", "--temp", "0") as server:
        body = {"model": "mine", "prompt": PROMPT, "stream": True, "max_tokens": 900}
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read(20)  # the request has begun
        server.process.send_signal(signal.SIGINT)
        text += response.read()
        connection.close()
        expect(text.endswith(b"data: [DONE]\n\n"), f"a request that had begun was not answered: {text[-200:]}")
        equal(server.process.wait(timeout=60), 0, "exit code")
    with Server(program, model) as server:
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps(
            {"model": "demo", "prompt": PROMPT, "stream": True, "max_tokens": 900, "ignore_end": True, "n": 64}),
            {"Content-Type": "application/json"})
        response = connection.getresponse()
        response.read(20)
        server.process.send_signal(signal.SIGINT)
        while server.accepts():  # a second signal of the same kind counts only after the first one has been taken
            time.sleep(0.001)
        server.process.send_signal(signal.SIGINT)
        text = response.read().decode()
        connection.close()
        expect('"index":63' not in text, "the second signal ended no text")
        equal(server.process.wait(timeout=60), 0, "exit code")
    # Signals that come before the server listens, or when it ends, are neither lost nor fatal.
    for delay in range(10):
        with Server(program, model) as server:
            server.process.send_signal(signal.SIGINT)
            time.sleep(delay / 2000)
            server.process.send_signal(signal.SIGTERM)
            equal(server.process.wait(timeout=60), 0, "exit code")
    for options, message in ((["--host", "everywhere"], "needs --api-key"), (["--port", "70000"], "at most 65535"),
                             (["--parallel", "0"], "from 1 to 64"), (["--colour"], "not an option")):
        result = subprocess.run([program, "serve", "-m", model, *options], capture_output=True, text=True)
        expect(result.returncode == 2 and message in result.stderr, f"{options}: {result}")


def check_client(server):
    """The official client."""
    import openai
    client = openai.OpenAI(base_url=f"http://localhost:{server.port}/v1", api_key="none")
    equal([model.id for model in client.models.list()], ["demo"])
    text = client.completions.create(model="demo", prompt=PROMPT, max_tokens=20, seed=5).choices[0].text
    stream = client.completions.create(model="demo", prompt=PROMPT, max_tokens=20, seed=5, stream=True)
    equal("".join(chunk.choices[0].text for chunk in stream), text)
    messages = [{"role": "user", "content": "Hello."}]
    reply = client.chat.completions.create(model="demo", messages=messages, max_tokens=12, seed=3, logprobs=True,
                                           top_logprobs=3, extra_body={"top_k": 20})
    expect(len(reply.choices[0].logprobs.content) == 12, reply)
    messages += [reply.choices[0].message, {"role": "user", "content": "Go on."}]
    chunks = list(client.chat.completions.create(model="demo", messages=messages, max_tokens=12, stream=True))
    expect("".join(chunk.choices[0].delta.content or "" for chunk in chunks), chunks)
    json_text = client.chat.completions.create(model="demo", messages=messages, max_tokens=40,
                                               response_format={"type": "json_object"}).choices[0].message.content
    expect(isinstance(json.loads(json_text), dict), json_text)
    vector = client.embeddings.create(model="demo", input="x").data[0].embedding
    expect(abs(sum(value * value for value in vector) - 1) < 1e-4, "length of an embedding")
    try:
        client.completions.create(model="demo", prompt="x", temperature=1000)
        expect(False, "no error")
    except openai.BadRequestError as error:
        expect("temperature is 1000" in str(error), error)

    def ask(number):
        stream = client.completions.create(model="demo", prompt=PROMPT, max_tokens=20, seed=5, stream=True)
        if number % 10 == 9:
            next(iter(stream))
            stream.close()
            return
        equal("".join(chunk.choices[0].text for chunk in stream), text)

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        list(pool.map(ask, range(300)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--openai", action="store_true", help="also make requests with the official client")
    args = parser.parse_args()
    with Server(args.program, args.model, "--parallel", "2") as server:
        for check in (check_texts, check_grammars, check_conversations, check_embeddings, check_errors, check_load):
            check(server)
        if args.openai:
            check_client(server)
    check_overflow(args.program, args.model)
    check_key_and_end(args.program, args.model)


if __name__ == "__main__":
    sys.exit(main())
