# xnnpack_gemm, only on arm64 and with SOTTO_XNNPACK: the microkernels of XNNPACK that kernels/xnnpack calls. The pinned
# source is taken from the first of
#   1. SOTTO_DEPENDENCY_SOURCES: a directory with the archive of platforms/dependencies.txt, or with an unpacked tree
#      in a directory xnnpack;
#   2. the archive, downloaded by platforms/fetch_sources.sh and checked by SHA-256;
#   3. the same commit from the upstream git repository.
# It is unpacked into SOTTO_DEPS_DIR, once for all presets and toolchains.

option(SOTTO_XNNPACK "arm64: XNNPACK multiplies int8 layers; OFF: the kernels of kernels/arm, without a download" ON)
set(sotto_xnnpack_library)
if(NOT (SOTTO_XNNPACK AND sotto_architecture STREQUAL "arm64"))
  return()
endif()
set(SOTTO_DEPENDENCY_SOURCES "$ENV{SOTTO_DEPENDENCY_SOURCES}" CACHE PATH
    "Directory with the dependencies' source archives or unpacked trees")
if(PROJECT_IS_TOP_LEVEL)
  set(deps_dir_default "${PROJECT_SOURCE_DIR}/build/deps")
else()
  set(deps_dir_default "${PROJECT_BINARY_DIR}/deps")
endif()
set(SOTTO_DEPS_DIR "${deps_dir_default}" CACHE PATH "Where the dependencies' sources are unpacked")

# Unpacks the source into `tree`.
function(sotto_unpack_xnnpack tree version hash repository commit)
  set(name "xnnpack_${version}.orig.tar.xz")
  set(directories "${SOTTO_DEPENDENCY_SOURCES}")
  if(NOT SOTTO_DEPENDENCY_SOURCES)
    message(STATUS "Fetching XNNPACK's source into ${SOTTO_DEPS_DIR}/archives")
    execute_process(COMMAND sh "${PROJECT_SOURCE_DIR}/platforms/fetch_sources.sh" "${SOTTO_DEPS_DIR}/archives")
    set(directories "${SOTTO_DEPS_DIR}/archives")
  endif()
  if(EXISTS "${directories}/${name}")
    file(SHA256 "${directories}/${name}" actual)
    if(NOT actual STREQUAL hash)
      message(FATAL_ERROR "${directories}/${name} has SHA-256 ${actual}, expected ${hash}")
    endif()
    file(ARCHIVE_EXTRACT INPUT "${directories}/${name}" DESTINATION "${tree}.part")
    file(GLOB top LIST_DIRECTORIES TRUE "${tree}.part/*/CMakeLists.txt")  # a top directory, if the archive has one
    if(top)
      get_filename_component(top "${top}" DIRECTORY)
    else()
      set(top "${tree}.part")
    endif()
    file(RENAME "${top}" "${tree}")
    file(REMOVE_RECURSE "${tree}.part")
    return()
  endif()

  find_package(Git QUIET)
  if(NOT GIT_FOUND)
    message(FATAL_ERROR "No source of XNNPACK ${version}: name a directory that holds ${name} in "
      "SOTTO_DEPENDENCY_SOURCES, or install git so that it can be cloned.")
  endif()
  message(STATUS "Fetching ${repository} ${commit}")
  file(MAKE_DIRECTORY "${tree}.part")
  foreach(command IN ITEMS "init;-q" "fetch;-q;--depth;1;https://github.com/${repository};${commit}"
                           "checkout;-q;FETCH_HEAD")
    execute_process(COMMAND "${GIT_EXECUTABLE}" ${command} WORKING_DIRECTORY "${tree}.part" RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "Fetching ${repository} failed. Without a network, name a directory that holds ${name} in "
        "SOTTO_DEPENDENCY_SOURCES.")
    endif()
  endforeach()
  file(RENAME "${tree}.part" "${tree}")
endfunction()

set(sotto_pins_file "${PROJECT_SOURCE_DIR}/platforms/dependencies.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${sotto_pins_file}")
file(STRINGS "${sotto_pins_file}" sotto_xnnpack_pin REGEX "^xnnpack ")
string(REPLACE " " ";" sotto_xnnpack_pin "${sotto_xnnpack_pin}")
list(REMOVE_AT sotto_xnnpack_pin 0)
list(GET sotto_xnnpack_pin 1 sotto_xnnpack_hash)
set(sotto_xnnpack_source "${SOTTO_DEPENDENCY_SOURCES}/xnnpack")
if(NOT EXISTS "${sotto_xnnpack_source}/CMakeLists.txt")
  string(SUBSTRING "${sotto_xnnpack_hash}" 0 8 sotto_xnnpack_hash)
  set(sotto_xnnpack_source "${SOTTO_DEPS_DIR}/xnnpack-${sotto_xnnpack_hash}")
  file(MAKE_DIRECTORY "${SOTTO_DEPS_DIR}")
  file(LOCK "${sotto_xnnpack_source}.lock" GUARD PROCESS)
  if(NOT EXISTS "${sotto_xnnpack_source}/CMakeLists.txt")
    file(REMOVE_RECURSE "${sotto_xnnpack_source}" "${sotto_xnnpack_source}.part")
    sotto_unpack_xnnpack("${sotto_xnnpack_source}" ${sotto_xnnpack_pin})
  endif()
  file(LOCK "${sotto_xnnpack_source}.lock" RELEASE)
endif()

# XNNPACK's headers need one name of pthreadpool's.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/xnnpack/pthreadpool.h"
     CONTENT "typedef struct pthreadpool* pthreadpool_t;\n" @ONLY)
add_library(xnnpack_gemm STATIC)
set(sotto_xnnpack_library xnnpack_gemm)
target_include_directories(xnnpack_gemm PRIVATE "${sotto_xnnpack_source}/src" "${sotto_xnnpack_source}/include"
                           "${CMAKE_BINARY_DIR}/generated/xnnpack")
target_compile_options(xnnpack_gemm PRIVATE -O2 -ffp-contract=off -w -ffunction-sections -fdata-sections)

# sotto_microkernels(FLAGS NAMES...): adds functions with XNNPACK's own flags for their instruction set.
function(sotto_microkernels flags)
  list(TRANSFORM ARGN PREPEND "${sotto_xnnpack_source}/src/qd8-f32-qc8w-gemm/gen/qd8-f32-qc8w-gemm-"
       OUTPUT_VARIABLE files)
  list(TRANSFORM files APPEND ".c")
  set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${flags}")
  target_sources(xnnpack_gemm PRIVATE ${files})
endfunction()
sotto_microkernels("" 1x8c2s4-minmax-neon-mlal 2x8c2s4-minmax-neon-mlal)
sotto_microkernels(-march=armv8.2-a+dotprod 1x16c4-minmax-neondot 4x16c4-minmax-neondot)
sotto_microkernels(-march=armv8.2-a+i8mm+fp16 1x16c8-minmax-neoni8mm 4x16c8-minmax-neoni8mm)
