# sotto_flatbuffers: the FlatBuffers header; sotto_model_format: the header flatc makes of
# runtime/model/model.fbs.

find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
find_program(FLATBUFFERS_FLATC flatc REQUIRED)

add_library(sotto_flatbuffers INTERFACE)
target_include_directories(sotto_flatbuffers SYSTEM INTERFACE ${FLATBUFFERS_INCLUDE_DIR})

set(model_format_dir ${PROJECT_BINARY_DIR}/generated/runtime/model)
add_custom_command(
  OUTPUT ${model_format_dir}/model_generated.h
  COMMAND ${FLATBUFFERS_FLATC} --cpp --scoped-enums -o ${model_format_dir}
          ${PROJECT_SOURCE_DIR}/runtime/model/model.fbs
  DEPENDS ${PROJECT_SOURCE_DIR}/runtime/model/model.fbs
  VERBATIM)
add_custom_target(sotto_model_format_header DEPENDS ${model_format_dir}/model_generated.h)
add_library(sotto_model_format INTERFACE)
add_dependencies(sotto_model_format sotto_model_format_header)
target_include_directories(sotto_model_format SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(sotto_model_format INTERFACE sotto_flatbuffers)
