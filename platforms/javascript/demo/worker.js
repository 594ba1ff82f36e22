// Runs the model, so that the page stays responsive. Messages to the worker have a `type`: open, generate or stop.
import { Grammar, GrammarLanguage, Model, Status } from "../src/index.js";

const CONTEXT_TOKENS = 256;
const ALTERNATIVES = 8;
let model = null;
let session = null;
let running = null;
const decoder = new TextDecoder();

const statusName = (status) => Object.keys(Status).find((name) => Status[name] === status);

async function open({ source }) {
  model?.close();
  model = session = null;
  model = await Model.open(source, {
    onProgress: (bytes, size) => postMessage({ type: "progress", value: bytes / size }),
  });
  session = model.session({ contextTokens: CONTEXT_TOKENS });
  const { layerCount, embeddingSize, parameterCount } = model.info;
  postMessage({ type: "ready", layerCount, embeddingSize, parameterCount, isa: model.isa, bytes: model.totalBytes });
}

function textOf(token) {
  return decoder.decode(model.tokenBytes(token));
}

function describe(piece) {
  return {
    text: piece.text,
    probability: Math.exp(piece.logProbability),
    chosen: piece.token < 0 ? "" : textOf(piece.token),
    alternatives: piece.alternatives.map(({ token, logProbability }) =>
      ({ text: textOf(token), probability: Math.exp(logProbability), isChosen: token === piece.token })),
  };
}

async function generate({ prompt, sampler, language, grammar, maxTokens }) {
  running = new AbortController();
  const { signal } = running;
  session.reset();
  session.setSampler({ ...sampler, logProbabilities: true, alternativeCount: ALTERNATIVES });
  const compiled = language ? Grammar.compile(model, grammar, { language: GrammarLanguage[language] }) : null;
  session.setGrammar(compiled);
  compiled?.close();
  session.resetTimings();
  let stop = "";
  try {
    for await (const piece of session.pieces(prompt, { maxTokens, signal })) {
      postMessage({ type: "piece", ...describe(piece) });
    }
    stop = statusName(session.info.stop);
  } catch (failure) {
    if (!signal.aborted) throw failure;
    stop = "stopped";
  }
  const { prefillTokens, prefillNs, decodeTokens, decodeNs } = session.timings;
  postMessage({ type: "end", stop, prefillTokens, prefillNs, decodeTokens, decodeNs });
}

const actions = { open, generate, stop: () => running?.abort() };

addEventListener("message", async ({ data }) => {
  try {
    await actions[data.type](data);
  } catch (failure) {
    postMessage({ type: "failed", message: failure.message });
  }
});
