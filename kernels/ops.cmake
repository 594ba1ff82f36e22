# sotto_op_sources: the files of the op table for the target architecture, each compiled
# for its instruction set.
set(sotto_op_sources
  dispatch.cpp
  row_mapping.cpp
  reference/layer_norm.cpp
  reference/quantize.cpp
  reference/gelu.cpp
  reference/elementwise.cpp
  reference/attention.cpp
  reference/softmax.cpp
  reference/weights.cpp)

# sotto_op_isa(FLAGS flags... SOURCES files...)
function(sotto_op_isa)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FLAGS;SOURCES")
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ OUTPUT_VARIABLE paths)
  set_source_files_properties(${paths} PROPERTIES COMPILE_OPTIONS "${arg_FLAGS}")
  set(sotto_op_sources ${sotto_op_sources} ${arg_SOURCES} PARENT_SCOPE)
endfunction()

if(sotto_architecture STREQUAL "x86_64")
  list(APPEND sotto_op_sources cpu_features_x86.cpp tables_x86.cpp)
  sotto_op_isa(FLAGS -mavx2 -mfma SOURCES avx2/ops.cpp avx2/attention.cpp avx2/int4.cpp
               avx2/linear.cpp)
  sotto_op_isa(FLAGS -mavx2 -mfma -mavxvnni SOURCES avxvnni/linear.cpp)
  set(avx512_flags -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl
                   -mprefer-vector-width=512)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 takes the undefined operands of its own intrinsics for mistakes.
    list(APPEND avx512_flags -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  sotto_op_isa(FLAGS ${avx512_flags} SOURCES avx512/ops.cpp avx512/attention.cpp
               avx512/int4.cpp avx512/linear.cpp)
  sotto_op_isa(FLAGS ${avx512_flags} -mavx512vnni SOURCES avx512vnni/attention.cpp
               avx512vnni/attention_rows.cpp avx512vnni/attention_few_rows.cpp
               avx512vnni/small_batch.cpp avx512vnni/large_batch.cpp
               avx512vnni/int4.cpp)
  sotto_op_isa(FLAGS ${avx512_flags} -mavx512vnni -mamx-tile -mamx-int8
               SOURCES avx512amx/attention_rows.cpp avx512amx/large_batch.cpp)
elseif(sotto_architecture STREQUAL "arm64")
  list(APPEND sotto_op_sources tables_arm64.cpp neon/ops.cpp neon/attention.cpp
       neon/int4.cpp)
  if(APPLE)
    list(APPEND sotto_op_sources cpu_features_arm64_apple.cpp)
  else()
    list(APPEND sotto_op_sources cpu_features_arm64_linux.cpp)
  endif()
  sotto_op_isa(FLAGS -march=armv8.2-a+dotprod SOURCES neon_dotprod/attention.cpp
               neon_dotprod/int4.cpp)
else()
  list(APPEND sotto_op_sources cpu_features_other.cpp tables_other.cpp)
endif()
list(TRANSFORM sotto_op_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
