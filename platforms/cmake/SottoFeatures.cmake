# Features of the library. The functions of a disabled feature stay, but fail with SOTTO_UNSUPPORTED and name the option.
# The C function sotto_build_text() reports the features of a build.

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

set(sotto_has_all_features ON)
set(sotto_has_no_feature ON)
foreach(has_feature IN ITEMS SOTTO_WITH_GRAMMAR SOTTO_WITH_SEARCH SOTTO_WITH_SPECULATION SOTTO_WITH_WATERMARK
                             SOTTO_WITH_INT4 "SOTTO_WITH_SAMPLERS STREQUAL full")
  separate_arguments(has_feature)
  if(${has_feature})
    set(sotto_has_no_feature OFF)
  else()
    set(sotto_has_all_features OFF)
  endif()
endforeach()
# A library without some feature is tested only by tests/features, which need neither the programs nor models that they
# convert. The programs need exceptions and std::filesystem, which WASI's C++ library does not have.
set(sotto_builds_tools OFF)
if((SOTTO_BUILD_TOOLS OR (SOTTO_BUILD_TESTS AND sotto_has_all_features)) AND NOT WASI)
  set(sotto_builds_tools ON)
endif()
