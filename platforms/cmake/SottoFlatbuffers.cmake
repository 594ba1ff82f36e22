# sotto_flatbuffers: the FlatBuffers header; sotto_model_format and sotto_grammar_format: the
# headers flatc makes of runtime/model/model.fbs and runtime/grammar/grammar.fbs.

if(CMAKE_CROSSCOMPILING AND NOT FLATBUFFERS_INCLUDE_DIR)
  include(SottoHostHeaders)
  sotto_host_headers(FLATBUFFERS_INCLUDE_DIR flatbuffers)
endif()
find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
find_program(FLATBUFFERS_FLATC flatc REQUIRED)

add_library(sotto_flatbuffers INTERFACE)
target_include_directories(sotto_flatbuffers SYSTEM INTERFACE ${FLATBUFFERS_INCLUDE_DIR})

# sotto_format(NAME): runtime/NAME/NAME_generated.h of runtime/NAME/NAME.fbs.
function(sotto_format name)
  set(schema ${PROJECT_SOURCE_DIR}/runtime/${name}/${name}.fbs)
  set(directory ${PROJECT_BINARY_DIR}/generated/runtime/${name})
  add_custom_command(
    OUTPUT ${directory}/${name}_generated.h
    COMMAND ${FLATBUFFERS_FLATC} --cpp --scoped-enums -o ${directory} ${schema}
    DEPENDS ${schema}
    VERBATIM)
  add_custom_target(sotto_${name}_format_header DEPENDS ${directory}/${name}_generated.h)
  add_library(sotto_${name}_format INTERFACE)
  add_dependencies(sotto_${name}_format sotto_${name}_format_header)
  target_include_directories(sotto_${name}_format SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(sotto_${name}_format INTERFACE sotto_flatbuffers)
endfunction()

sotto_format(model)
sotto_format(grammar)
