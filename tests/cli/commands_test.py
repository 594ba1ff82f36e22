"""Runs every command of `sotto help` as people and scripts do: help, wrong usage, pipes that close, no terminal, a
narrow terminal, Ctrl-C, and bytes that are not UTF-8. A new command is tested without an entry in ARGUMENTS; with one,
it must also succeed."""
import argparse
import concurrent.futures
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

CTRL_C = b"\x03"
NOT_UTF8 = b"\xff\xfe\x80caf\xe9 \xed\xa0\x80 \x1b[31m"
SECONDS = 60
# Arguments that let a command succeed. MODEL and FOLDER are replaced.
ARGUMENTS = {
    "generate": "-m MODEL -p It -n 2",
    "chat": "-m MODEL -n 2",
    "tokenize": "-m MODEL It",
    "inspect": "MODEL",
    "list": "FOLDER/.",
    "plan": "MODEL",
    "sample": "--jsonl FOLDER/logits.jsonl",
    "next": "-m MODEL -p It",
    "explore": "-m MODEL -p It --samples 0",
    "compare": "-m MODEL -p It -n 2 --with greedy --with --mirostat=2",
    "score": "-m MODEL Once",
    "embed": "-m MODEL It",
    "detect": "-m MODEL Once,upon,a,time",
    "grammar check": "--regex a+ --test aa",
    "grammar mask": "--regex a+ -m MODEL",
    "grammar compile": "--regex a+ -o FOLDER/grammar",
    "eval perplexity": "-m MODEL FOLDER/texts.jsonl",
    "eval answers": "-m MODEL FOLDER/answers.jsonl",
    "eval choices": "-m MODEL FOLDER/choices.jsonl",
    "eval preferences": "FOLDER/rewards.jsonl",
    "eval kl": "-m MODEL --reference MODEL -f FOLDER/text",
    "eval bleu": "FOLDER/compared.jsonl",
    "eval rouge": "FOLDER/compared.jsonl",
    "sign": "MODEL --key FOLDER/key -o FOLDER/signature",
    "help": "generate",
    "completion": "bash",
}
FILES = {
    "logits.jsonl": '{"probs":[0.5,0.5]}\n',
    "text": "It was",
    "texts.jsonl": '{"text":"It was"}\n',
    "answers.jsonl": '{"prompt":"It","answer":" was"}\n',
    "choices.jsonl": '{"prompt":"It","choices":[" was"," is"],"correct":0}\n',
    "rewards.jsonl": '{"chosen":2,"rejected":1}\n',
    "config.json": "{}",
    "key": "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
           "-----END PRIVATE KEY-----\n",
    "compared.jsonl": '{"hypothesis":"It was","references":["It is"]}\n',
}


# Commands of other programs, as their help texts name them.
OTHER_PROGRAMS = {
    "serve": "sotto-serve",
    "keygen": "sotto-signature keygen",
    "sign": "sotto-signature sign",
    "verify": "sotto-signature verify",
}


def expect(condition, what):
    if not condition:
        raise SystemExit(what)


