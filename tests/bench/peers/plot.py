"""Draws what `sotto-bench --peers DIRECTORY --json` printed for weights of 8 and of 4 bits: speed compared with the limit
of 8 bits and with the peers, which both runs measure. The bars of the peers are those of the run with 8 bits.

    pip install matplotlib
    python3 tests/bench/peers/plot.py int8.json int4.json figures.svg
"""
import argparse
import json
import pathlib

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "sotto"  # the same bytes for the same figures
matplotlib.rcParams["svg.fonttype"] = "none"
import matplotlib.pyplot as plt

# Other peers of the reports are not drawn.
COLORS = {"Sotto int8": "#1b6ca8", "llama.cpp Q8_0": "#d9a441", "CTranslate2 int8": "#8d99ae",
          "Sotto int4": "#7fb3d9", "llama.cpp Q4_0": "#e8cf9a"}
PANELS = (("decode", "context", "Decode: tokens per second by context"),
          ("prefill", "prompt_tokens", "Prefill: tokens per second by length of the prompt"))


def collect(report, program, name, key):
    """{context or length: {program: [median, min, max]}} and the limits' medians, of a run of the given Sotto."""
    speeds, limits = {}, {}
    for figure in report["figures"]:
        if figure["name"] != name or figure["parameters"]["threads"] != report["settings"]["threads"]:
            continue
        place = speeds.setdefault(figure["parameters"][key], {})
        if figure.get("peer"):
            place[figure["peer"]["name"]] = [figure["peer"][part] for part in ("median", "min", "max")]
        else:
            place[program] = [figure[part] for part in ("median", "min", "max")]
            limits[figure["parameters"][key]] = figure["limit"]["median"]
    return speeds, limits


def draw(axes, int8_report, int4_report, name, key, title):
    speeds, limits = collect(int8_report, "Sotto int8", name, key)
    for length, programs in collect(int4_report, "Sotto int4", name, key)[0].items():
        speeds[length]["Sotto int4"] = programs["Sotto int4"]
    measured = [program for program in COLORS if any(program in programs for programs in speeds.values())]
    width = 0.8 / len(measured)
    for place, (length, programs) in enumerate(sorted(speeds.items())):
        for index, program in enumerate(measured):
            if program not in programs:
                continue
            median, least, most = programs[program]
            x = place + (index - (len(measured) - 1) / 2) * width
            is_new = program not in axes.get_legend_handles_labels()[1]
            axes.bar(x, median, width * 0.92, color=COLORS[program], label=program if is_new else None,
                     yerr=[[median - least], [most - median]], error_kw={"elinewidth": 0.8, "ecolor": "#444444"})
            axes.text(x, most, f" {median:.0f}", ha="center", va="bottom", fontsize=7)
        axes.plot([place - 0.45, place + 0.45], [limits[length]] * 2, "--", color="#b23a48", linewidth=1,
                  label="limit of int8" if place == 0 else None)
    highest = max(programs[program][2] for programs in speeds.values() for program in measured)
    if min(limits.values()) > 2 * highest:  # no bar is near the limit: print it as text
        axes.set_ylim(0, 1.15 * highest)
        axes.text(0.99, 1.0, f"limit of int8: {min(limits.values()):.0f}", transform=axes.transAxes,
                  ha="right", va="top", fontsize=7, color="#b23a48")
    axes.set_xticks(range(len(speeds)), [str(length) for length in sorted(speeds)])
    axes.set_title(title, fontsize=9, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("int8_report", type=pathlib.Path, help="output of sotto-bench --peers ... --json")
    parser.add_argument("int4_report", type=pathlib.Path, help="the same with -m and the model with weights of 4 bits")
    parser.add_argument("picture", type=pathlib.Path, help="the .svg file to write")
    args = parser.parse_args()
    report, int4_report = json.loads(args.int8_report.read_text()), json.loads(args.int4_report.read_text())
    differing = [f"{part}.{key}" for part in ("machine", "settings") for key, value in report[part].items()
                 if key != "load_average" and int4_report[part].get(key) != value]
    if differing:
        parser.error(f"the reports have different values of {', '.join(differing)}")
    figure, panels = plt.subplots(1, len(PANELS), figsize=(10, 3.6))
    for axes, (name, key, title) in zip(panels, PANELS):
        draw(axes, report, int4_report, name, key, title)
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, frameon=False, loc="lower center", ncols=7)
    threads = report["settings"]["threads"]
    figure.suptitle(f"GPT-2 124M, {report['machine']['cpu']}, {report['settings']['isa']}, {threads} thread"
                    f"{'s' if threads > 1 else ''}; medians of {report['settings']['runs']} interleaved rounds, "
                    "lines from least to most", fontsize=8)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(args.picture, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})


if __name__ == "__main__":
    main()
