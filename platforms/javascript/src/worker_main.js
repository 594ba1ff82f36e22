// The program of a Worker, which executes the calls of worker.js.
import { Chat, Grammar, Matcher, Model, Session, SottoError, Status } from "./index.js";
import { isNode } from "./module.js";

const WINDOW = 64; // values of a stream that the caller has not used yet
const CLASSES = { Model, Session, Grammar, Matcher, Chat };
const objects = new Map();
const streams = new Map();
let objectCount = 0;
let port = globalThis;

/** Returns the object with a number, which the caller may have closed. */
function find(number) {
  const object = objects.get(number);
  if (!object) throw new SottoError(Status.INVALID_STATE, "the object is closed");
  return object;
}

/** Sends the values of a stream, at most WINDOW ahead of their use. */
async function send(id, stream, values) {
  let sent = 0;
  for await (const value of values) {
    port.postMessage({ id, callback: "value", values: [value] });
    sent += 1;
    while (sent - stream.used >= WINDOW && !stream.signal.aborted) await new Promise((resolve) => (stream.wake = resolve));
    if (stream.signal.aborted) return;
  }
}

async function run({ id, target, name, args, callbacks }) {
  if (name === "close" && !objects.has(target)) return; // an object may be closed twice
  const given = args.map((arg) => (arg?.sottoObject ? find(arg.sottoObject) : arg));
  const object = typeof target === "string" ? CLASSES[target] : find(target);
  if (callbacks.includes("value")) {
    const controller = new AbortController();
    const stream = { used: 0, wake: () => {}, signal: controller.signal, abort: () => controller.abort() };
    streams.set(id, stream);
    const [prompt, options] = given;
    return send(id, stream, object[name](prompt, { ...options, signal: stream.signal })).finally(() => streams.delete(id));
  }
  if (callbacks.length > 0) {
    const last = given.pop();
    const functions = callbacks.map((callback) =>
      [callback, (...values) => void port.postMessage({ id, callback, values })]);
    given.push({ ...last, ...Object.fromEntries(functions) });
  }
  if (name === "new") return new object(...given);
  const result = typeof object[name] === "function" ? await object[name](...given) : object[name];
  if (name === "close") objects.delete(target);
  return result;
}

async function answer(message) {
  const { id, used } = message;
  if (used !== undefined) {
    const stream = streams.get(id);
    if (used === null) stream?.abort();
    else if (stream) stream.used += used;
    stream?.wake();
    return;
  }
  try {
    const value = await run(message);
    const type = Object.keys(CLASSES).find((name) => value instanceof CLASSES[name]);
    if (type) objects.set(++objectCount, value);
    port.postMessage({ id, type, value: type ? objectCount : value });
  } catch (error) {
    const { status, offset } = error instanceof SottoError ? error : {};
    port.postMessage({ id, error, status, offset });
  }
}

if (isNode) {
  import("node:worker_threads").then(({ parentPort }) => {
    port = parentPort;
    port.on("message", answer);
  });
} else {
  port.onmessage = ({ data }) => answer(data);
}
