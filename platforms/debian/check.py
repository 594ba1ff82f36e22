"""Checks the packages that build.py has made: `check.py DIRECTORY`. Needs root, for chroot.

Runs lintian, whose errors and warnings are failures, unpacks the packages on top of the machine's own files in a new
mount namespace, and runs the tests of debian/tests there, as autopkgtest would.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Shows the machine's own files at $1, with the packages $2 unpacked over them, and runs the script $3 there.
IN_OVERLAY = """
mount -t tmpfs tmpfs "$1"
mkdir "$1/changes" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" "$1/root"
mount -t tmpfs tmpfs "$1/root/tmp"
mount --rbind /dev "$1/root/dev"
for package in $2; do dpkg-deb --extract "$package" "$1/root"; done
cp "$3" "$1/root/srv/test"
chroot "$1/root" ldconfig
chroot "$1/root" sh /srv/test
"""


def run(*command):
    start = time.monotonic()
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}\n{done.stdout}")
    return done.stdout, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", type=pathlib.Path, help="the output of build.py")
    packages = parser.parse_args().packages.resolve()
    [source] = packages.glob("*.dsc")
    shown, seconds = run("lintian", "--fail-on", "error,warning", "--allow-root", source, *sorted(packages.glob("*.deb")))
    print(f"lintian: {shown.strip() or 'nothing to report'} ({seconds:.1f} s)")
    debs = [path for path in packages.glob("*.deb") if "-dbgsym_" not in path.name]
    tests = ROOT / "platforms/debian/debian/tests"
    for name in re.findall(r"^Tests: (\w+)$", (tests / "control").read_text(), re.M):
        with tempfile.TemporaryDirectory() as directory:
            shown, seconds = run("unshare", "-m", "sh", "-euc", IN_OVERLAY, "sh", directory, " ".join(map(str, debs)),
                                 tests / name)
        print(f"{name}: {shown.strip()} ({seconds:.1f} s)")


if __name__ == "__main__":
    main()
