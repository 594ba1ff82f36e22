// Tests of the package's own promises: sources of models, lifetimes, streams, callbacks and messages.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import {
  Chat, ChatRole, Grammar, Matcher, Model, Preset, SottoError, Status, WatermarkScheme,
} from "sotto";

const PATH = process.env.SOTTO_DEMO_MODEL;
const PROMPT = "Once upon a time";
const model = await Model.open(PATH);
const newSession = (params = {}) => model.session({ contextTokens: 256, ...params });
const generated = (session, prompt, maxTokens) => {
  const texts = [];
  session.generate(prompt, { maxTokens, onPiece: (piece) => void texts.push(piece.text) });
  return texts.join("");
};

test("ModelsOpenFromEverySource", async () => {
  const bytes = await readFile(PATH);
  const server = createServer((request, response) => {
    if (request.url === "/sized") response.setHeader("content-length", bytes.length);
    if (request.url === "/missing") response.statusCode = 404;
    response.end(bytes);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}`;
  try {
    const sources = [pathToFileURL(PATH), pathToFileURL(PATH).href, bytes, new Uint8Array(bytes).buffer, new Blob([bytes]), `${address}/sized`,
      new URL(`${address}/chunked`), await fetch(`${address}/sized`)];
    for (const source of sources) {
      let last = 0;
      const opened = await Model.open(source, { onProgress: (done) => (last = done) });
      assert.deepEqual(opened.info, model.info);
      assert.ok(last === 0 || last === bytes.length);
    }
    await assert.rejects(Model.open(`${address}/missing`), /missing: status 404/);
  } finally {
    server.close();
  }
  await assert.rejects(Model.open("/no/such/file"), { code: "ENOENT" });
  await assert.rejects(Model.open(5), /the model is 5; it must be a path, an address, bytes/);
  await assert.rejects(Model.open(new Uint8Array(0)), SottoError);
  await assert.rejects(Model.open(bytes, { kernels: "avx2" }), /kernels is "avx2"; it must be simd128 or relaxed_simd/);
});

test("StreamsYieldWhatGenerateReturns", async () => {
  const session = newSession();
  session.setSampler({ seed: 5 });
  const texts = [];
  for await (const text of session.stream(PROMPT, { maxTokens: 40 })) texts.push(text);
  session.reset();
  assert.equal(texts.join(""), generated(session, PROMPT, 40));
  assert.equal(session.info.stop, Status.STOP_MAX_TOKENS);
});

test("StreamsLetOtherTasksRun", async () => {
  const session = newSession();
  let ticks = 0;
  const timer = setInterval(() => ++ticks, 1);
  for await (const _ of session.stream(PROMPT, { maxTokens: 200 }));
  clearInterval(timer);
  assert.ok(ticks > 0);
});

test("AStreamCanBeAbortedAndLeft", async () => {
  const session = newSession();
  const controller = new AbortController();
  let count = 0;
  await assert.rejects(async () => {
    for await (const _ of session.stream(PROMPT, { signal: controller.signal })) {
      if (++count === 3) controller.abort();
    }
  }, { name: "AbortError" });
  assert.equal(count, 3);
  for await (const _ of session.stream()) {
    if (++count === 6) break;
  }
  assert.equal(count, 6);
});

test("SeedsAreWholeIntegersOf64Bits", () => {
  const session = newSession();
  const texts = [1, 2n ** 63n + 1n, 2n ** 63n + 1n].map((seed) => {
    session.reset();
    session.setSampler({ seed, temperature: 1 });
    return generated(session, PROMPT, 12);
  });
  assert.equal(texts[1], texts[2]);
  assert.notEqual(texts[0], texts[1]);
  assert.throws(() => session.setSampler({ seed: -1 }), /seed is -1; it must be an integer from 0/);
  assert.throws(() => session.setSampler({ seed: 0.5 }), RangeError);
});

test("WrongParametersAreNamed", () => {
  const session = newSession();
  assert.throws(() => session.setSampler({ temprature: 1 }), /there is no parameter temprature among those of SamplerParams/);
  assert.throws(() => session.setSampler({ topP: "1" }), /topP is "1"; it must be a number/);
  assert.throws(() => session.setSampler({ topK: 1.5 }), /topK is 1.5; it must be an integer/);
  assert.throws(() => session.setStops({ stopStrings: "x" }), /stopStrings is "x"; it must be an array/);
  assert.throws(() => session.setStops({ stopStrings: [1] }), /stopStrings\[0\] is 1/);
  assert.throws(() => session.prefill([2 ** 40]), /the prompt\[0\] is 1099511627776/);
  assert.throws(() => model.session({ contextTokens: 100000 }), SottoError);
  assert.throws(() => session.setGrammar("root"), /it must be a Grammar/);
});

test("ListsReachTheSampler", () => {
  const session = newSession();
  const [token] = model.tokenize(" ship");
  session.setSampler({ temperature: 0, logitBias: [[token, 100]] });
  assert.equal(session.prefill(PROMPT), Status.OK);
  assert.equal(session.next().token, token);
  session.setSampler({ temperature: 0, sequenceBias: [[[token], 100]], badWords: [[1], [2, 3]] });
  assert.equal(session.next().token, token);
  session.setSampler({ preset: Preset.CREATIVE, seed: 1 });
  assert.ok(session.next());
});

test("CallbacksSeeAndChangeLogits", () => {
  const session = newSession();
  let size = 0;
  session.setSampler({ temperature: 0, logitsCallback: (logits) => {
    size = logits.length;
    logits[42] = 1e6;
  } });
  session.prefill(PROMPT);
  assert.equal(session.next().token, 42);
  assert.equal(size, model.info.vocabularySize);
  session.setSampler({ logitsCallback: () => { throw new Error("from the callback"); } });
  assert.throws(() => session.next(), /from the callback/);
  assert.throws(() => session.generate([], { onPiece: () => { throw new Error("from the piece"); } }), /from the/);
  session.setSampler();
  assert.ok(session.next());
});

test("CallsInsideCallbacksAreRejected", () => {
  const session = newSession();
  let failure;
  session.generate(PROMPT, { maxTokens: 2, onPiece: () => {
    try {
      session.next();
    } catch (error) {
      failure = error;
    }
  } });
  assert.equal(failure.status, Status.INVALID_STATE);
});

test("ProbabilitiesAreThoseOfTheLogits", () => {
  const session = newSession();
  session.setSampler({ temperature: 0, logProbabilities: true, alternativeCount: 5, statistics: true });
  session.prefill(PROMPT);
  const logits = session.logits();
  const piece = session.next();
  const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
  assert.equal(piece.alternatives.length, 5);
  const entropy = logits.reduce((sum, l) => sum - Math.exp(l) / total * (l - Math.log(total)), 0);
  assert.ok(Math.abs(piece.entropy - entropy) < 1e-4);
  assert.ok(Math.abs(piece.effectiveVocabulary / Math.exp(entropy) - 1) < 1e-3);
  assert.deepEqual([piece.keptCount, piece.repetitiveness], [1, 0]);
  for (const { token, logProbability } of piece.alternatives) {
    assert.ok(Math.abs(logits[token] - Math.log(total) - logProbability) < 1e-4);
  }
  assert.equal(piece.alternatives[0].token, piece.token);
  const { tokenCount, logProbabilities } = newSession().score(PROMPT);
  assert.equal(logProbabilities.length, model.tokenize(PROMPT).length);
  assert.ok(tokenCount > 0 && Number.isNaN(logProbabilities[0]));
});

test("GrammarsConstrainAndMayBeClosedEarly", () => {
  const session = newSession();
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
  for (const [grammar, wanted] of [
    [Grammar.jsonSchema(model, schema), (text) => Number.isInteger(JSON.parse(text).n)],
    [Grammar.regex(model, /[0-9]{4}-[0-9]{2}/), (text) => /^[0-9]{4}-[0-9]{2}$/.test(text)],
    [Grammar.choices(model, ["red", "green"]), (text) => ["red", "green"].includes(text)],
    [Grammar.choices(model, ["\uFEFFred"]), (text) => text === "\uFEFFred"],
    [Grammar.compile(model, 'root ::= "yes" | "no"'), (text) => ["yes", "no"].includes(text)],
  ]) {
    const again = Grammar.load(model, grammar.save());
    session.reset();
    session.setGrammar(again);
    grammar.close();
    again.close();
    assert.throws(() => session.setGrammar(again), /the grammar is closed/);
    const text = generated(session, PROMPT);
    assert.ok(wanted(text), text);
  }
  assert.throws(() => Grammar.regex(model, /x/i), /the flags of/);
  assert.throws(() => Grammar.load(model, new Uint8Array(100)), SottoError);
});

test("GrammarsBelongToTheirModel", async () => {
  const other = await Model.open(PATH);
  const grammar = Grammar.regex(other, "x");
  assert.throws(() => newSession().setGrammar(grammar), /compiled for another model/);
});

test("MatchersFollowTextAndTokens", () => {
  const decode = (bytes) => new TextDecoder().decode(bytes);
  const grammar = Grammar.compile(model, 'root ::= "once upon " ("a" | "the") " time"');
  const matcher = new Matcher(model, grammar, { sequenceCount: 2 });
  grammar.close();
  assert.deepEqual(matcher.test("once"), { begins: true, matches: false });
  assert.deepEqual(matcher.test("twice"), { begins: false, matches: false });
  assert.ok(matcher.matches("once upon the time"));
  assert.equal(decode(matcher.forcedText()), "once upon ");
  assert.equal(decode(matcher.forcedText(0, 4)), "once");
  matcher.acceptText("once upon ");
  const allowed = matcher.allowedTokens();
  const fits = (token) => model.tokenFlags(token) === 0 && matcher.test(model.tokenBytes(token)).begins;
  const all = Array.from({ length: model.info.vocabularySize }, (_, token) => token);
  assert.deepEqual(allowed, all.filter(fits));
  const mask = matcher.mask();
  assert.equal(mask.length, Math.ceil(all.length / 64));
  for (const token of all) assert.equal((mask[token >> 6] >> BigInt(token & 63)) & 1n, BigInt(allowed.includes(token)));
  assert.throws(() => matcher.acceptToken(all.find((token) => !allowed.includes(token))), SottoError);
  matcher.fork(0, 1);
  for (const text of ["a", "the"]) {
    matcher.acceptToken(model.tokenize(text)[0]);
    matcher.acceptText(" time");
    assert.deepEqual(matcher.info(), { mayEnd: true, mustEnd: true, tokenCount: 3 });
    matcher.rewind(2);
  }
  assert.equal(matcher.info(1).mayEnd, false);
  assert.deepEqual(matcher.allowedTokens(1), allowed);
  matcher.reset();
  assert.equal(decode(matcher.forcedText()), "once upon ");
  assert.throws(() => matcher.mask(2), SottoError);
  assert.throws(() => matcher.mask(-1), /sequence is -1/);
  matcher.close();
  assert.throws(() => matcher.info(), /the matcher is closed/);
});

test("AMatcherConstrainsOneSession", async () => {
  const session = newSession();
  const matcher = new Matcher(model, Grammar.regex(model, "[0-9]{4}"), { sequenceCount: session.info.matcherSequenceCount });
  session.setMatcher(matcher);
  session.setMatcher(matcher);
  assert.match(generated(session, PROMPT), /^[0-9]{4}$/);
  assert.throws(() => matcher.reset(), /the matcher constrains a session/);
  assert.throws(() => newSession().setMatcher(matcher), /the matcher constrains a session/);
  session.setMatcher(null);
  matcher.reset();
  const other = await Model.open(PATH);
  assert.throws(() => other.session().setMatcher(matcher), /the matcher belongs to another model/);
  session.setMatcher(matcher);
  matcher.close();
  session.reset();
  assert.match(generated(session, PROMPT), /^[0-9]{4}$/);
  session.close();
  assert.throws(() => newSession().setMatcher(matcher), /the matcher is closed/);
});

test("WatermarksAreDetected", () => {
  const session = newSession();
  const watermark = { scheme: WatermarkScheme.GUMBEL, key: 2n ** 63n + 7n };
  session.setSampler({ temperature: 1, watermark });
  const tokens = [];
  session.generate(PROMPT, { maxTokens: 150, onPiece: (piece) => void tokens.push(piece.token) });
  const found = model.detectWatermark(tokens, watermark);
  assert.ok(found.isMarked && found.z > 3 && found.pValue < 0.01, JSON.stringify(found));
  assert.ok(found.tokenCount > 100 && found.tokenCount <= tokens.length);
  assert.ok(!model.detectWatermark(tokens, { ...watermark, key: 8 }).isMarked);
  assert.throws(() => model.detectWatermark(tokens), SottoError);
  assert.throws(() => model.detectWatermark([model.info.vocabularySize], watermark), SottoError);
});

test("ConversationsReply", () => {
  const session = newSession({ contextTokens: 512 });
  const chat = new Chat(session);
  chat.setStops({ maxTokens: 12 });
  chat.add(ChatRole.USER, "Hello.");
  const pieces = [];
  const reply = chat.reply({ onPiece: (piece) => void pieces.push(piece.text) });
  assert.equal(reply, pieces.join(""));
  assert.equal(chat.info.messageCount, 2);
  const state = chat.save();
  chat.undoReply();
  assert.equal(chat.reply(), reply);
  chat.reset();
  chat.restore(state);
  assert.equal(chat.info.messageCount, 2);
  const other = new Chat(newSession({ contextTokens: 512 }));
  other.restore(state);
  for (const each of [chat, other]) {
    each.setStops({ maxTokens: 12 });
    each.add(ChatRole.USER, "And then?");
  }
  assert.equal(other.reply(), chat.reply());
  chat.undo();
  assert.throws(() => chat.restore(state.slice(1)), SottoError);
  chat.undo();
  assert.throws(() => chat.undo(), SottoError);
  session.close();
  assert.throws(() => chat.add(ChatRole.USER, "x"), /closed/);
  chat.close();
});

test("MemoryIsStatedAndReused", () => {
  const params = { contextTokens: 256, batchTokens: 32 };
  assert.ok(model.memoryBytes >= model.info.weightBytes);
  const size = model.sessionMemorySize(params);
  model.session(params).close();
  const before = model.totalBytes;
  for (let i = 0; i < 50; ++i) {
    const session = model.session(params);
    assert.equal(session.info.memoryBytes, size);
    session.setGrammar(Grammar.regex(model, "[a-z]+"));
    generated(session, PROMPT, 2);
    session.close();
  }
  assert.ok(model.totalBytes - before < 8 * 2 ** 20, `${model.totalBytes - before} more bytes`);
});

test("ClosedObjectsThrow", async () => {
  const other = await Model.open(PATH);
  const session = other.session();
  const guide = other.session();
  const grammar = Grammar.regex(other, "[0-9]+");
  const matcher = new Matcher(other, grammar, { sequenceCount: session.info.matcherSequenceCount });
  session.setMatcher(matcher);
  other.close();
  assert.equal(matcher.info().tokenCount, 0);
  matcher.close();
  assert.throws(() => session.next(), /the session is closed/);
  assert.throws(() => other.session(), /the model is closed/);
  guide.close();
  session.close();
});

test("StatesAndForksContinueWithTheSameText", () => {
  const session = newSession();
  session.setSampler({ temperature: 0 });
  session.prefill(PROMPT);
  const state = session.save();
  const expected = generated(session, [], 8);
  const other = newSession();
  other.setSampler({ temperature: 0 });
  other.restore(state);
  assert.equal(other.speculationInfo.batchCount, 0);
  const third = newSession();
  third.setSampler({ temperature: 0 });
  other.forkInto(third);
  assert.equal(generated(other, [], 8), expected);
  assert.equal(generated(third, [], 8), expected);
  state[state.length >> 1] ^= 1;
  assert.throws(() => other.restore(state), SottoError);
});
