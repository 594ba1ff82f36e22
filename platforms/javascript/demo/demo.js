// The page: reads the form and draws the text. The model runs in a Worker, so that the page stays responsive.
import { Grammar, GrammarLanguage, Model, Status } from "../src/worker.js";

const CONTEXT_TOKENS = 256;
const ALTERNATIVES = 8;
const $ = (id) => document.getElementById(id);

// name, label, least, most, step, value
const SLIDERS = [
  ["temperature", "temperature", 0, 2, 0.05, 0.8],
  ["topK", "top k", 0, 200, 1, 40],
  ["topP", "top p", 0.05, 1, 0.01, 0.95],
  ["minP", "min p", 0, 0.5, 0.01, 0.05],
  ["repetitionPenalty", "repetition penalty", 1, 2, 0.05, 1],
  ["seed", "seed", 0, 100, 1, 0],
  ["maxTokens", "tokens", 1, 240, 1, 100],
];
const GRAMMARS = {
  REGEX: "[A-Z][a-z]+ was born on [1-3]?[0-9] (May|June|July) 18[0-9]{2}\\.",
  GBNF: 'root ::= " there " ("was" | "were") " " word (", " word){2} "."\nword ::= [a-z]{3,9}',
  JSON_SCHEMA: JSON.stringify({
    type: "object",
    properties: { name: { enum: ["Anne", "Emma", "Jane"] }, age: { type: "integer", minimum: 18, maximum: 99 } },
    required: ["name", "age"],
    additionalProperties: false,
  }, null, 1),
};

for (const [name, label, min, max, step, value] of SLIDERS) {
  const row = document.createElement("label");
  row.className = "slider";
  const shown = document.createElement("output");
  const input = Object.assign(document.createElement("input"), { type: "range", id: name, min, max, step, value });
  const show = () => (shown.textContent = input.value);
  input.addEventListener("input", show);
  show();
  row.append(label, shown, input);
  $("sliders").append(row);
}

$("language").addEventListener("change", () => {
  const language = $("language").value;
  $("grammar").hidden = language === "";
  $("grammar").value = GRAMMARS[language] ?? "";
});

function showStatus(text, isWrong = false) {
  $("status").textContent = text;
  $("status").classList.toggle("wrong", isWrong);
}

let model = null;
let session = null;
let running = null;
let texts = new Map(); // the texts of tokens, as promises

function setRunning(isRunning) {
  $("run").disabled = isRunning || !session;
  $("stop").disabled = !isRunning;
}

/** Writes text with visible spaces and line ends. */
const visible = (text) => text.replaceAll("\n", "\u21b5").replaceAll(" ", "\u00b7");

function textOf(token) {
  if (!texts.has(token)) texts.set(token, model.tokenBytes(token).then((bytes) => new TextDecoder().decode(bytes)));
  return texts.get(token);
}

async function showBars(piece, element) {
  document.querySelector(".token.shown")?.classList.remove("shown");
  element.classList.add("shown");
  const chosen = piece.token < 0 ? "" : await textOf(piece.token);
  const alternatives = await Promise.all(piece.alternatives.map(async ({ token, logProbability }) =>
    ({ text: await textOf(token), probability: Math.exp(logProbability), isChosen: token === piece.token })));
  if (!element.matches(".shown")) return;
  $("bars").replaceChildren(...alternatives.map(({ text, probability, isChosen }) => {
    const row = document.createElement("li");
    row.className = isChosen ? "chosen" : "";
    row.style.setProperty("--p", probability);
    const name = document.createElement("code");
    name.textContent = visible(text);
    const bar = document.createElement("div");
    bar.append(Object.assign(document.createElement("div"), { className: "bar" }));
    const percent = document.createElement("span");
    percent.textContent = `${(100 * probability).toFixed(1)} %`;
    row.append(name, bar, percent);
    return row;
  }));
  const isListed = alternatives.some(({ isChosen }) => isChosen);
  $("caption").textContent = `The most likely tokens, and \u201c${visible(chosen)}\u201d, which was drawn with \
${(100 * Math.exp(piece.logProbability)).toFixed(1)} %${isListed ? "" : " and is not among them"}`;
}

const speed = (tokens, ns) => (ns > 0 ? `${Math.round((1e9 * tokens) / ns).toLocaleString("en")} tokens/s` : "none");

async function openModel(source) {
  $("loading").hidden = false;
  model?.close();
  model = session = null;
  texts = new Map();
  setRunning(false);
  model = await Model.open(source, { onProgress: (bytes, size) => ($("loading").value = bytes / size) });
  session = await model.session({ contextTokens: CONTEXT_TOKENS });
  const { layerCount, embeddingSize, parameterCount } = await model.info;
  $("model").textContent = `${(parameterCount / 1e6).toFixed(1)} M parameters, ${layerCount} layers of ${embeddingSize}, \
${await model.isa}, ${((await model.totalBytes) / 2 ** 20).toFixed(0)} MiB of memory`;
}

function append(piece) {
  const element = document.createElement("span");
  element.className = "token";
  element.textContent = piece.text;
  // Tells small probabilities apart.
  element.style.setProperty("--hue", 150 * Math.sqrt(Math.exp(piece.logProbability)));
  $("text").append(element);
  if (piece.alternatives.length === 0) return;
  element.addEventListener("mouseenter", () => showBars(piece, element));
  showBars(piece, element);
}

async function generate({ prompt, sampler, language, grammar, maxTokens }) {
  running = new AbortController();
  const { signal } = running;
  await session.reset();
  await session.setSampler({ ...sampler, logProbabilities: true, alternativeCount: ALTERNATIVES });
  const compiled = language ? await Grammar.compile(model, grammar, { language: GrammarLanguage[language] }) : null;
  await session.setGrammar(compiled);
  await compiled?.close();
  await session.resetTimings();
  let stop = "stopped";
  try {
    for await (const piece of session.pieces(prompt, { maxTokens, signal })) append(piece);
    const info = await session.info;
    stop = Object.keys(Status).find((name) => Status[name] === info.stop);
  } catch (failure) {
    if (!signal.aborted) throw failure;
  }
  const { prefillTokens, prefillNs, decodeTokens, decodeNs } = await session.timings;
  showStatus(`Ended with ${stop}. Prompt: ${speed(prefillTokens, prefillNs)}; text: ${speed(decodeTokens, decodeNs)}`);
}

/** Runs an action of the page, and shows its failure. The page has one at a time. */
async function attempt(action) {
  $("file").disabled = true;
  try {
    await action();
  } catch (failure) {
    showStatus(failure.message, true);
  }
  $("file").disabled = false;
  $("loading").hidden = true;
  setRunning(false);
}

$("file").addEventListener("change", () => {
  if ($("file").files.length > 0) attempt(() => openModel($("file").files[0]));
});
$("stop").addEventListener("click", () => running.abort());
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const { maxTokens, ...sampler } = Object.fromEntries(SLIDERS.map(([name]) => [name, Number($(name).value)]));
  const prompt = $("prompt").value;
  const shown = Object.assign(document.createElement("span"), { className: "prompt", textContent: prompt });
  $("text").replaceChildren(shown);
  $("bars").replaceChildren();
  showStatus("");
  setRunning(true);
  attempt(() => generate({ prompt, sampler, maxTokens, language: $("language").value, grammar: $("grammar").value }));
});

attempt(() => openModel(new URLSearchParams(location.search).get("model") ?? "demo.sotto"));
