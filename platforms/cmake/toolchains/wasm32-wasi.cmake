# WebAssembly with SIMD and WASI; programs run under wasmtime.
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
# Nothing is thrown there: what would be ends the program.
sotto_use_zig(wasm32-wasi -mcpu=generic+simd128 -fignore-exceptions
  -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_PROCESS_CLOCKS)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-lwasi-emulated-mman -lwasi-emulated-signal -lwasi-emulated-process-clocks")
file(GLOB python "${CMAKE_CURRENT_LIST_DIR}/../../../build/tools/zig/bin/python3")
if(python)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${python};${CMAKE_CURRENT_LIST_DIR}/run_wasi.py")
endif()
