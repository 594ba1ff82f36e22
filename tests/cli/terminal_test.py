"""Tests the program sotto on a pseudo terminal: Ctrl-D at the start of a line ends a text, the program says that it
waits for input, it shows its progress in a long prompt, tables fit the terminal, searches show their sequences while
they grow, and in a conversation Ctrl-C stops only the reply."""
import argparse
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios

CTRL_C = b"\x03"
CTRL_D = b"\x04"
LEFT = b"\x1b[D"
UP = b"\x1b[A"


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


def shown_in(columns, command, **environment):
    """Returns what a command prints on a terminal of this width."""
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(command[0], command, environment)
    text = b""
    try:
        while part := os.read(terminal, 4096):
            text += part
    except OSError:  # Linux reports the end of the other side as an error
        pass
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    expect(code == 0, f"{command}: ended with {code} and {text!r}")
    return text.decode()


def check_tables(program, model):
    for command, bar_columns in ((["next"], 60), (["next", "--all"], 1000), (["next", "--by-stage"], 60),
                                 (["explore", "-n", "4", "--seed", "1"], 100),
                                 (["compare", "-n", "4", "--with", "greedy", "--with", "beams"], 1000)):
        for columns in (20, 60, 100):
            words = [program, *command, *model, "-p", "It was a dark night, and the sea was \u65e5\u672c."]
            text = shown_by_search(columns, words)
            plain = re.sub(r"\x1b\[[01]m", "", text)
            lines = [line for line in plain.split("\r\n") if not line.startswith(("after", "the seed"))]
            widths = [len(line) + len(re.findall("[\u3040-\u9fff]", line)) for line in lines]
            expect(max(widths) <= columns, f"{words}: a line has {max(widths)} of {columns} columns")
            has_bars = "\u2588" in text
            expect(has_bars == (columns >= bar_columns), f"{words} in {columns} columns: {text}")
            expect(text != plain, f"{words}: no bold heading")
            expect("\x1b" not in shown_by_search(columns, words, NO_COLOR="1"), f"{words}: colours although NO_COLOR is set")


def screen(text):
    """Returns the lines that a terminal finally shows, and the number of columns of the widest line on the way."""
    lines, row, widest = [""], 0, 0
    for part in re.findall(r"\x1b\[\d*[A-Za-z]|\r?\n|\r|[^\x1b\r\n]+", text):
        if part.endswith("A") and part[0] == "\x1b":
            row -= int(part[2:-1])
        elif part == "\x1b[J":
            lines[row:] = [""]
        elif part.endswith("\n"):
            row += 1
            if row == len(lines):
                lines.append("")
        elif part != "\r" and part[0] != "\x1b":
            lines[row] += part
            widest = max(widest, len(lines[row]) + len(re.findall("[\u3040-\u9fff]", lines[row])))
    return lines, widest


def shown_by_search(columns, command, **environment):
    """Returns what a command prints, without the line that reports the progress of a slow command and is erased."""
    return re.sub(r"\r(?:searching: [^\r]*)?\x1b\[K", "", shown_in(columns, command, **environment))


def check_beams(program, model):
    """Searches show their sequences while they grow, and erase them at the end."""
    prompt = ["generate", *model, "-q", "-n", "60", "-p"]
    for search in (["--num-beams", "5", "--n", "2"], ["--best-of", "3", "--seed", "1"], ["--penalty-alpha", "0.6"]):
        words = [program, *prompt, "It was", *search]
        expected = shown_by_search(40, words, TERM="dumb")
        expect("step" not in expected, f"{words}: a view on a terminal that cannot move its cursor: {expected!r}")
        expect(shown_by_search(40, words) == expected, f"{words}: a view on an unknown terminal")
        for columns in (12, 40, 100):
            text = shown_by_search(columns, words, TERM="xterm", NO_COLOR="1")
            expect("step 1 of 60" in text or columns < 14, f"{words} in {columns} columns: {text!r}")
            expect(not re.search(r"\x1b\[\d*m", text), f"{words}: colours although NO_COLOR is set: {text!r}")
            expect(text.count("\x1b[J") > 0, f"{words}: nothing is erased: {text!r}")
            lines, _ = screen(text)
            plain, _ = screen(shown_by_search(columns, words, NO_COLOR="1"))
            expect(lines == plain, f"{words}: the terminal shows {lines} instead of {plain}")
            _, widest = screen(text[:text.rindex("\x1b[J")])
            expect(widest < columns, f"{words}: a line of the view has {widest} of {columns} columns")
        expect("step" not in shown_by_search(40, [*words, "--json"], TERM="xterm"), f"{words}: a view with --json")
        piped = subprocess.run(words, capture_output=True, env={"TERM": "xterm"}, text=True, check=True)
        expect(piped.stderr == "" and "\x1b" not in piped.stdout, f"{words}: a view in a pipe")
    words = [program, *prompt, "It was", "--n", "3", "--seed", "1"]
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True)
    texts = {sequence["index"] + 1: sequence["text"] for sequence in json.loads(done.stdout)["sequences"]}
    frames = re.findall(r"step (\d+) of 60\r\n((?: +\d .*\r\n)+)", shown_by_search(300, words, TERM="xterm"))
    expect(frames and frames[0][0] == "1", f"frames: {frames}")
    for _, lines in frames:
        for number, line in re.findall(r" (\d) (.*)\r\n", lines):
            expect(texts[int(number)].replace("\n", "\\n").startswith(line), f"{line!r} does not begin any of {texts}")


