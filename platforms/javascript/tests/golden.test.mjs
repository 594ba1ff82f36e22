// Tests that the package produces the golden figures that all bindings share, with all kernels that the engine can load.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";

import { Grammar, Model, Pooling, SottoError, bestKernels } from "sotto";

const unescape = (text) => text.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
const numbers = (text) => (text ? text.split(" ").map(Number) : []);

/** Returns the cases by name, each as a list of [key, value]. */
async function readGolden() {
  const cases = {};
  let lines;
  for (const line of (await readFile(process.env.SOTTO_GOLDEN, "utf8")).split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, key, value = ""] = /^(\w+)(?: (.*))?$/.exec(line);
    if (key === "case") cases[value] = lines = [];
    else lines.push([key, unescape(value)]);
  }
  return cases;
}

const golden = await readGolden();
const caseOf = (name) => Object.fromEntries(golden[name]);
const sampler = (c) => ({
  temperature: Number(c.temperature), topK: Number(c.top_k), topP: Number(c.top_p),
  repetitionPenalty: Number(c.repetition_penalty), seed: Number(c.seed),
});

function generate(session, maxTokens, maxPieces) {
  const texts = [];
  session.generate([], { maxTokens, onPiece: (piece) => texts.push(piece.text) === maxPieces });
  return texts.join("");
}

const stops = {
  "": () => ({}),
  stop_string: (value) => ({ stopStrings: [value] }),
  banned_string: (value) => ({ bannedStrings: [value] }),
  stop_token: (value) => ({ stopTokens: [Number(value)] }),
  max_time_ns: (value) => ({ maxTimeNs: Number(value) }),
  repetition_limit: (value) => ({ repetitionLimit: Number(value) }),
};

const calls = {
  prefill: (session, text) => void session.prefill(text),
  next: (session) => session.next()?.text,
  generate: (session, count) => generate(session, Number(count)),
  callback: (session, count) => generate(session, undefined, Number(count)),
  limit: (session, count) => session.setLimit(Number(count)),
  stops: (session, argument) => {
    const [, name, value] = /^(\w*) ?([^]*)$/.exec(argument);
    session.setStops(stops[name](value));
  },
  allow: (session, tokens) => session.setSampler({ temperature: 0, allowedTokens: numbers(tokens) }),
  grammar: (session, regex) => session.setGrammar(regex ? Grammar.regex(session.model, regex) : null),
  score: (session, text) => void session.score(text),
  embed: (session, text) => void session.embed(text),
  rewind: (session, count) => session.rewind(Number(count)),
  restore: (session) => session.restore(session.save()),
  cancel: (session) => session.cancel(),
  reset: (session) => session.reset(),
};

