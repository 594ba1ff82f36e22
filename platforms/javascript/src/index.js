export * from "./generated/enums.js";
export { Chat } from "./chat.js";
export { SottoError } from "./convert.js";
export { Grammar, Matcher } from "./grammar.js";
export { Model } from "./model.js";
export { bestKernels } from "./module.js";
export { Session } from "./session.js";
