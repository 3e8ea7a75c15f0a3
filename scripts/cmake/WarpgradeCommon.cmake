# What every C++ target of the project shares. A folder can also be configured alone
# (cmake -S grader/emulator -B build-emulator): it includes this file either way.
include_guard(GLOBAL)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# A build for use is made once, on the machine that waits for it: no debug information, and warnings are no errors. Checks,
# tests and packages are built without it.
option(WARPGRADE_FOR_USE "Build what is needed to judge on this machine, as quickly as possible" OFF)
if(WARPGRADE_FOR_USE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2")
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O2 -DNDEBUG")
else()
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# On ARM a plain char has no sign, unless told.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsigned-char>)
endif()
# nvcc 12.0 cannot parse what nlohmann/json says to C++20's ranges.
add_compile_definitions($<$<COMPILE_LANGUAGE:CUDA>:JSON_HAS_RANGES=0>)
get_filename_component(WARPGRADE_ROOT "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT DEFINED CACHE{CMAKE_CXX_COMPILER_LAUNCHER})
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
elseif(NOT CCACHE_PROGRAM)
  set(CCACHE_PROGRAM "")  # commands that begin with it begin with nothing
endif()

# Tests are part of `all`, and left out where GoogleTest is missing: what judges needs none of it.
find_package(GTest QUIET)
include(GoogleTest)

# warpgrade_tests(<folder>): the tests of the folder that calls it.
macro(warpgrade_tests folder)
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")  # as in what students get
  elseif(GTest_FOUND)
    add_subdirectory("${folder}")
  else()
    message(STATUS "GoogleTest is not here (libgtest-dev): the tests in ${CMAKE_CURRENT_SOURCE_DIR}/${folder} are left out")
  endif()
endmacro()

# In a portable build each program brings along what its C++ library wants of a newer C library.
if(WARPGRADE_PORTABLE)
  add_library(older_libc OBJECT "${WARPGRADE_ROOT}/scripts/cmake/portable/older_libc.cpp")
endif()

# warpgrade_target(<target>): warnings are errors, for C++ only (nvcc's host passes warn about their own code).
function(warpgrade_target target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor $<$<NOT:$<BOOL:${WARPGRADE_FOR_USE}>>:-Werror>>)
  get_target_property(type ${target} TYPE)
  if(WARPGRADE_PORTABLE AND type MATCHES "EXECUTABLE|SHARED_LIBRARY")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:older_libc>)
  endif()
endfunction()

# warpgrade_carried(<target>): a program whose libraries a package may carry in lib/, beside bin/.
function(warpgrade_carried target)
  set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "$ORIGIN/../lib")
  # RPATH and not RUNPATH: it also leads the libraries to each other.
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()

# A fresh build for use compiles the headers, and what templates become, once for several sources. Whoever works on a
# source compiles it alone, which is quicker then.
option(WARPGRADE_FEW_UNITS "Compile many sources as few" OFF)

# warpgrade_cold(<target>): files, records, commands: nothing that is timed or that computes. A build for use spends half the
# time on it.
function(warpgrade_cold target)
  if(WARPGRADE_FOR_USE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Og>)
  endif()
endfunction()

# warpgrade_cold_without_gpu(<target>): what is timed where there is a GPU, or makes large data for one; elsewhere it is cold.
function(warpgrade_cold_without_gpu target)
  if(DEFINED WARPGRADE_GPU_SIDE AND NOT WARPGRADE_GPU_SIDE)
    warpgrade_cold(${target})
  endif()
endfunction()

# warpgrade_few_units(<target> [AT_ONCE <number>] [ALONE <source>...]): so many sources (24) make a unit; ALONE are sources
# whose local names another one has as well.
function(warpgrade_few_units target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "AT_ONCE" "ALONE")
  if(NOT arg_AT_ONCE)
    set(arg_AT_ONCE 24)
  endif()
  if(WARPGRADE_FEW_UNITS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${arg_AT_ONCE})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)  # one source's names, seen by the next
    if(arg_ALONE)
      set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
endfunction()
