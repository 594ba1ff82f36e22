# find_package(sotto): sotto::sotto, the shared library, and sotto::sotto_static, wherever the archive was unpacked.
get_filename_component(_sotto_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET sotto::sotto)
  add_library(sotto::sotto SHARED IMPORTED)
  set_target_properties(sotto::sotto PROPERTIES
    IMPORTED_LOCATION "${_sotto_prefix}/@SHARED@" INTERFACE_INCLUDE_DIRECTORIES "${_sotto_prefix}/include")
  if(WIN32)
    set_target_properties(sotto::sotto PROPERTIES IMPORTED_IMPLIB "${_sotto_prefix}/lib/libsotto.dll.a")
  endif()
  add_library(sotto::sotto_static STATIC IMPORTED)
  set_target_properties(sotto::sotto_static PROPERTIES
    IMPORTED_LOCATION "${_sotto_prefix}/lib/libsotto.a" INTERFACE_LINK_LIBRARIES "@LIBRARIES@"
    INTERFACE_INCLUDE_DIRECTORIES "${_sotto_prefix}/include")
endif()
unset(_sotto_prefix)
