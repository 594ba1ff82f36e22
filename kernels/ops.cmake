# sotto_op_sources: the files of the op table for the target architecture.
set(sotto_op_sources
  dispatch.cpp
  reference/layer_norm.cpp
  reference/quantize.cpp
  reference/gelu.cpp
  reference/elementwise.cpp
  reference/attention.cpp
  reference/softmax.cpp
  cpu_features_other.cpp
  tables_other.cpp)
list(TRANSFORM sotto_op_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
