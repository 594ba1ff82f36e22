# sotto_host_headers(OUT NAMES...): creates a directory with links to header-only libraries of the build machine. The
# include directory of that machine cannot be used itself, because it contains headers that do not fit the target.
function(sotto_host_headers out)
  set(directory "${CMAKE_BINARY_DIR}/host-headers")
  file(MAKE_DIRECTORY "${directory}")
  foreach(name IN LISTS ARGN)
    find_path(found "${name}" PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH NO_CACHE REQUIRED)
    file(CREATE_LINK "${found}/${name}" "${directory}/${name}" SYMBOLIC)
    unset(found)
  endforeach()
  set(${out} "${directory}" PARENT_SCOPE)
endfunction()

# sotto_host_library(TARGET NAME): a header-only library as an imported target.
function(sotto_host_library target name)
  if(NOT TARGET ${target})
    sotto_host_headers(directory ${name})
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE "${directory}")
  endif()
endfunction()
