"""Builds the Debian packages of the last commit: `build.py OUTPUT`. README.md in this directory lists them."""
import argparse
import email.utils
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout


def symbols(names, version):
    """Returns the symbols file: every function has the version of the library's ABI, which grows with each release."""
    lines = ["libsotto.so.1 libsotto1 #MINVER#", f" SOTTO_1@SOTTO_1 {version}"]
    return "\n".join([*lines, *(f" {name}@SOTTO_1 {version}" for name in names)]) + "\n"


def make_source(directory):
    """Writes the source package's tree and upstream archive. Returns the tree."""
    version = (ROOT / "capi/VERSION").read_text().strip()
    seconds = int(output_of("git", "log", "-1", "--format=%ct"))
    tree = directory / f"sotto-{version}"
    archive = output_of("git", "archive", f"--prefix={tree.name}/", "HEAD")
    (directory / f"sotto_{version}.orig.tar.gz").write_bytes(gzip.compress(archive, mtime=0))
    subprocess.run(["tar", "-x", "-C", directory], input=archive, check=True)
    shutil.copytree(tree / "platforms/debian/debian", tree / "debian")
    names = [line for line in (tree / "capi/symbols.txt").read_text().splitlines() if line and not line.startswith("#")]
    (tree / "debian/libsotto1.symbols").write_text(symbols(names, version))
    maintainer = next(line.split(": ", 1)[1] for line in (tree / "debian/control").read_text().splitlines()
                      if line.startswith("Maintainer:"))
    (tree / "debian/changelog").write_text(
        f"sotto ({version}-1) unstable; urgency=medium\n\n  * New upstream release.\n\n"
        f" -- {maintainer}  {email.utils.formatdate(seconds)}\n")
    return tree


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=pathlib.Path, help="a directory that does not exist or is empty")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    if any(args.output.iterdir()):
        raise SystemExit(f"{args.output} is not empty")
    with tempfile.TemporaryDirectory() as work:
        tree = make_source(pathlib.Path(work))
        environment = {name: value for name, value in os.environ.items() if not name.endswith("FLAGS")}
        done = subprocess.run(["dpkg-buildpackage", "-us", "-uc"], cwd=tree, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}\ndpkg-buildpackage ended with {done.returncode}")
        for path in pathlib.Path(work).iterdir():
            if path.suffix in (".deb", ".dsc") or ".tar." in path.name:  # not the files that contain the time
                shutil.copy(path, args.output)


if __name__ == "__main__":
    main()
