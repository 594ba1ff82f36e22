"""One peer of sotto-bench --peers: answers each line of JSON on standard input with a line of JSON.

    python3 serve.py DIRECTORY PEER THREADS

PEER: q8_0, q4_0, q4_k_m (llama.cpp with flash attention), ctranslate2 (int8) or onnxruntime (ONNX Runtime GenAI, int8).
Requests and answers:
    {"measure": "decode", "context": 512, "tokens": 16}  -> {"value": tokens per second}
    {"measure": "prefill", "tokens": 128}                -> {"value": tokens per second}
    {"measure": "fresh", "tokens": 64}                   -> {"first_token_ms": ..., "peak_mib": ...}
`fresh` is measured in a new process: from the time when Python and the library have been loaded, but not the model.
"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy

END = 50256


def arbitrary_tokens(count):
    return [(7 + 31 * i) % END for i in range(count)]


class Llama:
    def __init__(self, directory, kind, threads):
        import llama_cpp.llama_cpp as library
        self.library = library
        self.silent = library.llama_log_callback(lambda *_: None)
        library.llama_log_set(self.silent, None)
        library.llama_backend_init()
        self.path, self.threads = directory / f"gpt2-{kind}.gguf", threads

    def load(self):
        library = self.library
        self.model = library.llama_model_load_from_file(str(self.path).encode(),
                                                        library.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"{self.path}: llama.cpp cannot load it")
        params = library.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = 1024, 512, 512
        params.n_threads = params.n_threads_batch = self.threads
        params.flash_attn_type = library.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.no_perf = True
        self.context = library.llama_init_from_model(self.model, params)
        if not self.context:
            raise SystemExit(f"{self.path}: llama.cpp cannot make a context")
        self.memory = library.llama_get_memory(self.context)
        self.sampler = library.llama_sampler_init_greedy()

    def evaluate(self, tokens):
        for begin in range(0, len(tokens), 512):
            part = tokens[begin:begin + 512]
            array = (ctypes.c_int32 * len(part))(*part)  # the batch points into it
            batch = self.library.llama_batch_get_one(array, len(part))
            if self.library.llama_decode(self.context, batch) != 0:
                raise SystemExit("llama_decode failed")

    def next(self):
        token = self.library.llama_sampler_sample(self.sampler, self.context, -1)
        self.evaluate([token])

    def clear(self, kept=0):
        self.library.llama_memory_seq_rm(self.memory, 0, kept, -1)

    def decode(self, context, tokens):
        context = max(context, 1)
        self.clear()
        self.evaluate(arbitrary_tokens(context))
        self.next()  # warms up
        self.clear(context)
        begin = time.perf_counter()
        for _ in range(tokens):
            self.next()
        return tokens / (time.perf_counter() - begin)

    def prefill(self, tokens):
        prompt = arbitrary_tokens(tokens)
        self.clear()
        begin = time.perf_counter()
        self.evaluate(prompt)
        return tokens / (time.perf_counter() - begin)

    def first_token(self, tokens):
        self.evaluate(arbitrary_tokens(tokens))
        self.library.llama_sampler_sample(self.sampler, self.context, -1)


class CTranslate2:
    def __init__(self, directory, threads):
        import ctranslate2
        self.library, self.path, self.threads = ctranslate2, directory / "ctranslate2", threads

    def load(self):
        self.generator = self.library.Generator(str(self.path), device="cpu", compute_type="int8",
                                                inter_threads=1, intra_threads=self.threads)

    def step_times(self, prompt, tokens):
        """Returns when the generation began and when each token arrived."""
        times = [time.perf_counter()]
        self.generator.generate_batch([[str(token) for token in prompt]], max_length=tokens, min_length=tokens,
                                      sampling_topk=1, include_prompt_in_result=False,
                                      callback=lambda _: times.append(time.perf_counter()) or False)
        return times

    def decode(self, context, tokens):
        times = self.step_times(arbitrary_tokens(max(context, 1)), tokens + 2)[-tokens - 1:]
        return tokens / (times[-1] - times[0])

    def prefill(self, tokens):
        begin, end = self.step_times(arbitrary_tokens(tokens), 1)[:2]
        return tokens / (end - begin)

    def first_token(self, tokens):
        self.step_times(arbitrary_tokens(tokens), 1)


class OnnxRuntime:
    def __init__(self, directory, threads):
        import onnxruntime_genai
        self.library, self.path, self.threads = onnxruntime_genai, directory / "onnxruntime", threads

    def load(self):
        config = self.library.Config(str(self.path))
        config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": self.threads}}}}))
        self.model = self.library.Model(config)
        self.generator = self.library.Generator(self.model, self.library.GeneratorParams(self.model))

    def evaluate(self, tokens):
        self.generator.append_tokens(numpy.array(tokens, numpy.int32))

    def next(self):
        self.generator.generate_next_token()

    def decode(self, context, tokens):
        self.generator.rewind_to(0)
        self.evaluate(arbitrary_tokens(max(context, 1)))
        self.next()  # only takes the token: the logits are there
        self.next()  # warms up
        begin = time.perf_counter()
        for _ in range(tokens):
            self.next()
        elapsed = time.perf_counter() - begin
        if self.generator.is_done():
            raise SystemExit("ONNX Runtime GenAI stopped early")
        return tokens / elapsed

    def prefill(self, tokens):
        prompt = arbitrary_tokens(tokens)
        self.generator.rewind_to(0)
        begin = time.perf_counter()
        self.evaluate(prompt)
        return tokens / (time.perf_counter() - begin)

    def first_token(self, tokens):
        self.evaluate(arbitrary_tokens(tokens))
        self.next()


def resident_mib(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    raise SystemExit("/proc/self/status: no " + key)


def fresh(peer, tokens):
    before = resident_mib("VmRSS")
    begin = time.perf_counter()
    peer.load()
    peer.first_token(tokens)
    elapsed = time.perf_counter() - begin
    return {"first_token_ms": elapsed * 1e3, "peak_mib": resident_mib("VmHWM") - before}


def answer(peer, request):
    if request["measure"] == "decode":
        return {"value": peer.decode(request["context"], request["tokens"])}
    if request["measure"] == "prefill":
        return {"value": peer.prefill(request["tokens"])}
    command = [sys.executable, *sys.argv[:4], str(request["tokens"])]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def main():
    directory, kind, threads = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    os.environ["OMP_NUM_THREADS"] = str(threads)
    others = {"ctranslate2": CTranslate2, "onnxruntime": OnnxRuntime}
    peer = others[kind](directory, threads) if kind in others else Llama(directory, kind, threads)
    if len(sys.argv) > 4:
        print(json.dumps(fresh(peer, int(sys.argv[4]))))
        return
    peer.load()
    for line in sys.stdin:
        print(json.dumps(answer(peer, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
