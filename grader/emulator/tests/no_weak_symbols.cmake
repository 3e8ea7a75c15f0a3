# Fails when an object file defines a weak symbol.
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND "${NM}" -C --defined-only "${object}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[^\n]* V DW.ref[^\n]*" "" symbols "${symbols}")  # pointers for unwinding, no code
  string(REGEX MATCH "[^\n]* [WVu] [^\n]*" weak "${symbols}")
  if(weak)
    message(FATAL_ERROR "${object} defines a weak symbol: ${weak}")
  endif()
endforeach()
