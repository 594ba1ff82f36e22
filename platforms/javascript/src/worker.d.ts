import type * as local from "./index.js";

export * from "./generated/types.js";
export { SottoError, bestKernels } from "./index.js";
export type { KernelsName, OpenOptions, Piece, Prompt, Sequence, StreamOptions } from "./index.js";

type Remote<T> = T extends local.Model ? Model : T extends local.Session ? Session
  : T extends local.Grammar ? Grammar : T extends local.Matcher ? Matcher : T extends local.Chat ? Chat : T;
type RemoteCall<A extends unknown[], R> = (...args: { [I in keyof A]: Remote<A[I]> }) =>
  R extends AsyncGenerator<unknown, void, void> ? R : Promise<Remote<R>>;
/** The methods and properties of a class, which all return promises, except for the streams. */
type InWorker<T> = {
  readonly [Name in keyof T]: T[Name] extends (...args: infer A) => infer R ? RemoteCall<A, R> : Promise<Remote<T[Name]>>;
};

interface ReplyOptions {
  maxTokens?: number;
  /** Cannot end the text. To end one early, leave the loop of its stream. */
  onPiece?: (piece: local.Piece) => void;
}

/** A model in a Worker of its own. */
export interface Model extends Omit<InWorker<local.Model>, "close"> {
  /** Ends the Worker, which frees all its memory. Calls that are running fail. */
  close(): void;
}
export const Model: {
  /** Opens a model: a path (Node.js), an address, bytes or a Blob. */
  open(source: string | URL | ArrayBuffer | ArrayBufferView | Blob, options?: local.OpenOptions): Promise<Model>;
};

export interface Session extends Omit<InWorker<local.Session>, "model" | "setSampler" | "generate"> {
  setSampler(params?: Omit<local.SamplerParams, "logitsCallback" | "logitsProcessor"> & { preset?: local.Preset }):
    Promise<void>;
  /** Generates the whole text before it returns. */
  generate(prompt?: local.Prompt, options?: ReplyOptions): Promise<local.Status>;
}
export const Session: { readonly prototype: Session };

export interface Grammar extends InWorker<local.Grammar> {}
export const Grammar: {
  [Name in "compile" | "jsonSchema" | "regex" | "choices" | "json" | "load"]:
    (typeof local.Grammar)[Name] extends (model: local.Model, ...args: infer A) => local.Grammar
      ? (model: Model, ...args: A) => Promise<Grammar> : never;
};

export interface Matcher extends Omit<InWorker<local.Matcher>, "grammar"> {}
export const Matcher: {
  create(model: Model, grammar: Grammar, params?: local.MatcherParams): Promise<Matcher>;
};

export interface Chat extends Omit<InWorker<local.Chat>, "session" | "reply"> {
  /** Generates a reply and returns it when it is complete. */
  reply(options?: ReplyOptions): Promise<string>;
}
export const Chat: {
  /** The format is predefined, or the text of a format. */
  create(session: Session, format?: local.ChatFormat | string, params?: local.ChatParams): Promise<Chat>;
};
