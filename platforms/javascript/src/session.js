import {
  ErrorSlot, SottoError, attempt, check, copyIntegers, createObject, fill, integer, read, readInfo,
} from "./convert.js";
import { Pooling, Status, presets } from "./generated/enums.js";
import { structs } from "./generated/structs.js";
import { ATTACH, DETACH, Matcher } from "./grammar.js";

export const ABANDON = Symbol("abandon"); // a method that only the package itself calls
const NO_LIMIT = 2 ** 32 - 1;
const SLICE_MS = 12; // streams let other tasks run after this time

/** Returns control to the event loop, without the delay that browsers add to nested timers. */
export function yieldToOthers() {
  if (typeof setImmediate === "function") return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

export function limitOf(maxTokens) {
  return maxTokens === undefined || maxTokens === null ? NO_LIMIT : integer(maxTokens, "u32", "maxTokens");
}

/** Returns a piece of generated text. */
export function readPiece(instance, address) {
  const { fields } = structs.Piece;
  const { i32, f32, u32, u64 } = instance.views;
  const at = (name) => (address + fields[name][0]) >>> 2;
  const alternatives = [];
  for (let i = 0, from = u32[at("alternatives")] >>> 2; i < u32[at("alternativeCount")]; ++i, from += 2) {
    alternatives.push({ token: i32[from], logProbability: f32[from + 1] });
  }
  return {
    text: instance.text(u32[at("text")], u32[at("textSize")]),
    token: i32[at("token")],
    bytes: instance.bytes(u32[at("bytes")], u32[at("byteCount")]),
    logProbability: f32[at("logProbability")],
    sampledLogProbability: f32[at("sampledLogProbability")],
    alternatives,
    elapsedNs: Number(u64[at("elapsedNs") >>> 1]),
    entropy: f32[at("entropy")],
    effectiveVocabulary: f32[at("effectiveVocabulary")],
    keptCount: u32[at("keptCount")],
    repetitiveness: f32[at("repetitiveness")],
  };
}

/** A stream of text that a model continues. `session.info.stop` says why the newest text ended. */
export class Session {
  #onClose;
  #samplerCallbacks = [];
  #matcher = null;
  #guide = null;
  #isGuide = false;
  #busy = false;

  constructor(model, instance, params, onClose) {
    const { exports } = instance;
    this.model = model;
    this.instance = instance;
    this.#onClose = onClose;
    const made = instance.withScratch((scratch) => {
      const given = fill(scratch, "SessionParams", params);
      return createObject(instance, scratch,
        (size, error) => exports.sotto_session_memory_size(model.handle, given, size, error),
        (memory, size, handle, error) => exports.sotto_session_init(model.handle, given, memory, size, handle, error));
    });
    this.memory = made.memory;
    this.handle = made.handle;
  }

  // ---- Parameters

  /** Sets the sampler: session.setSampler({ temperature: 0.7, topP: 0.9, seed: 1 }). `preset` may name a purpose. */
  setSampler({ preset, ...params } = {}) {
    const callbacks = [];
    try {
      this.#attempt((scratch, error) => this.instance.exports.sotto_session_set_sampler(this.handle,
        fill(scratch, "SamplerParams", { ...presets[preset], ...params }, callbacks), error));
    } catch (failure) {
      callbacks.forEach((number) => this.instance.removeCallback(number));
      throw failure;
    }
    this.#samplerCallbacks.forEach((number) => this.instance.removeCallback(number));
    this.#samplerCallbacks = callbacks;
  }

  /** Sets speculative decoding: session.setSpeculation({ sources: DraftSource.LOOKUP }). */
  setSpeculation(params = {}) {
    this.#attempt((scratch, error) => this.instance.exports.sotto_session_set_speculation(this.handle,
      fill(scratch, "SpeculationParams", params), error));
  }

  /** Sets a second session of the same model as the guide of this one; null removes it. */
  setGuide(guide, params = {}) {
    if (guide && guide.instance !== this.instance) {
      throw new SottoError(Status.INVALID_ARGUMENT, "the guide is a session of another model");
    }
    guide?.#check();
    this.#attempt((scratch, error) => this.instance.exports.sotto_session_set_guide(this.handle, guide?.handle ?? 0,
      fill(scratch, "GuideParams", params), error));
    if (this.#guide) this.#guide.#isGuide = false;
    this.#guide = guide;
    if (guide) guide.#isGuide = true;
  }

  /**
   * Constrains the generated text to continue sequence 0 of a matcher, which only the session uses in the meantime; null
   * removes it.
   */
  setMatcher(matcher) {
    if (matcher && matcher.instance !== this.instance) {
      throw new SottoError(Status.INVALID_ARGUMENT, "the matcher belongs to another model");
    }
    const isNew = matcher !== this.#matcher;
    if (isNew) matcher?.[ATTACH]();
    try {
      this.#attempt((scratch, error) =>
        this.instance.exports.sotto_session_set_matcher(this.handle, matcher?.handle ?? 0, error));
    } catch (failure) {
      if (isNew) matcher?.[DETACH]();
      throw failure;
    }
    if (isNew) this.#matcher?.[DETACH]();
    this.#matcher = matcher;
  }

  /** Constrains the generated text by a grammar; null removes it. Set it again before another text, or call reset. */
  setGrammar(grammar, params = {}) {
    if (grammar === null) return this.setMatcher(null);
    const matcher = new Matcher(this.model, grammar, { sequenceCount: this.info.matcherSequenceCount, ...params });
    try {
      this.setMatcher(matcher);
    } finally {
      matcher.close();
    }
  }

  // ---- The stream

  /**
   * Generates one token. Returns null at a stop; if text was withheld, a piece without a token (-1) comes first. After a
   * cancellation, the next call continues the text; after another stop it does not.
   */
  next() {
    return this.#call((scratch) => {
      const result = scratch.zeros(4);
      const status = this.#checked(scratch, this.instance.exports.sotto_session_next(this.handle, result));
      const piece = readPiece(this.instance, this.instance.u32(result));
      return status === Status.OK || piece.text ? piece : null;
    });
  }

  /**
   * Evaluates the prompt and yields pieces until a stop, after `maxTokens`, or when `signal` aborts. An empty prompt
   * continues the text. With `heal`, the end of the prompt may become part of the next token. Other tasks run in between.
   */
  async *pieces(prompt = [], { maxTokens, heal = false, signal } = {}) {
    limitOf(maxTokens);
    signal?.throwIfAborted();
    if (this.prefill(prompt) !== Status.OK) return;
    this.setLimit(maxTokens);
    if (heal) this.heal();
    let begin = performance.now();
    for (let piece = this.next(); piece !== null; piece = this.next()) {
      yield piece;
      if (piece.token < 0) return;
      if (performance.now() - begin > SLICE_MS) {
        await yieldToOthers();
        begin = performance.now();
      }
      signal?.throwIfAborted();
    }
  }

  /** Like pieces, but yields text. */
  async *stream(prompt = [], options = {}) {
    for await (const piece of this.pieces(prompt, options)) {
      if (piece.text) yield piece.text;
    }
  }

  // Methods of sotto_session, written by capi/generate from capi/params.

  /** Appends a prompt to the stream and evaluates it. Returns OK or STOP_CANCELLED. */
  prefill(prompt) {
    return this.#evaluate((scratch) => {
      const promptTokens = copyIntegers(scratch, this.#tokens(prompt), "the prompt");
      return this.instance.exports.sotto_session_prefill(this.handle, promptTokens.address, promptTokens.count);
    });
  }

  /**
   * Limits the number of tokens that are generated one by one, from now on until the next prompt. By default there is
   * no limit.
   */
  setLimit(maxTokens) {
    this.#check();
    this.instance.exports.sotto_session_set_limit(this.handle, limitOf(maxTokens));
  }

  /**
   * Evaluates a prompt and generates text until a stop. An empty prompt continues the text. Calls `onPiece` with each
   * piece until it returns true. Returns the reason why the text ended. Nothing else runs in this thread until then. By
   * default there is no limit.
   */
  generate(prompt = [], { maxTokens, onPiece = () => false } = {}) {
    const number = this.instance.addCallback((piece) => onPiece(readPiece(this.instance, piece)) === true);
    try {
      return this.#evaluate((scratch) => {
        const promptTokens = copyIntegers(scratch, this.#tokens(prompt), "the prompt");
        return this.instance.exports.sotto_session_generate(this.handle, promptTokens.address, promptTokens.count,
                                                            limitOf(maxTokens), this.instance.exports.piece_callback(),
                                                            number);
      });
    } finally {
      this.instance.removeCallback(number);
    }
  }

  /** Evaluates tokens and returns their pooled hidden states. */
  embed(prompt, pooling = Pooling.MEAN) {
    const size = this.model.info.embeddingSize;
    return this.#call((scratch) => {
      const promptTokens = copyIntegers(scratch, this.#tokens(prompt), "the prompt");
      const embedding = scratch.allocate(4 * size);
      const status = this.instance.exports.sotto_session_embed(this.handle, promptTokens.address, promptTokens.count,
                                                               integer(pooling, "i32", "pooling"), embedding);
      this.#checkWhole(this.#checked(scratch, status));
      return this.#floats(embedding, size);
    });
  }

  /** Replaces the stops: the conditions that end a text. */
  setStops(params = {}) {
    this.#attempt((scratch, error) =>
      this.instance.exports.sotto_session_set_stops(this.handle, fill(scratch, "StopParams", params), error));
  }

  /** Applies token healing, for a prompt that ends inside a word. Call it after a prefill. */
  heal() {
    this.#evaluate(() => this.instance.exports.sotto_session_heal(this.handle));
  }

  /** Rolls the stream back to its first tokens. */
  rewind(tokenCount) {
    this.#evaluate(() =>
      this.instance.exports.sotto_session_rewind(this.handle, BigInt(integer(tokenCount, "u64", "tokenCount"))));
  }

  /** Removes all tokens and restarts the sampler. The parameters stay in effect. */
  reset() {
    this.#check();
    this.instance.exports.sotto_session_reset(this.handle);
  }

  /** Returns the dimensions and the state of the session. */
  get info() {
    this.#check();
    return readInfo(this.instance, "SessionInfo", (info) =>
      this.instance.exports.sotto_session_get_info(this.handle, info));
  }

  /** Returns the counts of tokens and the times since the session was created or its timings were reset. */
  get timings() {
    this.#check();
    return readInfo(this.instance, "SessionTimings", (info) =>
      this.instance.exports.sotto_session_get_timings(this.handle, info));
  }

  /** Sets all counts and times to zero. */
  resetTimings() {
    this.#check();
    this.instance.exports.sotto_session_reset_timings(this.handle);
  }

  /** Returns the logits after the last token, before the sampler. */
  logits() {
    return this.#row(this.instance.exports.sotto_session_logits);
  }

  /** Returns the hidden state of the last token. */
  hidden() {
    return this.#row(this.instance.exports.sotto_session_hidden);
  }

  /** Returns the stream as bytes, the same on every platform. */
  save() {
    let bytes;
    this.#evaluate((scratch) => {
      const size = scratch.zeros(4);
      this.instance.exports.sotto_session_save(this.handle, 0, 0, size);
      const capacity = this.instance.u32(size);
      const data = scratch.allocate(capacity);
      const status = this.instance.exports.sotto_session_save(this.handle, data, capacity, size);
      bytes = this.instance.bytes(data, capacity);
      return status;
    });
    return bytes;
  }

  /** Restores a saved stream. The state is validated, so it may come from an untrusted source. */
  restore(state) {
    this.#attempt((scratch, error) => {
      const stateBytes = scratch.text(state, "state");
      return this.instance.exports.sotto_session_restore(this.handle, stateBytes.address, stateBytes.size, error);
    });
  }

  /** Returns the statistics of speculative decoding. A reset of the timings sets them to zero. */
  get speculationInfo() {
    this.#check();
    return readInfo(this.instance, "SpeculationInfo", (info) =>
      this.instance.exports.sotto_session_get_speculation_info(this.handle, info));
  }

  // End of the generated methods.

  /** Stops the running call, or the next one. */
  cancel() {
    if (this.handle) this.instance.exports.sotto_session_cancel(this.handle);
  }

  // ---- Scores, embeddings, searches

  /** Evaluates tokens and returns their total score and ln p of each. */
  score(prompt) {
    return this.#call((scratch) => {
      const { address, count } = copyIntegers(scratch, this.#tokens(prompt), "the prompt");
      const each = scratch.allocate(4 * count);
      this.instance.views.f32.fill(NaN, each >>> 2, (each >>> 2) + count);
      const score = scratch.zeros(structs.Score.size);
      this.instance.views.u32[score >>> 2] = structs.Score.size;
      const status = this.instance.exports.sotto_session_score(this.handle, address, count, each, score);
      this.#checkWhole(this.#checked(scratch, status));
      return { ...read(this.instance, "Score", score), logProbabilities: this.#floats(each, count) };
    });
  }

  /** Searches for several continuations of the stream, best first; the stream itself does not change. */
  search(params = {}) {
    return this.#call((scratch) => {
      const result = scratch.zeros(8);
      const error = new ErrorSlot(scratch);
      const status = error.check(this.instance.exports.sotto_session_search(this.handle,
        fill(scratch, "SearchParams", params), result, result + 4, error.address));
      const count = this.instance.u32(result + 4);
      if (count === 0) this.#checkWhole(status);
      return Array.from({ length: count }, (_, i) =>
        this.#sequence(this.instance.u32(result) + i * structs.Sequence.size));
    });
  }

  #sequence(address) {
    const { i32, u32, f64 } = this.instance.views;
    const at = (name) => (address + structs.Sequence.fields[name][0]) >>> 2;
    const first = u32[at("tokens")] >>> 2;
    return {
      tokens: Array.from(i32.subarray(first, first + u32[at("tokenCount")])),
      score: f64[at("score") >>> 1],
      logProbability: f64[at("logProbability") >>> 1],
      stop: i32[at("stop")],
      index: u32[at("index")],
    };
  }

  // ---- States

  /** Makes `other`, a session of the same model, a copy of this stream. */
  forkInto(other) {
    this.#attempt((scratch, error) => this.instance.exports.sotto_session_fork(this.handle, other.handle, error));
  }

  /** Frees the session's memory. */
  close() {
    if (!this.handle) return;
    if (this.#busy) throw new SottoError(Status.INVALID_STATE, "the session is inside another call");
    if (this.#isGuide) throw new SottoError(Status.INVALID_STATE, "the session guides another one");
    if (this.#guide) this.#guide.#isGuide = false;
    this.instance.exports.sotto_session_deinit(this.handle);
    this.#matcher?.[DETACH]();
    this.#samplerCallbacks.forEach((number) => this.instance.removeCallback(number));
    this.instance.release(this.memory);
    this.handle = 0;
    this.#onClose();
  }

  /** Marks a session as closed whose memory is freed with its model. */
  [ABANDON]() {
    this.handle = 0;
    if (!this.#busy) this.#matcher?.[DETACH](); // a running call still uses it
    this.#matcher = null;
  }

  // ---- Calls

  #check() {
    if (!this.handle) throw new SottoError(Status.INVALID_STATE, "the session is closed");
  }

  /** Runs a call of the session, which must not run inside another one. */
  #call(run) {
    this.#check();
    if (this.#busy) throw new SottoError(Status.INVALID_STATE, "the session is inside another call");
    this.#busy = true;
    try {
      return this.instance.withScratch(run);
    } finally {
      this.#busy = false;
    }
  }

  #attempt(call) {
    this.#check();
    return this.#call(() => attempt(this.instance, call));
  }

  #evaluate(call) {
    return this.#call((scratch) => this.#checked(scratch, call(scratch)));
  }

  /** Throws the failure of a function without an error parameter, which the session describes. */
  #checked(scratch, status) {
    this.instance.throwFirst();
    if (status >= 0) return status;
    const error = new ErrorSlot(scratch);
    const described = this.instance.exports.sotto_session_get_error(this.handle, error.address);
    return described === Status.OK ? error.check(status) : check(status);
  }

  #checkWhole(status) {
    if (status !== Status.OK) throw new SottoError(status, "the call was stopped");
  }

  /** Returns a row of floats of the session, which get(handle, address, count) finds. */
  #row(get) {
    return this.#call((scratch) => {
      const result = scratch.zeros(8);
      this.#checkWhole(this.#checked(scratch, get(this.handle, result, result + 4)));
      return this.#floats(this.instance.u32(result), this.instance.u32(result + 4));
    });
  }

  #floats(address, count) {
    return this.instance.views.f32.slice(address >>> 2, (address >>> 2) + count);
  }

  #tokens(prompt) {
    return typeof prompt === "string" || prompt instanceof Uint8Array ? this.model.tokenize(prompt) : prompt;
  }
}
