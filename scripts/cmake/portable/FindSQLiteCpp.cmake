find_library(SQLiteCpp_LIBRARY SQLiteCpp)
find_library(sqlite3_LIBRARY sqlite3)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SQLiteCpp REQUIRED_VARS SQLiteCpp_LIBRARY sqlite3_LIBRARY)
if(SQLiteCpp_FOUND AND NOT TARGET SQLiteCpp)
  add_library(SQLiteCpp STATIC IMPORTED)
  set_target_properties(SQLiteCpp PROPERTIES IMPORTED_LOCATION "${SQLiteCpp_LIBRARY}"
    INTERFACE_LINK_LIBRARIES "${sqlite3_LIBRARY};m;dl;pthread")
endif()
