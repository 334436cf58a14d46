# Finds header-only libraries by a header, not by their package files. A package file names the system's whole folder
# of headers, which belongs to another C library if cmake/zig.cmake builds for an older one.

# Adds the library TARGET, in the folder of HEADER. PACKAGE: the Debian package that has it, for the message.
function(add_header_library target header package)
  find_path(FP32SHIM_${target}_INCLUDE ${header} DOC "folder of ${header} (Debian, Ubuntu: ${package})")
  if(NOT FP32SHIM_${target}_INCLUDE)
    message(FATAL_ERROR "${header} was not found: install ${package} (Debian, Ubuntu), or name its folder: -DFP32SHIM_${target}_INCLUDE=FOLDER")
  endif()
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${FP32SHIM_${target}_INCLUDE})
endfunction()

add_header_library(toml++ toml++/toml.h libtomlplusplus-dev)
add_header_library(nlohmann_json nlohmann/json.hpp nlohmann-json3-dev)
if(FP32SHIM_COMMAND OR FP32SHIM_GPU_BUNDLE_ONLY)
  add_header_library(cli11 CLI/CLI.hpp libcli11-dev)
endif()
