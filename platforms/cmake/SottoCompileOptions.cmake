# sotto_options: the compile options of the whole project.
# sotto_core_options: additionally, the C++ subset of runtime/, kernels/ and capi/.
# sotto_counters: counters of the lines and branches that run, in builds with SOTTO_COVERAGE.

add_library(sotto_options INTERFACE)
target_include_directories(sotto_options INTERFACE ${PROJECT_SOURCE_DIR})
# Makes files larger than 2 GiB readable on 32-bit Linux.
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  target_compile_definitions(sotto_options INTERFACE _FILE_OFFSET_BITS=64)
endif()
target_compile_options(sotto_options INTERFACE
  -Wall -Wextra -Wshadow -Wpointer-arith -Wundef
  # Results must not depend on whether the compiler fuses multiplications and additions.
  -ffp-contract=off
  -ffunction-sections -fdata-sections
  # GCC 12 warns about its own std::string (GCC bug 105651).
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)

add_library(sotto_counters INTERFACE)
if(SOTTO_COVERAGE)
  target_compile_options(sotto_counters INTERFACE --coverage -O1 -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

add_library(sotto_core_options INTERFACE)
target_link_libraries(sotto_core_options INTERFACE sotto_options sotto_counters)
target_compile_options(sotto_core_options INTERFACE
  # Optimizes the library also in a project that includes this one and has no build type, which is CMake's default.
  $<$<CONFIG:>:-O2>
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>
  # Unique symbols could not be made local in libsotto.a.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>
  -Wconversion
  $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wglobal-constructors>)

# Relocations are resolved at start and then read-only, and stacks are not executable.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT SOTTO_SANITIZE)
  add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
endif()

# sotto_harden(TARGET): hardening options for programs, which read untrusted files.
function(sotto_harden target)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT SOTTO_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fstack-protector-strong -fstack-clash-protection
      $<$<STREQUAL:${sotto_architecture},x86_64>:-fcf-protection>
      "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
  endif()
endfunction()

# sotto_utf8(PROGRAM): on Windows, the program's arguments and paths are UTF-8.
function(sotto_utf8 program)
  if(WIN32)
    enable_language(RC)
    target_sources(${program} PRIVATE "${PROJECT_SOURCE_DIR}/platforms/cmake/windows/program.rc")
  endif()
endfunction()

# sotto_precompile(TARGET HEADER...): precompiles large library headers that most files of a program include.
function(sotto_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  # GCC 12 warns about its own std::string again where it comes from a precompiled header (GCC bug 105651).
  target_compile_options(${target} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endfunction()

# sotto_compile_fast(TARGET SCOPE): for code that takes longer to compile than to run: little optimization, and none in
# builds with sanitizers, where Clang needs twice the time for -O1.
function(sotto_compile_fast target scope)
  if(SOTTO_SANITIZE)
    target_compile_options(${target} ${scope} -O0)
  else()
    target_compile_options(${target} ${scope} $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# Sanitizers instrument the whole project.
if(SOTTO_SANITIZE)
  add_compile_options(-fsanitize=${SOTTO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SOTTO_SANITIZE})
endif()

# The memory sanitizer (MSan) only knows what instrumented code writes, and the C++ library is not instrumented. Code
# outside of the core, which uses that library, is therefore not checked, and what it writes counts as initialized.
if(SOTTO_SANITIZE STREQUAL "memory")
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/unchecked.txt" CONTENT "src:*\n")
  add_compile_options("-fsanitize-ignorelist=${CMAKE_BINARY_DIR}/generated/unchecked.txt")
  target_compile_options(sotto_core_options INTERFACE -fno-sanitize-ignorelist)
endif()

# libFuzzer needs to see the branches that the libraries take.
if(SOTTO_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
