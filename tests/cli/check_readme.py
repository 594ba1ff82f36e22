"""Runs the commands in the READMEs of platforms/cli and in capi/GUIDE.md: each block ```console contains lines
"$ COMMAND" and what the commands print. They run in a new directory with a copy of the demo model, and with the program
sotto in the path. In the shown output, "..." stands for any text within a line, such as a speed."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def commands_of(readme):
    for block in re.findall(r"^```console\n(.*?)^```$", readme.read_text(encoding="utf-8"), flags=re.M | re.S):
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.M):
            yield command, shown


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("source", type=pathlib.Path)
    args = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(args.source / "platforms/models/demo.sotto", folder)
        environment = {**os.environ, "SOTTO_CONFIG": "", "SOTTO_MODEL": "", "PATH": f"{args.program.parent}{os.pathsep}{os.environ['PATH']}"}
        for readme in [*sorted((args.source / "platforms/cli").rglob("README.md")), args.source / "capi/GUIDE.md"]:
            for command, shown in commands_of(readme):
                done = subprocess.run(["sh", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True,
                                      check=False)
                pattern = ".*".join(re.escape(part) for part in shown.split("..."))
                if done.returncode != 0 or not re.fullmatch(pattern, done.stdout):
                    sys.exit(f"{readme}: {command}\nended with {done.returncode} and printed\n{done.stdout}{done.stderr}"
                             f"but the README shows\n{shown}")
                count += 1
    if count == 0:
        sys.exit("no commands found")
    print(f"{count} commands print what the READMEs show")


main()
