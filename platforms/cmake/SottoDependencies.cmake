# sotto_dependencies: static libraries of pinned sources. arm64 multiplies with microkernels of XNNPACK, and SOTTO_THREADS
# needs pthreadpool.
#
# Taken from the first of
#   1. an installed build of the same pins: SOTTO_DEPS_ROOT or a prefix CMake searches. A distribution's packages do not
#      qualify, because they lack share/sotto-dependencies/pins.txt;
#   2. SOTTO_DEPENDENCY_SOURCES: a directory with the archives of platforms/dependencies.txt or unpacked trees;
#   3. the archives, downloaded by platforms/fetch_sources.sh and checked by SHA-256;
#   4. the same commits from the upstream git repositories.
# The build of 2-4 goes to SOTTO_DEPS_DIR, one prefix per toolchain, shared by all presets and generators.

set(SOTTO_DEPS_ROOT "" CACHE PATH "Prefix of an existing build of the pinned dependencies")
set(SOTTO_DEPENDENCY_SOURCES "$ENV{SOTTO_DEPENDENCY_SOURCES}" CACHE PATH
    "Directory with the dependencies' source archives or unpacked trees")
if(PROJECT_IS_TOP_LEVEL)
  set(deps_dir_default "${PROJECT_SOURCE_DIR}/build/deps")
else()
  set(deps_dir_default "${PROJECT_BINARY_DIR}/deps")
endif()
set(SOTTO_DEPS_DIR "${deps_dir_default}" CACHE PATH "Where the dependencies are built")

find_library(SOTTO_LIBM m)
mark_as_advanced(SOTTO_LIBM)
set(sotto_recipe)
set(sotto_packages)
set(sotto_archives)
if(SOTTO_THREADS)
  set(sotto_recipe pthreadpool)
  list(APPEND sotto_packages pthreadpool fxdiv)
  list(APPEND sotto_archives pthreadpool)
endif()
if(sotto_architecture STREQUAL "arm64")
  set(sotto_recipe xnnpack)
  list(APPEND sotto_packages xnnpack)
  list(APPEND sotto_archives xnnpack_gemm)
endif()
if(NOT sotto_recipe)
  set(SOTTO_DEPENDENCY_LIBRARIES)
  set(sotto_deps_prefix "")
  add_library(sotto_dependencies INTERFACE)
  if(SOTTO_LIBM)
    target_link_libraries(sotto_dependencies INTERFACE m)
  endif()
  return()
endif()

set(sotto_pins_file "${PROJECT_SOURCE_DIR}/platforms/dependencies.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${sotto_pins_file}")

# sotto_read_pins(OUT): the lines of dependencies.txt, and sotto_pin_PACKAGE for each.
macro(sotto_read_pins out)
  file(STRINGS "${sotto_pins_file}" ${out} REGEX "^[a-z0-9]+ ")
  foreach(pin IN LISTS ${out})
    string(REGEX MATCH "^[a-z0-9]+" package "${pin}")
    string(REPLACE " " ";" sotto_pin_${package} "${pin}")
  endforeach()
endmacro()

# sotto_unpack_source(PACKAGE WORK OUT): unpacks or finds the source tree of one dependency.
function(sotto_unpack_source package work out)
  list(GET sotto_pin_${package} 1 version)
  list(GET sotto_pin_${package} 2 hash)
  list(GET sotto_pin_${package} 3 repository)
  list(GET sotto_pin_${package} 4 commit)
  get_filename_component(upstream_name "${repository}" NAME)

  foreach(name IN ITEMS ${package} ${package}-${version} ${upstream_name} ${upstream_name}-${commit})
    if(SOTTO_DEPENDENCY_SOURCES AND EXISTS "${SOTTO_DEPENDENCY_SOURCES}/${name}/CMakeLists.txt")
      set(${out} "${SOTTO_DEPENDENCY_SOURCES}/${name}" PARENT_SCOPE)
      return()
    endif()
  endforeach()

  set(tree "${work}/${package}")
  foreach(directory IN ITEMS "${SOTTO_DEPENDENCY_SOURCES}" "${SOTTO_DEPS_DIR}/archives")
    set(archive "${directory}/${package}_${version}.orig.tar.xz")
    if(EXISTS "${archive}")
      file(SHA256 "${archive}" actual)
      if(NOT actual STREQUAL hash)
        message(FATAL_ERROR "${archive} has SHA-256 ${actual}, expected ${hash}")
      endif()
      file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${tree}")
      # Some archives have a top directory, some do not.
      file(GLOB top LIST_DIRECTORIES TRUE "${tree}/*/CMakeLists.txt")
      if(EXISTS "${tree}/CMakeLists.txt" OR NOT top)
        set(${out} "${tree}" PARENT_SCOPE)
      else()
        get_filename_component(top "${top}" DIRECTORY)
        set(${out} "${top}" PARENT_SCOPE)
      endif()
      return()
    endif()
  endforeach()

  find_package(Git QUIET)
  if(NOT GIT_FOUND)
    message(FATAL_ERROR "No source of ${package} ${version}: name a directory that holds the archives of "
      "platforms/dependencies.txt in SOTTO_DEPENDENCY_SOURCES, or install git so that it can be cloned.")
  endif()
  message(STATUS "Fetching ${repository} ${commit}")
  file(MAKE_DIRECTORY "${tree}")
  foreach(command IN ITEMS "init;-q" "fetch;-q;--depth;1;https://github.com/${repository};${commit}"
                           "checkout;-q;FETCH_HEAD")
    execute_process(COMMAND "${GIT_EXECUTABLE}" ${command} WORKING_DIRECTORY "${tree}" RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "Fetching ${repository} failed. Without a network, name a directory that holds the "
        "archives of platforms/dependencies.txt in SOTTO_DEPENDENCY_SOURCES.")
    endif()
  endforeach()
  set(${out} "${tree}" PARENT_SCOPE)
