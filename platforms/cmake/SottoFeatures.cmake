# Features of the library. The functions of a disabled feature stay, but fail with SOTTO_UNSUPPORTED and name the option.
# sotto_build_text() reports the features of a build.

option(SOTTO_WITH_GRAMMAR "Grammars, vocabularies and matchers" ON)
option(SOTTO_WITH_SEARCH "Beam search, n continuations, contrastive search" ON)
option(SOTTO_WITH_SPECULATION "Speculative decoding" ON)
option(SOTTO_WITH_WATERMARK "Watermarks and their detection" ON)
option(SOTTO_WITH_INT4 "Models with weights of 4 bits" ON)
set(SOTTO_WITH_SAMPLERS full CACHE STRING
    "full, or basic: greedy or drawn, with temperature, top-k, top-p, min-p, biases, bans and penalties")
set_property(CACHE SOTTO_WITH_SAMPLERS PROPERTY STRINGS full basic)
if(NOT SOTTO_WITH_SAMPLERS MATCHES "^(full|basic)$")
  message(FATAL_ERROR "SOTTO_WITH_SAMPLERS=${SOTTO_WITH_SAMPLERS}: must be full or basic")
endif()

set(sotto_build_text "${SOTTO_WITH_SAMPLERS}-samplers")
foreach(feature IN ITEMS GRAMMAR SEARCH SPECULATION WATERMARK INT4)
  if(SOTTO_WITH_${feature})
    string(TOLOWER "${feature}" name)
    string(APPEND sotto_build_text " ${name}")
  endif()
endforeach()
if(sotto_build_text STREQUAL "full-samplers grammar search speculation watermark int4")
  set(sotto_has_all_features ON)
else()
  set(sotto_has_all_features OFF)
endif()
if(SOTTO_THREADS)
  string(APPEND sotto_build_text " threads")
endif()
if(NOT sotto_architecture STREQUAL "other")
  string(APPEND sotto_build_text " simd")
endif()
# A library that lacks a feature is tested by tests/features alone, without models of the tools; the tools need
# exceptions and std::filesystem, which WASI's C++ library lacks.
set(sotto_builds_tools OFF)
if((SOTTO_BUILD_TOOLS OR (SOTTO_BUILD_TESTS AND sotto_has_all_features)) AND NOT WASI)
  set(sotto_builds_tools ON)
endif()
