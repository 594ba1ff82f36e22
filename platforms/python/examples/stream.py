"""Streams text: python3 stream.py demo.sotto "Once upon a time" """
import signal
import sys

import sotto


def main(path: str, prompt: str) -> None:
    with sotto.Model.open(path) as model, model.session() as session:
        session.set_sampler(temperature=0.8, top_p=0.95, seed=1)
        print(prompt, end="")
        for text in session.stream(prompt, max_tokens=100):
            print(text, end="", flush=True)
        print()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print("usage: python3 stream.py MODEL PROMPT", file=sys.stderr)
        sys.exit(2)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        main(*sys.argv[1:])
    except (OSError, sotto.SottoError) as failure:
        sys.exit(str(failure))
