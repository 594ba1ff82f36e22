// The program of a Worker, which executes the calls of worker.js.
import { Chat, Grammar, Matcher, Model, Session, SottoError, Status } from "./index.js";
import { isNode } from "./module.js";

const CLASSES = { Model, Session, Grammar, Matcher, Chat };
const objects = new Map(); // those of the classes, and the iterators of streams
let objectCount = 0;
let port = globalThis;

/** Returns the object with a number, which the caller may have closed. */
function find(number) {
  const object = objects.get(number);
  if (!object) throw new SottoError(Status.INVALID_STATE, "the object is closed");
  return object;
}

async function run({ id, target, name, args, callbacks }) {
  if (name === "close" && !objects.has(target)) return; // an object may be closed twice
  const given = args.map((arg) => (arg?.sottoObject ? find(arg.sottoObject) : arg));
  const object = typeof target === "string" ? CLASSES[target] : find(target);
  if (callbacks.length > 0) {
    const last = given.pop();
    const functions = callbacks.map((callback) =>
      [callback, (...values) => void port.postMessage({ id, callback, values })]);
    given.push({ ...last, ...Object.fromEntries(functions) });
  }
  if (name === "new") return new object(...given);
  const result = typeof object[name] === "function" ? await object[name](...given) : object[name];
  if (name === "close" || name === "return") objects.delete(target);
  return result;
}

async function answer(message) {
  const { id } = message;
  try {
    const value = await run(message);
    const type = Object.keys(CLASSES).find((name) => value instanceof CLASSES[name]);
    const isKept = type || value?.[Symbol.asyncIterator];
    if (isKept) objects.set(++objectCount, value);
    port.postMessage({ id, type, value: isKept ? objectCount : value });
  } catch ({ name, message, code, status, offset }) {
    port.postMessage({ id, error: { name, message, code, status, offset } });
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
