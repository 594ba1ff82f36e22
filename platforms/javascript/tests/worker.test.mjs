// Tests the models that run in Workers: the same texts, and a caller's thread that is free while they run.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { promisify } from "node:util";

import * as local from "sotto";
import { Chat, ChatRole, Grammar, Matcher, Model, Session, SottoError, Status } from "sotto/worker";

const PATH = process.env.SOTTO_DEMO_MODEL;
const PROMPT = "Once upon a time";
const CONTEXT = { contextTokens: 256, sequenceCount: 2 };
const model = await Model.open(PATH);
const session = await model.session(CONTEXT);
const localModel = await local.Model.open(PATH);
const localSession = localModel.session(CONTEXT);

after(() => model.close());

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Returns the pieces of a stream, without their times. */
async function all(pieces) {
  const found = [];
  for await (const { elapsedNs, ...piece } of pieces) found.push(piece);
  return found;
}

test("CallsReturnWhatLocalCallsReturn", async () => {
  assert.ok(session instanceof Session);
  assert.deepEqual(await model.info, localModel.info);
  assert.equal(await model.isa, localModel.isa);
  assert.equal(await model.memoryBytes, localModel.memoryBytes);
  assert.deepEqual(await model.tokenize(PROMPT), localModel.tokenize(PROMPT));
  await session.prefill(PROMPT);
  localSession.prefill(PROMPT);
  assert.deepEqual(await session.logits(), localSession.logits());
  const search = { sequenceCount: 2, maxTokens: 5 };
  assert.deepEqual(await session.search(search), localSession.search(search));
  const copy = await model.session(CONTEXT);
  await session.forkInto(copy);
  assert.deepEqual(await copy.save(), localSession.save());
  await copy.close();
});

test("StreamsYieldTheSameText", async () => {
  await session.reset();
  await session.setSampler({ seed: 5, logProbabilities: true });
  localSession.reset();
  localSession.setSampler({ seed: 5, logProbabilities: true });
  const options = { maxTokens: 200 };
  assert.deepEqual(await all(session.pieces(PROMPT, options)), await all(localSession.pieces(PROMPT, options)));
  assert.equal((await session.info).stop, Status.STOP_MAX_TOKENS);
});

test("TheCallersThreadIsFreeDuringAPrompt", async () => {
  const prompt = (await model.tokenize("word ".repeat(240))).slice(0, 250);
  // A thread that evaluates the prompt itself has at most a turn before it and one after it. A busy machine may execute
  // the Worker only, so there are several attempts.
  let ticks = 0;
  for (let attempt = 0; attempt < 50 && ticks < 3; ++attempt) {
    await session.reset();
    ticks = 0;
    const timer = setInterval(() => (ticks += 1), 1);
    await session.prefill(prompt);
    clearInterval(timer);
  }
  assert.ok(ticks >= 3, `${ticks} ticks`);
});

test("AStreamThatEndsEarlyLeavesTheSameSession", async () => {
  const usePieces = async (session, options, use) => {
    let count = 0;
    for await (const _ of session.pieces(PROMPT, options)) {
      await pause(count === 9 ? 50 : 0); // in which the Worker could generate more
      if (++count === 10 && use()) break;
    }
  };
  const leave = (session) => usePieces(session, {}, () => true);
  const abort = async (session) => {
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("enough");
    await assert.rejects(usePieces(session, { signal }, () => controller.abort(reason)), reason);
  };
  for (const end of [leave, abort]) {
    for (const each of [session, localSession]) {
      await each.reset();
      await each.setSampler({ seed: 5, ignoreEnd: true });
      await end(each);
    }
    assert.deepEqual(await session.info, localSession.info);
    assert.deepEqual(await session.save(), localSession.save());
    const more = { maxTokens: 5 };
    assert.deepEqual(await all(session.pieces("", more)), await all(localSession.pieces("", more)));
  }
});

