import type {
  ChatInfo, ChatParams, ChatRole, GrammarParams, GuideParams, MatcherInfo, MatcherParams, ModelInfo, ModelParams,
  ModelTextKind, Pooling, Preset, SamplerParams, Score, SearchParams, SessionInfo, SessionParams, SessionTimings,
  SpeculationInfo, SpeculationParams, Status, StopParams, Text, ChatFormat, WatermarkParams, WatermarkResult,
} from "./generated/types.js";

export * from "./generated/types.js";

/** Text, which is tokenized without special tokens, or tokens. */
export type Prompt = Text | readonly number[];

/** A call that failed. */
export class SottoError extends Error {
  readonly status: Status;
  /** The offset of the error in the input in bytes, if any. */
  readonly offset: number | null;
}

/** "simd128" runs in all current engines; "relaxed_simd" is faster and adds a second module. */
export type KernelsName = "relaxed_simd" | "simd128";

/** Returns the best kernels that this engine can load. */
export function bestKernels(): KernelsName;

export interface OpenOptions extends ModelParams {
  /** By default the best that the engine can run. Both give the same bits. */
  kernels?: KernelsName;
  /** Called while the file is read. */
  onProgress?: (bytes: number, size: number) => void;
}

/** A generated token. */
export interface Piece {
  /** Whole characters; empty while a character or a stop string is incomplete. */
  readonly text: string;
  /** -1 if there is only text that was withheld before. */
  readonly token: number;
  /** The bytes of the token. */
  readonly bytes: Uint8Array;
  /** Under the model; NaN unless the sampler's logProbabilities is set. */
  readonly logProbability: number;
  /** After the sampler's stages. */
  readonly sampledLogProbability: number;
  /** The most likely tokens, if the sampler's alternativeCount is set. */
  readonly alternatives: readonly { readonly token: number; readonly logProbability: number }[];
  readonly elapsedNs: number;
  /** Entropy of the model's distribution in nats. This and the two other numbers are NaN unless statistics is set. */
  readonly entropy: number;
  /** exp(entropy): the number of equally likely tokens with the same entropy. */
  readonly effectiveVocabulary: number;
  /** Number of tokens left to draw from after the sampler's stages; 0 unless statistics is set. */
  readonly keptCount: number;
  /** Repetitiveness of the newest tokens, from 0 to 1. */
  readonly repetitiveness: number;
}

/** A continuation that a search found. */
export interface Sequence {
  readonly tokens: number[];
  readonly score: number;
  readonly logProbability: number;
  readonly stop: Status;
  readonly index: number;
}

/** The weights and tokenizer of one file, in a WebAssembly memory that its sessions share. */
export class Model {
  private constructor();
  /** Opens a model: a path (Node.js), an address, bytes, a Blob or a Response. */
  static open(source: string | URL | ArrayBuffer | ArrayBufferView | Blob | Response, options?: OpenOptions): Promise<Model>;
  readonly info: ModelInfo;
  /** The name of the instruction set in use. */
  readonly isa: string;
  /** Bytes of memory of the model, with its file. */
  readonly memoryBytes: number;
  /** Bytes of the whole WebAssembly memory. */
  readonly totalBytes: number;
  /** Returns the bytes of memory that a session would use. */
  sessionMemorySize(params?: SessionParams): number;
  session(params?: SessionParams): Session;
  /** Encodes text. With `special`, text such as <|endoftext|> becomes its special token. */
  tokenize(text: Text, special?: boolean): number[];
  detokenize(tokens: readonly number[]): Uint8Array;
  /** Returns the bytes of one token; they may begin or end inside a character. */
  tokenBytes(token: number): Uint8Array;
  /** Returns the flags of a token (TokenFlag). */
  tokenFlags(token: number): number;
  /** Returns a text about the model, such as its chat template, or an empty text. */
  text(kind: ModelTextKind): string;
  /** Detects a watermark in tokens, under the parameters with which they were generated. */
  detectWatermark(tokens: readonly number[], params?: WatermarkParams): WatermarkResult;
  /** Closes the model and its sessions. The next garbage collection frees its memory. */
  close(): void;
}

