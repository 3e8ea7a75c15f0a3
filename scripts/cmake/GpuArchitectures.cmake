# Which GPUs the judge's own kernels are compiled for: those of -DCMAKE_CUDA_ARCHITECTURES (make: ARCHITECTURES=), else PTX
# for every GPU since Turing, and machine code for the GPUs that are here. What the toolkit does not know is told.

# The compute capabilities, without their dot, that the toolkit compiles for.
function(warpgrade_known_capabilities nvcc result)
  execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE listed ERROR_QUIET)
  string(REGEX MATCHALL "compute_[0-9]+" names "${listed}")
  list(TRANSFORM names REPLACE "compute_" "")
  list(SORT names COMPARE NATURAL)
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

# One sentence: why the toolkit cannot compile for a capability, and which one can.
function(warpgrade_unknown_capability nvcc capability known result)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE said ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" found "${said}")
  list(JOIN known ", " names)
  if(capability LESS 60)
    set(advice "the oldest that Warpgrade supports is 60 (Pascal)")
  elseif(capability LESS 75)
    set(advice "the last toolkit that supports it is CUDA 12.9: install that one and set CUDA_HOME to it")
  else()
    set(advice "a newer toolkit may support it: set CUDA_HOME to one")
  endif()
  set(${result} "CUDA ${CMAKE_MATCH_1} (${nvcc}) does not compile for GPUs of compute capability ${capability}, only for ${names}; ${advice}"
      PARENT_SCOPE)
endfunction()

# The capabilities of the GPUs that are here, without their dot.
function(warpgrade_capabilities_here result)
  set(${result} "" PARENT_SCOPE)
  find_program(WARPGRADE_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(WARPGRADE_NVIDIA_SMI)
  if(WARPGRADE_NVIDIA_SMI)
    execute_process(COMMAND "${WARPGRADE_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE said ERROR_QUIET TIMEOUT 30)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${said}")
    list(TRANSFORM found REPLACE "\\." "")
    list(REMOVE_DUPLICATES found)
    set(${result} "${found}" PARENT_SCOPE)
  endif()
endfunction()

# Stops where the toolkit does not know what was asked for. The refused value is not kept for the next configuration.
function(warpgrade_check_asked nvcc known)
  foreach(asked ${CMAKE_CUDA_ARCHITECTURES})
    if(asked MATCHES "^([0-9]+)[af]?(-real|-virtual)?$")
      set(capability ${CMAKE_MATCH_1})
      if(NOT capability IN_LIST known)
        warpgrade_unknown_capability("${nvcc}" ${capability} "${known}" why)
        unset(CMAKE_CUDA_ARCHITECTURES CACHE)
        message(FATAL_ERROR "ARCHITECTURES=${capability}: ${why}")
      endif()
    elseif(NOT asked MATCHES "^(all|all-major|native)$")
      unset(CMAKE_CUDA_ARCHITECTURES CACHE)
      message(FATAL_ERROR "ARCHITECTURES=${asked} is no compute capability. Give numbers without their dot, separated by "
                          "commas, for instance ARCHITECTURES=75-virtual,90")
    endif()
  endforeach()
endfunction()

# Without a wish: Turing's PTX runs on everything newer; an older GPU that is here takes its own.
function(warpgrade_usual_architectures nvcc known result)
  warpgrade_capabilities_here(here)
  if(NOT here AND (EXISTS /proc/driver/nvidia/version OR EXISTS /dev/nvidiactl))
    set(here 90)  # a driver that tells nothing
  endif()
  set(chosen 75-virtual)
  foreach(capability ${here})
    if(capability IN_LIST known)
      list(APPEND chosen ${capability})
    elseif(capability LESS 75)
      warpgrade_unknown_capability("${nvcc}" ${capability} "${known}" why)
      message(WARNING "The GPU here cannot judge: ${why}. BACKEND=emulator works.")
    endif()
  endforeach()
  set(${result} "${chosen}" PARENT_SCOPE)
endfunction()

warpgrade_known_capabilities("${CMAKE_CUDA_COMPILER}" warpgrade_known)
if(CMAKE_CUDA_ARCHITECTURES AND warpgrade_known)
  warpgrade_check_asked("${CMAKE_CUDA_COMPILER}" "${warpgrade_known}")
elseif(NOT CMAKE_CUDA_ARCHITECTURES)
  warpgrade_usual_architectures("${CMAKE_CUDA_COMPILER}" "${warpgrade_known}" CMAKE_CUDA_ARCHITECTURES)
endif()