test("GrammarsConstrain", async () => {
  await session.reset();
  const grammar = await Grammar.regex(model, "[0-9]{4}");
  assert.ok((await grammar.size) > 0);
  await session.setGrammar(grammar);
  await grammar.close();
  let text = "";
  for await (const part of session.stream("In the year ", { maxTokens: 20 })) text += part;
  assert.match(text, /^[0-9]{4}$/);
  await session.setGrammar(null);
  await assert.rejects(Grammar.compile(model, 'root ::= "a'), (failure) =>
    failure instanceof SottoError && failure.status === Status.GRAMMAR_SYNTAX && failure.offset === 9);
});

test("MatchersFollowText", async () => {
  const grammar = await Grammar.regex(model, "[0-9]{4}");
  const matcher = await Matcher.create(model, grammar);
  await matcher.acceptText("18");
  assert.deepEqual(await matcher.test("42"), { begins: true, matches: true });
  assert.equal(await matcher.matches("423"), false);
  const constraint = await Matcher.create(model, grammar, { sequenceCount: (await session.info).matcherSequenceCount });
  await session.reset();
  await session.setMatcher(constraint);
  await assert.rejects(constraint.acceptText("1"), /the matcher constrains a session/);
  await session.setMatcher(null);
  for (const object of [constraint, matcher, grammar]) await object.close();
  await matcher.close();
  await assert.rejects(matcher.acceptText("1"), /the object is closed/);
});

test("ChatsReplyWithCallbacks", async () => {
  await session.reset();
  const chat = await Chat.create(session, undefined, { replyTokens: 20 });
  await chat.add(ChatRole.USER, "Tell me about a fox.");
  const texts = [];
  const reply = await chat.reply({ maxTokens: 20, onPiece: ({ text }) => texts.push(text) });
  assert.ok(reply.length > 0);
  assert.equal(texts.join(""), reply);
  await chat.close();
});

test("FailuresReachTheCaller", async () => {
  await assert.rejects(Model.open("/no/such/file"), { code: "ENOENT" });
  await assert.rejects(Model.open(new Uint8Array(0)), SottoError);
  await assert.rejects(session.setSampler({ temprature: 1 }), (failure) =>
    failure instanceof TypeError && /temprature/.test(failure.message));
  await assert.rejects(session.setSampler({ logitsProcessor: () => {} }), { name: "DataCloneError" });
  const bytes = await readFile(PATH);
  let last = 0;
  const other = await Model.open(new Blob([bytes]), {});
  await (await Model.open(PATH, { onProgress: (done) => (last = done) })).close();
  assert.equal(last, bytes.length);
  const foreign = await other.session(CONTEXT);
  await assert.rejects(session.forkInto(foreign), /belongs to another model/);
  const pending = foreign.prefill("word ".repeat(200));
  other.close();
  await assert.rejects(pending, /the model is closed/);
  await assert.rejects(foreign.info, /the model is closed/);
});

test("ExceptionsOfCallbacksAreThoseOfTheirCalls", async () => {
  const failure = new Error("from the callback");
  const fail = () => { throw failure; };
  await assert.rejects(Model.open(PATH, { onProgress: fail }), failure);
  await session.reset();
  await assert.rejects(session.generate(PROMPT, { maxTokens: 5, onPiece: fail }), failure);
  assert.equal((await session.info).stop, Status.STOP_MAX_TOKENS);
});

test("TheMethodsAreThoseOfTheTypes", async () => {
  const types = await readFile(new URL("node_modules/sotto/src/index.d.ts", import.meta.url), "utf8");
  for (const [name, Class] of Object.entries({ Model, Session, Grammar, Matcher, Chat })) {
    const [declared] = types.split(`export class ${name} {`)[1].split("\n}\n");
    for (const member of Object.getOwnPropertyNames(Object.getPrototypeOf(Class.prototype))) {
      if (member !== "constructor") assert.match(declared, new RegExp(`^  (readonly )?${member}\\b`, "m"), name);
    }
  }
});

test("AnIdleWorkerDoesNotKeepAProgramAlive", async () => {
  const program = `import { Model } from "sotto/worker"; const model = await Model.open(process.env.SOTTO_DEMO_MODEL);
    const session = await model.session();
    await session.setSampler({ ignoreEnd: true });
    await session.stream("Once upon a time").next(); // a stream that nobody reads to its end
    console.log(await model.isa);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], { timeout: 300_000 });
  assert.equal(stdout.trim(), localModel.isa);
});
