"""Tests the pictures of --svg: an XML parser reads them, and they show the values of --json."""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"


def expect(condition, what):
    if not condition:
        raise SystemExit(what)


def near(a, b, tolerance):
    return abs(a - b) <= tolerance


def drawn(program, model, command, picture):
    """Returns the picture and the JSON of a run."""
    done = subprocess.run([program, command[0], "-m", model, *command[1:], "--json", "--seed", "1", "--svg", picture],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0 and done.stderr == "", f"{command}: ended with {done.returncode} and {done.stderr}")
    root = xml.parse(picture).getroot()
    expect(root.tag == f"{SVG}svg" and root.find(f"{SVG}title").text, f"{command}: no title")
    expect("prefers-color-scheme:dark" in root.find(f"{SVG}style").text, f"{command}: no colours for dark pages")
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for name, size in (("x", width), ("y", height)):
            expect(0 <= float(element.get(name, 0)) <= size, f"{command}: {xml.tostring(element)} is outside")
    return root, json.loads(done.stdout)


def check_bars(program, model, picture):
    root, result = drawn(program, model, ["next", "-p", 'He said: "A & B <', "--top", "5"], picture)
    bars = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect") if bar.get("class") == "bar"]
    top = result["positions"][0]["top"]
    values = [token["probability"] for token in top] + [token["sampled_probability"] for token in top]
    expect(len(bars) == len(values), f"{len(bars)} bars")
    for bar, value in zip(bars, values):
        expect(near(bar, max(100 * value / max(values), 1), 0.06), f"a bar of {bar} shows {value} of {max(values)}")
    texts = "".join(root.itertext())
    expect(r'What may follow "He said: \"A & B <"' in texts, f"the heading is missing: {texts}")


def check_text(program, model, picture):
    text = "It was <b>dark</b> & \"cold\".\nThe sea's edge"
    root, result = drawn(program, model, ["next", "-p", text, "--all"], picture)
    parts = root.findall(f"{SVG}g")
    shown = "".join(part.find(f"{SVG}text").text for part in parts)
    expect(shown == text.replace("\n", "\\n"), f"the text is {shown!r}")
    expect(len(parts) == len(result["tokens"]), f"{len(parts)} parts")
    rows = {part.find(f"{SVG}rect").get("y") for part in parts}
    expect(len(rows) == 2, f"{len(rows)} lines")
    for part, position in zip(parts[1:], result["positions"]):
        heat = float(part.find(f"{SVG}rect").get("fill-opacity")) / 0.7
        log_probability = position["next"]["log_probability"]
        expect(near(heat, min(-log_probability / 10, 1), 2e-3), f"{heat} shows ln p {log_probability}")
        expect(f"p {math.exp(log_probability):.4f}, rank" in part.find(f"{SVG}title").text, "a hint lacks p")


def check_bytes(program, model, picture):
    """All bytes are tokens, also those that are not UTF-8 or not allowed in XML."""
    root, _ = drawn(program, model, ["next", "--all", "--ids", *map(str, range(300))], picture)
    shown = "".join(text.text for text in root.iter(f"{SVG}text"))
    for part in ("\\x00", "\\x1b", "\\xff", "<", "&", "\""):
        expect(part in shown, f"{part!r} is missing")


def check_curves(program, model, picture):
    root, result = drawn(program, model, ["explore", "-p", "It was", "--samples", "0", "--temps", "0.5,1,2"], picture)
    lines = []
    for line in root.iter(f"{SVG}polyline"):
        points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        if len(points) > 2:
            lines.append(points)
    expect(len(lines) == 7, f"{len(lines)} curves")
    settings = {setting["setting"]: setting for setting in result["settings"]}

    def height(line, temperature):
        return line[0][1] - line[round(temperature / 0.05) - 1][1]

    def ratio(value):  # of two temperatures; the curves begin where the entropy is nearly 0
        return value(settings["--temp 0.5"]) / value(settings["--temp 2"])

    entropies = height(lines[0], 0.5) / height(lines[0], 2)
    expect(near(entropies, ratio(lambda setting: setting["entropy"]), 0.01), f"entropies: {entropies}")
    sizes = height(lines[1], 0.5) / height(lines[1], 2)
    expect(near(sizes, ratio(lambda setting: math.log(setting["effective_vocabulary"])), 0.01), f"sizes: {sizes}")
    # The most likely token has p 1 at the lowest temperature.
    likeliest = [settings["--temp 1"]["top"][i]["probability"] for i in (0, 1)]
    bottom = max(y for line in lines[2:] for _, y in line)
    heights = [bottom - lines[2 + i][19][1] for i in (0, 1)]
    expect(near(heights[1] / heights[0], likeliest[1] / likeliest[0], 0.05), f"probabilities: {heights}")


def check_comparison(program, model, picture):
    root, result = drawn(program, model, ["compare", "-p", "It was", "-n", "12", "--with", "greedy", "--with", "--temp 2"],
                         picture)
    bars = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect") if bar.get("class") == "bar"]
    expect(len(bars) == 12, f"{len(bars)} bars")
    expect("--temp 2" in "".join(root.itertext()), "the strategy is missing")
    for panel, name in ((0, "unique_tokens"), (2, "entropy"), (3, "divergence"), (4, "log_probability")):
        values = [abs(strategy[name]) for strategy in result["strategies"]]
        for bar, value in zip(bars[2 * panel:], values):
            expect(near(bar, max(100 * value / max(values), 1), 0.06), f"{name}: a bar of {bar} shows {value} of {values}")


def check_failure(program, model):
    done = subprocess.run([program, "next", "-m", model, "-p", "x", "--svg", "missing/a.svg"], capture_output=True,
                          text=True, check=False)
    expect(done.returncode == 1 and "missing/a.svg" in done.stderr, f"{done.returncode}: {done.stderr}")


def main():
    program, model = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        picture = str(pathlib.Path(folder) / "picture.svg")
        for check in (check_bars, check_text, check_bytes, check_curves, check_comparison):
            check(program, model, picture)
    check_failure(program, model)


main()
