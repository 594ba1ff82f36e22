"""Checks that a stripped shared library does not exceed a size in bytes: `check_size.py STRIP LIBRARY MOST`."""
import pathlib
import subprocess
import sys
import tempfile


def main():
    strip, library, most = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        stripped = pathlib.Path(directory) / "stripped.so"
        subprocess.run([strip, "-o", stripped, library], check=True)
        size = stripped.stat().st_size
    print(f"{size} bytes stripped, at most {most} wanted")
    return 0 if size <= int(most) else 1


if __name__ == "__main__":
    sys.exit(main())
