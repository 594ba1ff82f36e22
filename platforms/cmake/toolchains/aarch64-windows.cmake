# Windows on ARM64 with the UCRT.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR ARM64)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
sotto_use_zig(aarch64-windows-gnu)
