# Tests of the bindings: `add_subdirectory(platforms/LANGUAGE)` registers them, labelled `bindings`, and the target
# `bindings` builds what they need. A test whose tool is missing or too old is skipped with a message.

add_custom_target(bindings DEPENDS sotto sotto_static)
if(sotto_builds_tools)
  add_dependencies(bindings sotto_cli sotto-convert)  # the test of the READMEs installs them
endif()

# sotto_find_tool(NAME TOOL LEAST_VERSION [VERSION_ARGUMENT]): stores the path of TOOL in NAME, or the reason why
# it is missing in NAME_MISSING.
function(sotto_find_tool name tool least_version)
  set(argument --version)
  if(ARGC GREATER 3)
    set(argument "${ARGV3}")
  endif()
  find_program(${name} ${tool})
  mark_as_advanced(${name})
  unset(missing)
  if(NOT ${name})
    set(missing "${tool} is not installed, ${least_version} or later is needed")
  else()
    execute_process(COMMAND "${${name}}" ${argument} OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
    if(NOT failed EQUAL 0 OR NOT text MATCHES "[0-9]+(\\.[0-9]+)+")
      set(missing "${tool} does not tell its version, ${least_version} or later is needed")
    elseif(CMAKE_MATCH_0 VERSION_LESS least_version)
      set(missing "${tool} is ${CMAKE_MATCH_0}, ${least_version} or later is needed")
    endif()
  endif()
  if(missing)
    message(STATUS "Bindings: ${missing}")
  endif()
  set(${name}_MISSING "${missing}" PARENT_SCOPE)
endfunction()

# sotto_binding_test(NAME COMMAND... [TOOLS name...] [ENVIRONMENT variable=value...] [WORKING_DIRECTORY directory]):
# adds a test. TOOLS are names given to sotto_find_tool. The command finds the library, headers, demo model and expected
# figures through SOTTO_LIB_DIR, SOTTO_INCLUDE_DIR, SOTTO_DEMO_MODEL and SOTTO_GOLDEN, and skips by returning 77.
function(sotto_binding_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "WORKING_DIRECTORY" "COMMAND;TOOLS;ENVIRONMENT")
  set(missing)
  foreach(tool IN LISTS arg_TOOLS)
    if(${tool}_MISSING)
      list(APPEND missing "${${tool}_MISSING}")
    endif()
  endforeach()
  if(missing)
    list(JOIN missing "\\; " missing)
    add_test(NAME ${name} COMMAND "${CMAKE_COMMAND}" -E echo "skipped: ${missing}")
    set_tests_properties(${name} PROPERTIES LABELS bindings SKIP_REGULAR_EXPRESSION "skipped: ")
    return()
  endif()
  if(NOT arg_WORKING_DIRECTORY)
    set(arg_WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}")
  set(library_dir "$<TARGET_FILE_DIR:sotto>")
  set_tests_properties(${name} PROPERTIES LABELS bindings SKIP_RETURN_CODE 77 TIMEOUT 600
    ENVIRONMENT "SOTTO_LIB_DIR=${library_dir};SOTTO_INCLUDE_DIR=${PROJECT_SOURCE_DIR}/capi/include;\
SOTTO_DEMO_MODEL=${PROJECT_SOURCE_DIR}/platforms/models/demo.sotto;\
SOTTO_GOLDEN=${PROJECT_SOURCE_DIR}/tests/golden/data/bindings.txt;${arg_ENVIRONMENT}"
    ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:${library_dir};\
DYLD_LIBRARY_PATH=path_list_prepend:${library_dir}")
endfunction()