endfunction()

# sotto_fetch_archives(): fills SOTTO_DEPS_DIR/archives if possible.
function(sotto_fetch_archives)
  find_program(SOTTO_SH sh)
  mark_as_advanced(SOTTO_SH)
  if(SOTTO_SH AND NOT SOTTO_DEPENDENCY_SOURCES)
    message(STATUS "Fetching the dependencies' sources into ${SOTTO_DEPS_DIR}/archives")
    execute_process(COMMAND "${SOTTO_SH}" "${PROJECT_SOURCE_DIR}/platforms/fetch_sources.sh"
                            "${SOTTO_DEPS_DIR}/archives" ${sotto_packages})
  endif()
endfunction()

# sotto_build_dependencies(PREFIX OPTIONS): builds and installs into PREFIX.
function(sotto_build_dependencies prefix options)
  set(work "${prefix}.work")
  file(REMOVE_RECURSE "${work}" "${prefix}")
  sotto_fetch_archives()
  set(sources)
  foreach(package IN LISTS sotto_packages)
    sotto_unpack_source(${package} "${work}/src" tree)
    string(TOUPPER ${package} upper)
    list(APPEND sources "-D${upper}_SOURCE_DIR=${tree}")
  endforeach()

  message(STATUS "Building ${sotto_recipe}, once for this toolchain (a few seconds)")
  set(make_program)
  if(CMAKE_MAKE_PROGRAM)
    set(make_program "-DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM}")
  endif()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -G "${CMAKE_GENERATOR}" -S "${PROJECT_SOURCE_DIR}/platforms/cmake/${sotto_recipe}"
            -B "${work}/build" "-DCMAKE_INSTALL_PREFIX=${prefix}" ${sources} ${make_program} ${options}
    OUTPUT_FILE "${work}/configure.log" ERROR_FILE "${work}/configure.log" RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "Configuring ${sotto_recipe} failed; see ${work}/configure.log")
  endif()
  # An execute_process() of CMake does not know the -j of the build that runs it.
  set(parallel)
  if(NOT DEFINED ENV{CMAKE_BUILD_PARALLEL_LEVEL})
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    set(parallel --parallel ${cores})
  endif()
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${work}/build" ${parallel} --config Release
                  RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "Building ${sotto_recipe} failed")
  endif()
  execute_process(COMMAND "${CMAKE_COMMAND}" --install "${work}/build" --component sotto --config Release
                  OUTPUT_QUIET RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "Installing ${sotto_recipe} into ${prefix} failed")
  endif()
  file(REMOVE_RECURSE "${work}")
endfunction()

# Options that make the sub-build use this build's toolchain.
function(sotto_toolchain_options out)
  set(options -DCMAKE_BUILD_TYPE=Release "-DSOTTO_THREADS=${SOTTO_THREADS}")
  foreach(name IN ITEMS CMAKE_TOOLCHAIN_FILE CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_AR
                        CMAKE_RANLIB CMAKE_C_COMPILER_TARGET CMAKE_CXX_COMPILER_TARGET CMAKE_SYSROOT CMAKE_OSX_ARCHITECTURES
                        CMAKE_OSX_DEPLOYMENT_TARGET CMAKE_OSX_SYSROOT ANDROID_ABI ANDROID_PLATFORM ANDROID_STL
                        ANDROID_NDK)
    if(DEFINED ${name} AND NOT "${${name}}" STREQUAL "")
      list(APPEND options "-D${name}=${${name}}")
    endif()
  endforeach()
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_TOOLCHAIN_FILE)
    list(APPEND options "-DCMAKE_SYSTEM_NAME=${CMAKE_SYSTEM_NAME}" "-DCMAKE_SYSTEM_PROCESSOR=${CMAKE_SYSTEM_PROCESSOR}")
  endif()
  # The thread sanitizer must see pthreadpool's synchronisation; the others need no instrumented libraries.
  set(sanitize "")
  if(SOTTO_SANITIZE MATCHES "thread")
    set(sanitize " -fsanitize=thread")
  endif()
  list(APPEND options "-DCMAKE_C_FLAGS=${CMAKE_C_FLAGS}${sanitize}" "-DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}${sanitize}"
       "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG" "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG")
  set(${out} "${options}" PARENT_SCOPE)
