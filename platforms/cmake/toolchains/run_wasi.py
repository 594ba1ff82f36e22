"""Runs a program for WASI with the rights of this process: run_wasi.py PROGRAM ARGUMENT..."""
import os
import sys

import wasmtime


def main():
    engine_config = wasmtime.Config()
    engine_config.cache = True
    engine = wasmtime.Engine(engine_config)
    module = wasmtime.Module.from_file(engine, sys.argv[1])
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    wasi = wasmtime.WasiConfig()
    wasi.argv = sys.argv[1:]
    wasi.env = list(os.environ.items())
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir("/", "/")
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    start = linker.instantiate(store, module).exports(store)["_start"]
    try:
        start(store)
    except wasmtime.ExitTrap as end:
        return end.code
    except wasmtime.Trap as trap:
        print(trap, file=sys.stderr)
        return 134
    return 0


if __name__ == "__main__":
    sys.exit(main())