for (const kernels of bestKernels() === "simd128" ? ["simd128"] : ["simd128", "relaxed_simd"]) {
  describe(kernels, async () => {
    const model = await Model.open(process.env.SOTTO_DEMO_MODEL, { kernels });

    async function checkText(name, prepare = () => {}) {
      const c = caseOf(name);
      assert.deepEqual(model.tokenize(c.prompt), numbers(c.prompt_tokens));
      const session = model.session({ contextTokens: 256 });
      session.setSampler(sampler(c));
      prepare(session, c);
      const pieces = [];
      for await (const piece of session.pieces(c.prompt, { maxTokens: Number(c.max_tokens) })) pieces.push(piece);
      assert.deepEqual(pieces.map((piece) => piece.token).filter((token) => token >= 0), numbers(c.tokens));
      assert.equal(pieces.map((piece) => piece.text).join(""), c.text);
      assert.equal(session.info.stop, Number(c.status));

      session.reset();
      const texts = [];
      const options = { maxTokens: Number(c.max_tokens), onPiece: (piece) => void texts.push(piece.text) };
      assert.equal(session.generate(c.prompt, options), Number(c.status));
      assert.equal(texts.join(""), c.text);
      session.close();
    }

    test("TheKernelsAreInUse", () => {
      // An engine whose relaxed SIMD is not exact uses the kernels of SIMD128.
      assert.ok(model.isa === kernels || (kernels === "relaxed_simd" && model.isa === "simd128"), model.isa);
    });

    test("TokenizesAsC", () => {
      const c = caseOf("tokenize");
      assert.deepEqual(model.tokenize(c.text), numbers(c.tokens));
      assert.equal(new TextDecoder().decode(model.detokenize(numbers(c.tokens))), c.text);
    });

    test("GreedyTextIsThatOfC", () => checkText("greedy"));
    test("SampledTextIsThatOfC", () => checkText("sampled"));
    test("StopStringEndsTheTextAsInC", () =>
      checkText("stop", (session, c) => session.setStops({ stopStrings: [c.stop_string] })));
    test("GrammarConstrainsAsInC", () => checkText("grammar", (session, c) => {
      const params = { language: Number(c.language), jsonSpace: Number(c.json_space) };
      session.setGrammar(Grammar.compile(model, c.source, params));
    }));

    test("SearchFindsTheSequencesOfC", () => {
      const c = caseOf("search");
      const session = model.session({ contextTokens: 256, sequenceCount: Number(c.sequence_count), sequenceTokens: 32 });
      session.prefill(c.prompt);
      const found = session.search({ maxTokens: Number(c.max_tokens) });
      const expected = golden.search.filter(([key]) => key === "sequence").map(([, value]) => numbers(value));
      assert.deepEqual(found.map((sequence) => sequence.tokens), expected);
    });

    test("EmbeddingHasTheBitsOfC", () => {
      const c = caseOf("embedding");
      const embedding = model.session({ contextTokens: 256 }).embed(c.prompt, Number(c.pooling));
      assert.equal(Number(c.pooling), Pooling.MEAN);
      assert.equal(embedding.length, Number(c.size));
      const bits = [...new Uint32Array(embedding.buffer).slice(0, 4)].map((word) => word.toString(16).padStart(8, "0"));
      assert.equal(bits.join(" "), c.first_bits);
    });

    test("CallsEndAsInC", () => {
      const session = model.session({ contextTokens: 256 });
      for (let i = 0; i < golden.calls.length; i += 2) {
        const [[key, call], [, result]] = golden.calls.slice(i, i + 2);
        assert.equal(key, "call");
        const [, name, argument] = /^(\w+) ?([^]*)$/.exec(call);
        let found;
        try {
          const text = calls[name](session, argument) ?? "";
          found = `${session.info.stop} ${text}`;
        } catch (failure) {
          assert.ok(failure instanceof SottoError, `${call}: ${failure.stack}`);
          found = `${failure.status} `;
        }
        assert.equal(found, result, `call ${i / 2}: ${call}`);
      }
    });

    async function checkFailure(name, call) {
      const c = caseOf(name);
      await assert.rejects(async () => call(c), (failure) => {
        assert.ok(failure instanceof SottoError, failure.stack);
        assert.equal(failure.status, Number(c.status));
        assert.equal(failure.offset, c.offset === "none" ? null : Number(c.offset));
        assert.ok(failure.message.includes(c.message), failure.message);
        return true;
      });
    }

    test("FailuresHaveTheMessagesOfC", async () => {
      await checkFailure("bad_grammar", (c) => Grammar.compile(model, c.source));
      await checkFailure("bad_text", (c) => model.tokenize(Uint8Array.from(Buffer.from(c.bytes.replaceAll(" ", ""), "hex"))));
      const data = await readFile(process.env.SOTTO_DEMO_MODEL);
      await checkFailure("bad_model", (c) => Model.open(data.subarray(0, Number(c.kept_bytes)), { kernels }));
      await checkFailure("bad_parameter", (c) =>
        model.session({ contextTokens: 256 }).setSampler({ temperature: Number(c.temperature) }));
    });
  });
}
