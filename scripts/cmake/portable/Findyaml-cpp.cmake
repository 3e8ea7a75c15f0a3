find_library(yaml_cpp_LIBRARY yaml-cpp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(yaml-cpp REQUIRED_VARS yaml_cpp_LIBRARY)
if(yaml-cpp_FOUND AND NOT TARGET yaml-cpp)
  add_library(yaml-cpp STATIC IMPORTED)
  set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION "${yaml_cpp_LIBRARY}"
    INTERFACE_COMPILE_DEFINITIONS YAML_CPP_STATIC_DEFINE)
endif()
