# sotto_op_sources: the files of the op table for the target architecture, each compiled
# for its instruction set.
set(sotto_op_sources
  dispatch/dispatch.cpp
  linear/row_mapping.cpp
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
  list(APPEND sotto_op_sources dispatch/cpu_features_x86.cpp dispatch/tables_x86.cpp)
  sotto_op_isa(FLAGS -mavx2 -mfma SOURCES x86/avx2/ops.cpp x86/avx2/attention.cpp x86/avx2/int4.cpp
               x86/avx2/linear.cpp)
  sotto_op_isa(FLAGS -mavx2 -mfma -mavxvnni SOURCES x86/avxvnni/linear.cpp)
  set(avx512_flags -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl
                   -mprefer-vector-width=512)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 takes the undefined operands of its own intrinsics for mistakes.
    list(APPEND avx512_flags -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  sotto_op_isa(FLAGS ${avx512_flags} SOURCES x86/avx512/ops.cpp x86/avx512/attention.cpp
               x86/avx512/int4.cpp x86/avx512/linear.cpp)
  sotto_op_isa(FLAGS ${avx512_flags} -mavx512vnni SOURCES x86/avx512vnni/attention.cpp
               x86/avx512vnni/attention_rows.cpp x86/avx512vnni/attention_few_rows.cpp
               x86/avx512vnni/small_batch.cpp x86/avx512vnni/large_batch.cpp
               x86/avx512vnni/int4.cpp)
  sotto_op_isa(FLAGS ${avx512_flags} -mavx512vnni -mamx-tile -mamx-int8
               SOURCES x86/avx512amx/attention_rows.cpp x86/avx512amx/large_batch.cpp)
elseif(sotto_architecture STREQUAL "arm64")
  list(APPEND sotto_op_sources dispatch/tables_arm64.cpp arm/neon/ops.cpp arm/neon/attention.cpp
       arm/neon/int4.cpp)
  if(APPLE)
    list(APPEND sotto_op_sources dispatch/cpu_features_arm64_apple.cpp)
  else()
    list(APPEND sotto_op_sources dispatch/cpu_features_arm64_linux.cpp)
  endif()
  sotto_op_isa(FLAGS -march=armv8.2-a+dotprod SOURCES arm/neon_dotprod/attention.cpp
               arm/neon_dotprod/int4.cpp)
else()
  list(APPEND sotto_op_sources dispatch/cpu_features_other.cpp dispatch/tables_other.cpp)
endif()
list(TRANSFORM sotto_op_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
