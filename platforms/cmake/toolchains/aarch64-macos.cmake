# macOS on Apple silicon: with Xcode's tools on a Mac, elsewhere with Zig's.
if(CMAKE_HOST_APPLE)
  set(CMAKE_OSX_ARCHITECTURES arm64)
  set(CMAKE_OSX_DEPLOYMENT_TARGET 12.0)
else()
  set(CMAKE_SYSTEM_NAME Darwin)
  # CMake sets these by itself on a Mac.
  set(CMAKE_INSTALL_NAME_DIR @rpath)
  set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)
  set(CMAKE_SYSTEM_PROCESSOR arm64)
  include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
  sotto_use_zig(aarch64-macos.12.0)
  # CMake requires it, but only an installation would run it.
  find_program(CMAKE_INSTALL_NAME_TOOL NAMES install_name_tool llvm-install-name-tool llvm-install-name-tool-14 true)
endif()
