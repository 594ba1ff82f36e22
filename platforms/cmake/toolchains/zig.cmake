# sotto_use_zig(TARGET [OPTIONS...]): Zig's compiler for C and C++, which carries the headers and libraries of many
# systems. Found in SOTTO_ZIG, build/tools/zig (where platforms/run.sh puts it) or PATH.

# Zig has its own names for architectures: armv8.2-a+fp16 is generic+v8_2a+fullfp16.
set(zig_march [[
for option in "$@"; do
  shift
  case $option in -march=armv8*)
    option=$(printf '%s\n' "$option" | sed 's/^-march=armv8-a/-mcpu=generic/
      s/^-march=armv8\.\([0-9]\)-a/-mcpu=generic+v8_\1a/; s/+fp16/+fullfp16/') ;;
  esac
  set -- "$@" "$option"
done
]])

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SOTTO_ZIG)

function(sotto_use_zig target)
  get_filename_component(tools "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../build/tools" ABSOLUTE)
  file(GLOB installed "${tools}/zig/lib/python3*/site-packages/ziglang")
  find_program(SOTTO_ZIG zig HINTS ${installed} NO_CMAKE_FIND_ROOT_PATH)
  mark_as_advanced(SOTTO_ZIG)
  if(NOT SOTTO_ZIG)
    message(FATAL_ERROR "Zig is missing: name its program in SOTTO_ZIG, or see `sh platforms/run.sh help`")
  endif()
  # Each tool is one word, because CMake and the rules of this project start tools without further arguments.
  list(JOIN ARGN " " options)
  foreach(tool IN ITEMS cc c++ ar ranlib rc wasm-ld)
    set(arguments "${tool}")
    if(tool MATCHES "^c")
      string(APPEND arguments " -target ${target} ${options}")
    endif()
    set(file "${tools}/zig-${target}/${tool}")
    set(text "#!/bin/sh\n")
    if(target MATCHES "^aarch64" AND tool MATCHES "^c")
      string(APPEND text "${zig_march}")
    endif()
    string(APPEND text "exec \"${SOTTO_ZIG}\" ${arguments} \"$@\"\n")
    set(before "")
    if(EXISTS "${file}")
      file(READ "${file}" before)
    endif()
    if(NOT text STREQUAL before)
      file(WRITE "${file}.new" "${text}")
      file(CHMOD "${file}.new" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
           WORLD_EXECUTE)
      file(RENAME "${file}.new" "${file}")
    endif()
  endforeach()
  set(CMAKE_C_COMPILER "${tools}/zig-${target}/cc" PARENT_SCOPE)
  set(CMAKE_CXX_COMPILER "${tools}/zig-${target}/c++" PARENT_SCOPE)
  set(CMAKE_AR "${tools}/zig-${target}/ar" CACHE FILEPATH "")
  set(CMAKE_RANLIB "${tools}/zig-${target}/ranlib" CACHE FILEPATH "")
  set(CMAKE_RC_COMPILER "${tools}/zig-${target}/rc" PARENT_SCOPE)  # of Windows
  if(target MATCHES "^wasm")
    set(SOTTO_WASM_LD "${tools}/zig-${target}/wasm-ld" CACHE INTERNAL "")
  endif()
  # Headers and libraries of the machine that builds are not the target's.
  set(CMAKE_FIND_ROOT_PATH "${tools}/zig-${target}" PARENT_SCOPE)
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER PARENT_SCOPE)
  foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
    set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY PARENT_SCOPE)
  endforeach()
endfunction()
