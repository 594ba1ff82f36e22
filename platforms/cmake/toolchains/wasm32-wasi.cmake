# WebAssembly with SIMD and WASI; programs run under wasmtime.
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
# Its C++ library cannot throw.
sotto_use_zig(wasm32-wasi -mcpu=generic+simd128 -fno-exceptions)
file(GLOB python "${CMAKE_CURRENT_LIST_DIR}/../../../build/tools/zig/bin/python3")
if(python)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${python};${CMAKE_CURRENT_LIST_DIR}/run_wasi.py")
endif()