class Commands:
    def __init__(self, args, folder):
        self.program, self.model, self.folder = args.program, args.model, folder
        self.not_built = [*([] if args.serves else [b"serve"]), *([] if args.signs else [b"keygen", b"sign", b"verify"])]
        self.paths = list(self.leaves([]))
        reader, self.closed_pipe = os.pipe()
        os.close(reader)  # before there are threads, whose new processes could keep it open

    def leaves(self, path):
        """The commands below a path, each as a list of words."""
        done = self.run(["help", *path])
        expect(done.returncode == 0, f"help {path}: {done}")
        commands = re.search(rb"^Commands:\n((?: .*\n)+)", done.stdout, flags=re.M)
        names = re.findall(rb"^  (\w[\w-]*) ", commands[1], flags=re.M) if commands else []
        for name in names:
            if name in self.not_built:
                continue
            yield from self.leaves([*path, name.decode()])
        if not names:
            yield path

    def run(self, words, **options):
        """Without a terminal, and without input."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.run([self.program, *words], timeout=SECONDS, start_new_session=True, check=False, **options)

    def on_terminal(self, words, keys=b"", after=b"", columns=80):
        """Types keys when the terminal shows the pattern `after`. Returns the exit code and what it shows."""
        process, terminal = pty.fork()
        if process == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execve(self.program, [self.program, *words], {**os.environ, "NO_COLOR": "1", "TERM": "dumb"})
        shown, end = b"", time.monotonic() + SECONDS
        while True:
            if keys and re.search(after, shown):
                os.write(terminal, keys)
                keys = b""
            if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
                os.kill(process, signal.SIGKILL)
                raise SystemExit(f"{words}: still running after {shown!r}")
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # it has ended
                break
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown

    def good_arguments(self, path):
        words = ARGUMENTS.get(" ".join(path))
        if words is None:
            return None
        return [str(self.folder / word[7:]) if word.startswith("FOLDER") else self.model if word == "MODEL" else word
                for word in words.split()]

    def least_arguments(self, path):
        """The model, if the command needs one. Commands that read a text or lines then wait for them."""
        has_model = b"-m, --model" in self.run([*path, "--help"]).stdout
        return [*(["-m", self.model] if has_model else []), *(["--port", "0"] if path == ["serve"] else [])]

    def check(self, path):
        self.check_help(path)
        self.check_wrong_usage(path)
        self.check_interrupt(path)
        if path != ["serve"]:  # it answers until Ctrl-C
            self.check_pipes(path)
            self.check_bytes(path)

    def check_help(self, path):
        whole = self.run([*path, "--help"])
        name = " ".join(path)
        usage = b"Usage: " + OTHER_PROGRAMS.get(name, f"sotto {name}").encode()
        expect(whole.returncode == 0 and usage in whole.stdout and not whole.stderr, f"{path} --help: {whole}")
        if name not in OTHER_PROGRAMS:
            expect(self.run(["help", *path]).stdout == whole.stdout, f"help {path} differs from --help")
        for columns in (20, 200):
            code, shown = self.on_terminal([*path, "--help"], columns=columns)
            expect((code, shown.replace(b"\r\n", b"\n")) == (0, whole.stdout), f"{path} --help on a terminal: {shown!r}")

    def check_wrong_usage(self, path):
        for words in (["--no-such-option"], ["--no-such-option=\n\x1b[31m"], [b"--\xff\xfe"]):
            done = self.run([*path, *words])
            expect(done.returncode == 2 and not done.stdout and b"Try: sotto" in done.stderr, f"{path} {words}: {done}")
            expect(done.stderr.startswith(b"sotto") and b"\x1b" not in done.stderr, f"{path} {words}: {done}")

    def check_interrupt(self, path):
        """A command that waits says how to end, and Ctrl-C ends it. Serve ends by itself."""
        words = [*path, *self.least_arguments(path)]
        waiting = rb"Ctrl-D|Ctrl-C stops|> "
        code, shown = self.on_terminal(words, keys=CTRL_C, after=waiting, columns=20)
        ends = (0,) if path == ["serve"] else (-signal.SIGINT,) if re.search(waiting, shown) else (0, 1, 2)
        expect(code in ends, f"{words} ended with {code} on Ctrl-C and showed {shown!r}")

    def check_pipes(self, path):
        words = self.good_arguments(path)
        done = self.run([*path, *(words if words is not None else self.least_arguments(path))])
        if words is None:
            expect(done.returncode in (0, 1, 2, 3), f"{path} without a terminal: {done}")
            expect(done.returncode == 0 or re.search(rb"sotto(-signature)?: ", done.stderr), f"{path} says nothing: {done}")
            return
        prints = path != ["chat"]  # which has nothing to answer
        expect(done.returncode == 0 and bool(done.stdout) == prints, f"{path} {words}: {done}")
        expect(b"\x1b" not in done.stdout + done.stderr, f"{path}: control sequences without a terminal: {done}")
        if not prints:
            return
        closed = self.run([*path, *words], stdout=self.closed_pipe)
        expect(closed.returncode == -signal.SIGPIPE, f"{path} with a closed pipe: {closed}")
        with open("/dev/full", "wb") as disk:
            full = self.run([*path, *words], stdout=disk)
        expect(full.returncode == 1 and b"standard output" in full.stderr, f"{path} on a full disk: {full}")

    def check_bytes(self, path):
        words = [*path, *self.least_arguments(path)]
        for case in ([*words, NOT_UTF8], [*path, NOT_UTF8]):
            code, shown = self.on_terminal(case, keys=NOT_UTF8[:9] + b"\n\x04", columns=20)
            expect(code in (0, 1, 2, 3), f"{case} ended with {code} and showed {shown!r}")
            expect(b"\x1b[31m" not in shown, f"{case} changes the terminal: {shown!r}")
        done = self.run(words, stdin=None, input=NOT_UTF8 + b"\0\n")
        expect(done.returncode in (0, 1, 2, 3), f"{words} with bytes that are not UTF-8: {done}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--serves", action="store_true", help="sotto-serve is built")
    parser.add_argument("--signs", action="store_true", help="sotto-signature is built")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ.update(SOTTO_CONFIG=str(folder / "config.json"), SOTTO_MODEL="")
        shutil.copy(args.model, folder)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        commands = Commands(args, folder)
        known = {" ".join(path) for path in commands.paths}
        gone = set(ARGUMENTS) - known - {name.decode() for name in commands.not_built}
        expect(not gone, f"no longer commands: {gone}")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(commands.check, commands.paths))
        print(f"{len(known)} commands")


main()