endfunction()

sotto_read_pins(sotto_pins)
list(JOIN sotto_pins "\n" sotto_pins_text)
string(APPEND sotto_pins_text
  "\nsystem ${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR}\nthreads ${SOTTO_THREADS}\n")

# 1. An installed build.
set(sotto_deps_prefix "")
unset(SOTTO_DEPS_PINS CACHE)
find_file(SOTTO_DEPS_PINS sotto-dependencies/pins.txt HINTS "${SOTTO_DEPS_ROOT}" PATH_SUFFIXES share
          CMAKE_FIND_ROOT_PATH_BOTH)
mark_as_advanced(SOTTO_DEPS_PINS)
if(SOTTO_DEPS_PINS)
  file(READ "${SOTTO_DEPS_PINS}" installed_pins)
  if(installed_pins STREQUAL sotto_pins_text)
    get_filename_component(sotto_deps_prefix "${SOTTO_DEPS_PINS}/../../.." ABSOLUTE)
  endif()
endif()
if(SOTTO_DEPS_ROOT AND NOT sotto_deps_prefix)
  message(FATAL_ERROR "SOTTO_DEPS_ROOT=${SOTTO_DEPS_ROOT} holds no build of the pinned sources for "
    "${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR} with SOTTO_THREADS=${SOTTO_THREADS}")
endif()

# 2-4. A build of the pinned sources, if the prefix for this toolchain does not exist yet.
if(NOT sotto_deps_prefix)
  sotto_toolchain_options(sotto_deps_options)
  file(SHA256 "${CMAKE_CURRENT_LIST_DIR}/${sotto_recipe}/CMakeLists.txt" recipe_hash)
  string(CONCAT sotto_deps_key "${sotto_pins_text}${sotto_deps_options}${recipe_hash}"
    "${CMAKE_C_COMPILER_ID}${CMAKE_C_COMPILER_VERSION}${CMAKE_CXX_COMPILER_ID}${CMAKE_CXX_COMPILER_VERSION}")
  string(REPLACE "${PROJECT_SOURCE_DIR}" "" sotto_deps_key "${sotto_deps_key}")  # the same for every checkout
  string(SHA256 sotto_deps_key "${sotto_deps_key}")
  string(SUBSTRING "${sotto_deps_key}" 0 8 sotto_deps_key)
  string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}-${sotto_deps_key}" sotto_deps_key)
  set(sotto_deps_prefix "${SOTTO_DEPS_DIR}/${sotto_deps_key}")
  set(pins_copy "${sotto_deps_prefix}/share/sotto-dependencies/pins.txt")
  if(NOT EXISTS "${pins_copy}")
    file(MAKE_DIRECTORY "${SOTTO_DEPS_DIR}")
    file(LOCK "${SOTTO_DEPS_DIR}/${sotto_deps_key}.lock" GUARD PROCESS)
    if(NOT EXISTS "${pins_copy}")
      sotto_build_dependencies("${sotto_deps_prefix}" "${sotto_deps_options}")
      file(WRITE "${pins_copy}" "${sotto_pins_text}")
    endif()
    file(LOCK "${SOTTO_DEPS_DIR}/${sotto_deps_key}.lock" RELEASE)
  endif()
endif()
message(STATUS "Dependencies: ${sotto_deps_prefix}")

set(SOTTO_DEPENDENCY_LIBRARIES)
foreach(library IN LISTS sotto_archives)
  list(APPEND SOTTO_DEPENDENCY_LIBRARIES
       "${sotto_deps_prefix}/lib/${CMAKE_STATIC_LIBRARY_PREFIX}${library}${CMAKE_STATIC_LIBRARY_SUFFIX}")
endforeach()
add_library(sotto_dependencies INTERFACE)
target_include_directories(sotto_dependencies SYSTEM INTERFACE "${sotto_deps_prefix}/include")
target_compile_definitions(sotto_dependencies INTERFACE PTHREADPOOL_NO_DEPRECATED_API=1)
target_link_libraries(sotto_dependencies INTERFACE ${SOTTO_DEPENDENCY_LIBRARIES})
if(SOTTO_THREADS)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  target_link_libraries(sotto_dependencies INTERFACE Threads::Threads)
endif()
if(SOTTO_LIBM)
  target_link_libraries(sotto_dependencies INTERFACE m)
endif()
