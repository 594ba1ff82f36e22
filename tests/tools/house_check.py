"""Checks the source tree against the rules of house_rules.py: `house_check.py ROOT`."""
import pathlib
import shutil
import subprocess
import sys

import house_rules

NOT_SOURCE = {"build", ".git"}


def tracked_files(root):
    """Lists the files that git tracks or, without git, everything except build output."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True) \
        if (root / ".git").exists() and shutil.which("git") else None
    if listed is not None and listed.returncode == 0:
        paths = [path for path in listed.stdout.split("\0") if path]
    else:
        paths = [str(path.relative_to(root)) for path in root.rglob("*")
                 if path.is_file() and not NOT_SOURCE & set(path.relative_to(root).parts)]
    return [path for path in paths if (root / path).is_file()]


def main():
    root = pathlib.Path(sys.argv[1])
    tree = house_rules.Tree.read(root, tracked_files(root))
    count = 0
    for rule in house_rules.RULES:
        for message in rule(tree):
            count += 1
            print(f"{rule.__name__}: {message}")
    print(f"{len(tree.files)} files, {len(house_rules.RULES)} rules, {count} offences")
    return 1 if count or not tree.files else 0


if __name__ == "__main__":
    sys.exit(main())
