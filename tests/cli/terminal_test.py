"""Tests the program sotto on a pseudo terminal: Ctrl-D at the start of a line ends a text, the program says that it
waits for input, and it shows its progress in a long prompt."""
import argparse
import os
import pty
import re
import subprocess
import tempfile

CTRL_D = b"\x04"


def typed(program, arguments, line="hello there"):
    """Runs a command whose standard input is a terminal, types a line and Ctrl-D, and returns what it prints."""
    terminal, standard_input = pty.openpty()
    with subprocess.Popen([program, *arguments], stdin=standard_input, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        os.close(standard_input)
        os.write(terminal, line.encode() + b"\n" + CTRL_D)
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise SystemExit(f"{arguments}: still reading after one Ctrl-D") from None
        finally:
            os.close(terminal)
    if process.returncode != 0 or "Ctrl-D" not in err:
        raise SystemExit(f"{arguments}: ended with {process.returncode} and {err!r}")
    return out


def progress(program, arguments):
    """Runs a command with a prompt of a million tokens, and returns what it first shows on standard error."""
    terminal, standard_error = pty.openpty()
    with tempfile.TemporaryFile() as prompt:
        prompt.write(b"word " * 1_000_000)
        prompt.seek(0)
        with subprocess.Popen([program, *arguments], stdin=prompt, stdout=subprocess.DEVNULL,
                              stderr=standard_error) as process:
            os.close(standard_error)
            try:
                return os.read(terminal, 1000).decode()
            except OSError:  # it has ended
                return ""
            finally:
                process.kill()
                os.close(terminal)


def expect(condition, what):
    if not condition:
        raise SystemExit(what)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("model")
    args = parser.parse_args()
    model = ["-m", args.model]
    tokens = typed(args.program, ["tokenize", *model])
    decoded = subprocess.run([args.program, "tokenize", *model, "--decode"], input=tokens, capture_output=True, text=True,
                             check=True).stdout
    expect(decoded == "hello there\n", f"tokenize read {decoded!r}")
    text = typed(args.program, ["generate", *model, "-p", "-", "-n", "2", "-q"])
    expect(text.startswith("hello there"), f"generate printed {text!r}")
    kept = typed(args.program, ["sample"], '{"probs":[1]}')
    expect(kept == '{"kept":{"0":1.0}}\n', f"sample printed {kept!r}")
    shown = progress(args.program, ["generate", *model, "-p", "-", "--overflow", "ring", "-q"])
    expect(re.search(r"standard input: [\d,]+ of [\d,]+ tokens", shown), f"generate showed {shown!r}")


main()