export interface StreamOptions {
  /** By default there is no limit. */
  maxTokens?: number;
  /** Lets the end of the prompt become part of the next token, for a prompt that ends inside a word. */
  heal?: boolean;
  signal?: AbortSignal;
}

/** A stream of text that a model continues. `info.stop` says why the newest text ended. */
export class Session {
  private constructor();
  readonly model: Model;

  setSampler(params?: SamplerParams & { preset?: Preset }): void;
  setSpeculation(params?: SpeculationParams): void;
  /** Sets a second session of the same model as the guide of this one; null removes it. */
  setGuide(guide: Session | null, params?: GuideParams): void;
  /** Constrains the generated text; null removes it. Set it again before another text, or call reset. */
  setGrammar(grammar: Grammar | null, params?: MatcherParams): void;
  /** Constrains the generated text to continue sequence 0 of a matcher, which only the session may use; null removes it. */
  setMatcher(matcher: Matcher | null): void;

  /** Evaluates a prompt and yields the text as it is generated. An empty prompt continues the text. */
  stream(prompt?: Prompt, options?: StreamOptions): AsyncGenerator<string, void, void>;
  /** Like stream, but yields tokens with their probabilities. */
  pieces(prompt?: Prompt, options?: StreamOptions): AsyncGenerator<Piece, void, void>;

  /** Generates one token, or returns null at a stop. */
  next(): Piece | null;
  /** Stops the running call, or the next one. */
  cancel(): void;
  // Methods of sotto_session, written by capi/generate from capi/params.

  /** Appends a prompt to the stream and evaluates it. Returns OK or STOP_CANCELLED. */
  prefill(prompt: Prompt): Status;
  /**
   * Limits the number of tokens that are generated one by one, from now on until the next prompt. By default there is
   * no limit.
   */
  setLimit(maxTokens?: number | null): void;
  /**
   * Evaluates a prompt and generates text until a stop. An empty prompt continues the text. Calls `onPiece` with each
   * piece until it returns true. Returns the reason why the text ended. Nothing else runs in this thread until then. By
   * default there is no limit.
   */
  generate(prompt?: Prompt, options?: { maxTokens?: number; onPiece?: (piece: Piece) => unknown }): Status;
  /** Evaluates tokens and returns their pooled hidden states. */
  embed(prompt: Prompt, pooling?: Pooling): Float32Array;
  /** Replaces the stops: the conditions that end a text. */
  setStops(params?: StopParams): void;
  /** Applies token healing, for a prompt that ends inside a word. Call it after a prefill. */
  heal(): void;
  /** Rolls the stream back to its first tokens. */
  rewind(tokenCount: number): void;
  /** Removes all tokens and restarts the sampler. The parameters stay in effect. */
  reset(): void;
  /** Returns the dimensions and the state of the session. */
  readonly info: SessionInfo;
  /** Returns the counts of tokens and the times since the session was created or its timings were reset. */
  readonly timings: SessionTimings;
  /** Sets all counts and times to zero. */
  resetTimings(): void;
  /** Returns the logits after the last token, before the sampler. */
  logits(): Float32Array;
  /** Returns the hidden state of the last token. */
  hidden(): Float32Array;
  /** Returns the stream as bytes, the same on every platform. */
  save(): Uint8Array;
  /** Restores a saved stream. The state is validated, so it may come from an untrusted source. */
  restore(state: Uint8Array): void;
  /** Returns the statistics of speculative decoding. A reset of the timings sets them to zero. */
  readonly speculationInfo: SpeculationInfo;

  // End of the generated methods.

  /** Evaluates tokens and returns their total score and ln p of each. */
  score(prompt: Prompt): Score & { readonly logProbabilities: Float32Array };
  /** Searches for several continuations of the stream, best first. */
  search(params?: SearchParams): Sequence[];

  /** Makes `other`, a session of the same model, a copy of this stream. */
  forkInto(other: Session): void;
  /** Frees the session's memory. */
  close(): void;
}

