// The page: reads the form, sends it to the worker, and draws what comes back.
const $ = (id) => document.getElementById(id);
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });

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

let isReady = false;

function setRunning(isRunning) {
  $("run").disabled = isRunning || !isReady;
  $("stop").disabled = !isRunning;
}

/** Writes text with visible spaces and line ends. */
const visible = (text) => text.replaceAll("\n", "\u21b5").replaceAll(" ", "\u00b7");

function showBars(piece, element) {
  document.querySelector(".token.shown")?.classList.remove("shown");
  element.classList.add("shown");
  $("bars").replaceChildren(...piece.alternatives.map(({ text, probability, isChosen }) => {
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
  const isListed = piece.alternatives.some(({ isChosen }) => isChosen);
  $("caption").textContent = `The most likely tokens, and \u201c${visible(piece.chosen)}\u201d, which was drawn with \
${(100 * piece.probability).toFixed(1)} %${isListed ? "" : " and is not among them"}`;
}

const speed = (tokens, ns) => (ns > 0 ? `${Math.round((1e9 * tokens) / ns).toLocaleString("en")} tokens/s` : "none");

const on = {
  progress: ({ value }) => ($("loading").value = value),
  ready: ({ layerCount, embeddingSize, parameterCount, isa, bytes }) => {
    $("loading").hidden = isReady = true;
    $("model").textContent = `${(parameterCount / 1e6).toFixed(1)} M parameters, ${layerCount} layers of \
${embeddingSize}, ${isa}, ${(bytes / 2 ** 20).toFixed(0)} MiB of memory`;
    setRunning(false);
  },
  piece: (piece) => {
    const element = document.createElement("span");
    element.className = "token";
    element.textContent = piece.text;
    element.style.setProperty("--hue", 150 * Math.sqrt(piece.probability)); // tells small ones apart
    $("text").append(element);
    if (piece.alternatives.length === 0) return;
    element.addEventListener("mouseenter", () => showBars(piece, element));
    showBars(piece, element);
  },
  end: ({ stop, prefillTokens, prefillNs, decodeTokens, decodeNs }) => {
    setRunning(false);
    showStatus(`Ended with ${stop}. Prompt: ${speed(prefillTokens, prefillNs)}; text: ${speed(decodeTokens, decodeNs)}`);
  },
  failed: ({ message }) => {
    $("loading").hidden = true;
    setRunning(false);
    showStatus(message, true);
  },
};
worker.addEventListener("message", ({ data }) => on[data.type](data));
worker.addEventListener("error", ({ message }) => on.failed({ message }));

function openModel(source) {
  $("loading").hidden = isReady = false;
  setRunning(false);
  worker.postMessage({ type: "open", source });
}

$("file").addEventListener("change", () => {
  if ($("file").files.length > 0) openModel($("file").files[0]);
});
$("stop").addEventListener("click", () => worker.postMessage({ type: "stop" }));
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const { maxTokens, ...sampler } = Object.fromEntries(SLIDERS.map(([name]) => [name, Number($(name).value)]));
  const prompt = $("prompt").value;
  const shown = Object.assign(document.createElement("span"), { className: "prompt", textContent: prompt });
  $("text").replaceChildren(shown);
  $("bars").replaceChildren();
  showStatus("");
  setRunning(true);
  worker.postMessage({ type: "generate", prompt, sampler, maxTokens, language: $("language").value,
    grammar: $("grammar").value });
});

const model = new URLSearchParams(location.search).get("model") ?? "demo.sotto";
openModel(new URL(model, location.href).href);
