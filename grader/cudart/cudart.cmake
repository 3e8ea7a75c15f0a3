# The front end of the CUDA runtime, compiled once, and libraries that put a backend behind it. Both take the name,
# soname and symbol version of the toolkit's own library.
include_guard(GLOBAL)
find_package(Threads REQUIRED)
find_package(CUDAToolkit REQUIRED)
enable_language(ASM)

set(CUDART_NVIDIA "${CUDAToolkit_LIBRARY_DIR}/libcudart.so" CACHE INTERNAL "")
execute_process(COMMAND ${CMAKE_READELF} -d "${CUDART_NVIDIA}" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "soname: \\[(libcudart\\.so\\.[0-9]+)\\]" unused "${dynamic}")
set(CUDART_SONAME "${CMAKE_MATCH_1}" CACHE INTERNAL "")
string(REPLACE "libcudart.so." "" major "${CUDART_SONAME}")
set(CUDART_MAJOR "${major}" CACHE INTERNAL "")

set(CUDART_STUBS "${CMAKE_CURRENT_BINARY_DIR}/cudart_stubs.S")
add_custom_command(
  OUTPUT ${CUDART_STUBS}
  COMMAND ${CMAKE_COMMAND} -DLIBRARY=${CUDART_NVIDIA} -DOUTPUT=${CUDART_STUBS} -DNM=${CMAKE_NM}
          -DPROCESSOR=${CMAKE_SYSTEM_PROCESSOR} -P ${CMAKE_CURRENT_LIST_DIR}/GenerateStubs.cmake
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/GenerateStubs.cmake ${CUDART_NVIDIA}
  VERBATIM)

file(GLOB cudart_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
list(FILTER cudart_sources EXCLUDE REGEX "fat_binary|host_fault|stream_clocks")  # backends hold them, too
add_library(cudart_front OBJECT ${cudart_sources} ${CUDART_STUBS})
target_include_directories(cudart_front PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..)
target_include_directories(cudart_front SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS})
target_compile_options(cudart_front PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O2 -fno-strict-aliasing -Wno-deprecated-declarations>)
warpgrade_target(cudart_front)
warpgrade_cold_without_gpu(cudart_front)
warpgrade_few_units(cudart_front)

# The order of streams, for backends that follow it.
add_library(stream_clocks OBJECT ${CMAKE_CURRENT_LIST_DIR}/stream_clocks.cpp)
target_include_directories(stream_clocks PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
target_include_directories(stream_clocks SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_compile_options(stream_clocks PRIVATE -fvisibility=hidden -Wno-deprecated-declarations)
warpgrade_target(stream_clocks)

# cudart_library(<target> <folder> <own symbols>): finishes a shared library with a backend's sources.
function(cudart_library target folder symbols)
  set(map "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(WRITE "${map}" "${CUDART_SONAME} { global: cuda*; __cuda*; };\nWARPGRADE { global: ${symbols}; warpgrade_capture_work; local: *; };\n")
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:cudart_front>)
  target_include_directories(${target} PRIVATE ${WARPGRADE_ROOT}/grader)
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O2 -fno-strict-aliasing -Wno-deprecated-declarations>)
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME cudart
    SUFFIX .so.${CUDART_MAJOR}
    NO_SONAME ON
    LINK_OPTIONS "-Wl,--version-script=${map};-Wl,-z,defs;-static-libstdc++;$<IF:$<BOOL:${WARPGRADE_PORTABLE}>,,-static-libgcc>;-Wl,-soname,${CUDART_SONAME}"
    LINK_DEPENDS ${map}
    LIBRARY_OUTPUT_DIRECTORY ${folder})
  warpgrade_target(${target})
endfunction()
