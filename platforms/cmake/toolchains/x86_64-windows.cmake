# Windows on x86-64 with the UCRT; programs run under Wine. Clang, because GCC does not align the stack for 32-byte
# vectors on Windows (GCC bug 54412).
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
sotto_use_zig(x86_64-windows-gnu)
find_program(SOTTO_WINE NAMES wine64 wine)
if(SOTTO_WINE)
  # Without its messages about itself, and with its own directory for what it writes.
  get_filename_component(wine_prefix "${CMAKE_CURRENT_LIST_DIR}/../../../build/tools/wine" ABSOLUTE)
  set(CMAKE_CROSSCOMPILING_EMULATOR
      "${CMAKE_COMMAND};-E;env;WINEDEBUG=-all;WINEPREFIX=${wine_prefix};${SOTTO_WINE}")
endif()
