# sotto_single_object(OUT SYMBOLS_FILE LIBRARIES...): links all code that is reachable from the names in SYMBOLS_FILE
# into one relocatable object, and makes all other names local, so that a host with its own XNNPACK can link the result.
# OUT receives the object's path.
#
# Needs GNU ld and objcopy, or Apple's ld. Other linkers and sanitizer builds produce one object whose inner
# names are hidden but global. Zig's linkers for macOS and WebAssembly also include code that no name reaches. Windows
# has no relocatable links: there, OUT receives the objects of the libraries.

# The host may hold COMDAT groups of the same signature, and the final link keeps one of each: a group must be
# dissolved before its names become local.
function(sotto_probe_local_names)
  if(DEFINED SOTTO_LOCAL_NAMES)
    return()
  endif()
  set(works OFF)
  if(APPLE AND CMAKE_HOST_APPLE)
    set(works ON)
  elseif(CMAKE_OBJCOPY AND NOT SOTTO_SANITIZE)
    set(probe "${CMAKE_BINARY_DIR}/CMakeFiles/sotto_local_names")
    file(WRITE "${probe}.c" "int sotto_probe(void) { return 0; }\n")
    execute_process(COMMAND "${CMAKE_C_COMPILER}" ${sotto_link_flags} -r -nostdlib "${probe}.c" -o "${probe}.o"
                            -Wl,--gc-sections,--force-group-allocation,-u,sotto_probe
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(works ON)
    endif()
  endif()
  set(SOTTO_LOCAL_NAMES ${works} CACHE BOOL "libsotto.a keeps all but its public names to itself")
  mark_as_advanced(SOTTO_LOCAL_NAMES)
endfunction()

function(sotto_single_object out symbols_file)
  if(WIN32)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  separate_arguments(sotto_link_flags UNIX_COMMAND "${CMAKE_C_FLAGS}")
  if(CMAKE_C_COMPILER_TARGET AND CMAKE_C_COMPILER_ID MATCHES "Clang")
    list(APPEND sotto_link_flags "--target=${CMAKE_C_COMPILER_TARGET}")
  endif()
  foreach(architecture IN LISTS CMAKE_OSX_ARCHITECTURES)
    list(APPEND sotto_link_flags -arch ${architecture})
  endforeach()
  sotto_probe_local_names()

  file(STRINGS "${symbols_file}" symbols REGEX "^[a-z_0-9]+$")
  set(object "${CMAKE_CURRENT_BINARY_DIR}/sotto_single.o")
  set(linker "${CMAKE_C_COMPILER}" ${sotto_link_flags} -r -nostdlib)
  set(options)
  set(roots)
  set(localise)
  set(before_archive "")
  if(WASI)
    set(linker "${SOTTO_WASM_LD}" -r --whole-archive)
  elseif(APPLE)
    list(TRANSFORM symbols PREPEND "_" OUTPUT_VARIABLE names)
    list(JOIN names "\n" names)
    file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/exported_symbols.txt" CONTENT "${names}\n" @ONLY)
    if(CMAKE_HOST_APPLE)
      list(TRANSFORM symbols PREPEND "-Wl,-u,_" OUTPUT_VARIABLE roots)
      set(options "-Wl,-exported_symbols_list,${CMAKE_CURRENT_BINARY_DIR}/exported_symbols.txt")
    else()
      set(before_archive "-Wl,-force_load,")
    endif()
  else()
    list(TRANSFORM symbols PREPEND "-Wl,-u," OUTPUT_VARIABLE roots)
    if(SOTTO_LOCAL_NAMES)
      set(options -Wl,--gc-sections,--force-group-allocation)
      set(localise COMMAND "${CMAKE_OBJCOPY}" "--keep-global-symbols=${symbols_file}" "${object}")
    endif()
  endif()

  set(archives)
  foreach(library IN LISTS ARGN)
    if(TARGET ${library})
      set(library "$<TARGET_FILE:${library}>")
    endif()
    list(APPEND archives "${before_archive}${library}")
  endforeach()
  add_custom_command(
    OUTPUT "${object}"
    COMMAND ${linker} -o "${object}" ${options} ${roots} ${archives}
    ${localise}
    DEPENDS ${ARGN} "${symbols_file}"
    COMMENT "Linking one object of the public names"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set(${out} "${object}" PARENT_SCOPE)
endfunction()
