# Linux with musl, such as Alpine, on x86-64; programs are static and run on any Linux.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
sotto_use_zig(x86_64-linux-musl)
