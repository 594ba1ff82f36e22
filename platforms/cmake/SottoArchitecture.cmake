# sotto_architecture: x86_64 or arm64, which have kernels of their own and multiply by XNNPACK, or other, which runs the
# reference kernels.
set(sotto_architecture ${CMAKE_SYSTEM_PROCESSOR})
if(APPLE AND CMAKE_OSX_ARCHITECTURES)
  set(sotto_architecture ${CMAKE_OSX_ARCHITECTURES})
endif()
if(sotto_architecture MATCHES "^(x86_64|amd64|AMD64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(sotto_architecture x86_64)
elseif(sotto_architecture MATCHES "^(aarch64|arm64|ARM64)$")
  set(sotto_architecture arm64)
else()
  set(sotto_architecture other)
endif()