class Conversation:
    """`sotto chat` on a terminal of its own."""

    def __init__(self, program, arguments, **environment):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execve(program, [program, "chat", *arguments], {**os.environ, **environment})
        self.shown = b""

    def wait_for(self, pattern):
        """Returns what is shown up to the pattern, since the last call."""
        while not (match := re.search(pattern, self.shown)):
            if not select.select([self.terminal], [], [], 60)[0]:
                os.kill(self.process, signal.SIGKILL)
                raise SystemExit(f"chat: no {pattern!r} after {self.shown!r}")
            try:
                self.shown += os.read(self.terminal, 4096)
            except OSError:  # it has ended
                raise SystemExit(f"chat: ended without {pattern!r} after {self.shown!r}") from None
        text, self.shown = self.shown[:match.end()], self.shown[match.end():]
        return text

    def type(self, keys):
        os.write(self.terminal, keys)

    def end(self):
        """Returns the exit code."""
        try:
            while os.read(self.terminal, 4096):
                pass
        except OSError:  # Linux reports the end of the other side as an error
            pass
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def check_conversation(program, model):
    chat = Conversation(program, [*model, "--ignore-eos", "--overflow", "ring"], NO_COLOR="1", TERM="dumb")
    start = chat.wait_for(rb"> ")
    expect(b"/help" in start and b"\x1b" not in start, f"chat began with {start!r}")
    chat.type(b"Tell a long story.\n")
    chat.wait_for(rb"story\.\r\n")
    chat.wait_for(rb"\w+ \w+")  # the reply, which would not end
    chat.type(CTRL_C)
    chat.wait_for(rb"stopped by cancelled")
    chat.wait_for(rb"> ")
    chat.type(b"/stats\n")
    chat.wait_for(rb"messages 2,")
    chat.wait_for(rb"> ")
    chat.type(CTRL_D)
    expect(chat.end() == 0, "chat: Ctrl-D is no success")
    chat = Conversation(program, model, TERM="xterm")
    coloured = chat.wait_for(rb"> ?\x1b\[0m")
    expect(b"\x1b[1m>" in coloured, f"chat began with {coloured!r}")
    chat.type(CTRL_C)
    expect(chat.end() == -signal.SIGINT, "chat: Ctrl-C at the prompt does not end the program")


def check_line_editing(program, model):
    """Cursor keys, the line before, Tab, and characters outside of ASCII in any locale: what libedit gives."""
    chat = Conversation(program, model, TERM="xterm", LC_ALL="C")
    for keys, shown in ((b"/stts" + LEFT * 2 + b"a\n", "messages 0,"), (UP + b"\n", "messages 0,"),
                        (b"/sav\t\n", "/save needs an argument"), ("/ä\n".encode(), '"/ä" is not a command')):
        chat.wait_for(rb">\x1b\[0m ")
        chat.type(keys)
        chat.wait_for(re.escape(shown.encode()))
    chat.wait_for(rb">\x1b\[0m ")
    chat.type(CTRL_D)
    expect(chat.end() == 0, "chat: Ctrl-D is no success")


def check_closed_pipe(program, model):
    with subprocess.Popen([program, "chat", *model, "-n", "4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdin.write(b"Hello\n")
        process.stdin.close()
        code = process.wait(timeout=60)
        expect(code == -signal.SIGPIPE, f"chat: ended with {code} on a closed pipe")


def expect(condition, what):
    if not condition:
        raise SystemExit(what)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--edits-lines", action="store_true", help="the program is built with libedit")
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
    check_tables(args.program, model)
    check_beams(args.program, model)
    check_conversation(args.program, model)
    if args.edits_lines:
        check_line_editing(args.program, model)
    check_closed_pipe(args.program, model)
    expect(re.search(r"standard input: [\d,]+ of [\d,]+ tokens", shown), f"generate showed {shown!r}")


main()
