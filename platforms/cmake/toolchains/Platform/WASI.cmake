# WebAssembly with WASI: modules that a runtime loads, and nothing shared between them.
set(WASI TRUE)
set(CMAKE_EXECUTABLE_SUFFIX .wasm)
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS FALSE)
