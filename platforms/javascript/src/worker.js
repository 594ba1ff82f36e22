// The package's classes with a model that runs in a Worker, so that the caller's thread stays responsive. A call sends a
// message { id, target, name, args } to worker_main.js and receives messages with its id: values for its callbacks,
// and at last a result or an error. A stream is an object of the Worker, whose next value is the result of a call.
import { Chat as LocalChat } from "./chat.js";
import { SottoError } from "./convert.js";
import { Status } from "./generated/enums.js";
import { Grammar as LocalGrammar, Matcher as LocalMatcher } from "./grammar.js";
import { Model as LocalModel } from "./model.js";
import { isNode } from "./module.js";
import { Session as LocalSession } from "./session.js";

const LINK = Symbol("the Worker of an object");
const NUMBER = Symbol("its number in the Worker");
const STREAMS = ["pieces", "stream"];
const CALLBACKS = ["log", "onPiece", "onProgress"]; // parameters that may be functions; nothing awaits what they return

/** Starts a Worker and returns { post, close, keepAlive }. */
async function startWorker(onMessage, onFailure) {
  if (isNode) {
    const { Worker: Thread } = await import("node:worker_threads");
    // Without the program's own options, of which some, such as --input-type, do not suit a Worker.
    const thread = new Thread(new URL("./worker_main.js", import.meta.url), { execArgv: [] });
    thread.on("message", onMessage).on("error", onFailure).unref();
    return {
      post: (message) => thread.postMessage(message),
      close: () => thread.terminate(),
      keepAlive: (isBusy) => (isBusy ? thread.ref() : thread.unref()), // an idle Worker does not keep the program alive
    };
  }
  const worker = new Worker(new URL("./worker_main.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => onMessage(data);
  worker.onerror = ({ message }) => onFailure(new Error(message || "the Worker could not be started"));
  return { post: (message) => worker.postMessage(message), close: () => worker.terminate(), keepAlive: () => {} };
}

/** A Worker with one model and its calls. */
class Link {
  #worker = null;
  #calls = new Map();
  #count = 0;
  #failure = null;

  static async start() {
    const link = new Link();
    link.#worker = await startWorker((message) => link.#receive(message), (failure) => link.close(failure));
    return link;
  }

  /** Calls a method, or reads a property, of the object with the number `target` or of the class with this name. */
  call(target, name, args) {
    return new Promise((resolve, reject) => {
      if (this.#failure) throw this.#failure;
      const id = ++this.#count;
      const callbacks = {};
      const given = args.map((arg) => this.#encode(arg, callbacks));
      this.#worker.post({ id, target, name, args: given, callbacks: Object.keys(callbacks) });
      this.#calls.set(id, { resolve, reject, callbacks });
      this.#worker.keepAlive(true);
    });
  }

  close(failure) {
    this.#failure ??= failure;
    this.#worker.close();
    for (const { reject } of this.#calls.values()) reject(this.#failure);
    this.#calls.clear();
  }

  #encode(arg, callbacks) {
    if (arg?.[LINK]) {
      if (arg[LINK] !== this) throw new SottoError(Status.INVALID_ARGUMENT, "an argument belongs to another model");
      return { sottoObject: arg[NUMBER] };
    }
    const found = CALLBACKS.filter((name) => typeof arg?.[name] === "function");
    if (found.length === 0) return arg;
    const rest = { ...arg };
    for (const name of found) {
      callbacks[name] = arg[name];
      delete rest[name];
    }
    return rest;
  }

  #receive({ id, callback, values, type, value, error }) {
    const call = this.#calls.get(id);
    if (!call) return;
    try {
      if (callback) return void call.callbacks[callback](...values);
      if (error) throw errorOf(error);
      call.resolve(type ? new REMOTE[type](this, value) : value);
    } catch (failure) {
      call.reject(failure); // also if a callback throws, after which the Worker may still be busy with the call
    }
    this.#calls.delete(id);
    if (this.#calls.size === 0) this.#worker.keepAlive(false);
  }
}

/** Returns an error with the properties of one in the Worker. */
function errorOf({ name, message, code, status, offset }) {
  if (status !== undefined) return new SottoError(status, message, offset);
  const error = new ({ RangeError, TypeError }[name] ?? Error)(message);
  return Object.assign(error, code === undefined ? { name } : { name, code });
}

/** Yields the values of a stream, which the Worker generates only when they are wanted, as the local classes do. */
async function* streamed(remote, name, prompt, { signal, ...options }) {
  signal?.throwIfAborted();
  const link = remote[LINK];
  const stream = await link.call(remote[NUMBER], name, [prompt, options]);
  try {
    for (;;) {
      const { value, done } = await link.call(stream, "next", []);
      if (done) return;
      yield value;
      signal?.throwIfAborted();
    }
  } finally {
    link.call(stream, "return", []).catch(() => {}); // fails only if the model is closed
  }
}

/** Returns the names and descriptors of the members of a class, which may inherit some. */
function membersOf(prototype) {
  if (prototype === Object.prototype) return [];
  return [...membersOf(Object.getPrototypeOf(prototype)), ...Object.entries(Object.getOwnPropertyDescriptors(prototype))];
}

/** Returns a class with the methods of `Local`, which return promises, as its properties do. */
function remoteClass(Local, fields) {
  class Remote {
    constructor(link, number) {
      this[LINK] = link;
      this[NUMBER] = number;
    }
  }
  const members = membersOf(Local.prototype);
  const getters = members.filter(([, { get }]) => get).map(([name]) => name);
  for (const [name, { value }] of members) {
    if (name === "constructor" || !value) continue;
    Remote.prototype[name] = STREAMS.includes(name)
      ? function (prompt = [], options = {}) {
        return streamed(this, name, prompt, options);
      }
      : async function (...args) {
        return this[LINK].call(this[NUMBER], name, args);
      };
  }
  for (const name of [...getters, ...fields]) {
    Object.defineProperty(Remote.prototype, name, {
      get() {
        return this[LINK].call(this[NUMBER], name, []);
      },
    });
  }
  return Remote;
}

export class Model extends remoteClass(LocalModel, ["info", "memoryBytes"]) {
  /** Opens a model in a Worker of its own: a path (Node.js), an address, bytes or a Blob. */
  static async open(source, options = {}) {
    const isAddress = source instanceof URL || (typeof source === "string" && !isNode);
    const link = await Link.start();
    try {
      return await link.call("Model", "open", [isAddress ? new URL(source, globalThis.location?.href).href : source, options]);
    } catch (failure) {
      link.close(failure);
      throw failure;
    }
  }

  /** Ends the Worker, which frees all its memory. Calls that are running fail. */
  close() {
    this[LINK].close(new SottoError(Status.INVALID_STATE, "the model is closed"));
  }
}

export class Session extends remoteClass(LocalSession, []) {}

export class Grammar extends remoteClass(LocalGrammar, ["size"]) {}
for (const name of ["compile", "jsonSchema", "regex", "choices", "json", "load"]) {
  Grammar[name] = async (model, ...args) => model[LINK].call("Grammar", name, [model, ...args]);
}

export class Matcher extends remoteClass(LocalMatcher, []) {
  /** Does what the constructor of the local class does. */
  static async create(model, ...args) {
    return model[LINK].call("Matcher", "new", [model, ...args]);
  }
}

export class Chat extends remoteClass(LocalChat, []) {
  /** Does what the constructor of the local class does. */
  static async create(session, ...args) {
    return session[LINK].call("Chat", "new", [session, ...args]);
  }
}

const REMOTE = { Model, Session, Grammar, Matcher, Chat };

export * from "./generated/enums.js";
export { SottoError };
export { bestKernels } from "./module.js";