/** A compiled grammar of one model. */
export class Grammar {
  private constructor();
  /** Compiles GBNF, or the language of the parameters. */
  static compile(model: Model, source: Text, params?: GrammarParams): Grammar;
  /** Compiles a JSON Schema, given as text or as a value. */
  static jsonSchema(model: Model, schema: string | object | boolean, params?: GrammarParams): Grammar;
  /** Compiles a regular expression that the whole text must match. */
  static regex(model: Model, pattern: string | RegExp, params?: GrammarParams): Grammar;
  /** Compiles a choice between strings. */
  static choices(model: Model, choices: readonly string[], params?: GrammarParams): Grammar;
  /** Compiles the grammar of any JSON value. */
  static json(model: Model, params?: GrammarParams): Grammar;
  /** Loads an image that `save` returned. It may come from an untrusted source. */
  static load(model: Model, image: Uint8Array): Grammar;
  readonly size: number;
  /** Returns the grammar as an image with the same bytes on every platform. */
  save(): Uint8Array;
  /** Frees the grammar as soon as no session uses it. */
  close(): void;
}

/** Follows text through a grammar and computes which tokens of the grammar's model may come next. */
export class Matcher {
  constructor(model: Model, grammar: Grammar, params?: MatcherParams);
  readonly grammar: Grammar;
  // Methods of sotto_matcher, written by capi/generate from capi/params.

  /** Makes a sequence empty again. */
  reset(sequence?: number): void;
  /** Appends a token to a sequence. The mask must allow the token. */
  acceptToken(token: number, sequence?: number): void;
  /** Appends text to a sequence. The text may begin and end inside a token. */
  acceptText(text: Text, sequence?: number): void;
  /** Rolls back the newest tokens or texts of sequence 0. */
  rewind(count: number): void;
  /** Returns the state of a sequence. */
  info(sequence?: number): MatcherInfo;
  /** Makes the sequence `target` a copy of `source`. */
  fork(source: number, target: number): void;

  // End of the generated methods.
  /** Returns the tokens that may come next: bit t % 64 of word t / 64 stands for token t. */
  mask(sequence?: number): BigUint64Array;
  /** Returns the tokens that may come next as a list. */
  allowedTokens(sequence?: number): number[];
  /** Returns whether the sequence followed by the text can be completed, and whether it is complete. */
  test(text: Text, sequence?: number): { readonly begins: boolean; readonly matches: boolean };
  /** Returns whether sequence 0 followed by the text is complete under the grammar. */
  matches(text: Text): boolean;
  /** Returns the bytes that must come next, at most `capacity` of them; by default 4096. */
  forcedText(sequence?: number, capacity?: number): Uint8Array;
  /** Frees the matcher as soon as no session uses it. */
  close(): void;
}

/** A conversation over a session. The session's sampler and grammar apply to the replies. */
export class Chat {
  /** The format is predefined, or the text of a format. */
  constructor(session: Session, format?: ChatFormat | string, params?: ChatParams);
  readonly session: Session;
  // Methods of sotto_chat, written by capi/generate from capi/params.

  /** Sets the stops of the session, and adds the string that ends a reply. */
  setStops(params?: StopParams): void;
  /** Adds a message. A system message replaces an earlier one. */
  add(role: ChatRole, text: Text): void;
  /** Removes all messages. */
  reset(): void;
  /** Returns the state of the conversation. */
  readonly info: ChatInfo;
  /** Removes the last turn. */
  undo(): void;
  /** Removes the last reply. Another one can then be generated. */
  undoReply(): void;
  /**
   * Generates a reply. Calls `onPiece` with each piece until it returns true. Returns the reason why the text ended.
   * Nothing else runs in this thread until then. By default there is no limit.
   */
  replyWith(options?: { maxTokens?: number; onPiece?: (piece: Piece) => unknown }): Status;
  /** Returns the messages as bytes, the same on every platform. */
  save(): Uint8Array;
  /** Restores saved messages. The state is validated, so it may come from an untrusted source. */
  restore(state: Uint8Array): void;

  // End of the generated methods.
  /** Generates a reply and returns it when it is complete. `onPiece` ends it by returning true. */
  reply(options?: { maxTokens?: number; onPiece?: (piece: Piece) => unknown }): string;
  /** Frees the conversation's memory; the session stays. */
  close(): void;
}
