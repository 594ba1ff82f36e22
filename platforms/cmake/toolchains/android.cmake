# Android, with the toolchain file of the NDK in ANDROID_NDK_HOME.
if(NOT DEFINED ENV{ANDROID_NDK_HOME})
  message(FATAL_ERROR "ANDROID_NDK_HOME is not set; set it to the directory of the NDK, r27 or later")
endif()
include("$ENV{ANDROID_NDK_HOME}/build/cmake/android.toolchain.cmake")
