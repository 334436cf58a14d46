# Builds for an older C library than this machine's, by zig's clang. The C++ library is linked in statically.
#
#   pip install ziglang
#   cmake --preset portable [-DFP32SHIM_ZIG=PROGRAM] [-DFP32SHIM_GLIBC=2.17] [-DFP32SHIM_PROCESSOR=aarch64]
#
# zig is searched for on the path, and in the packages of python3.
set(FP32SHIM_GLIBC 2.17 CACHE STRING "the oldest C library that the result runs on; zig knows 2.17 and newer")
cmake_host_system_information(RESULT machine QUERY OS_PLATFORM)
set(FP32SHIM_PROCESSOR ${machine} CACHE STRING "the processor that the result runs on: x86_64 or aarch64")
find_program(FP32SHIM_ZIG zig DOC "the program of that name, which `pip install ziglang` brings")
if(NOT FP32SHIM_ZIG)
  execute_process(COMMAND python3 -c "import ziglang; print(ziglang.__path__[0])"
    OUTPUT_VARIABLE folder ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  find_program(FP32SHIM_ZIG zig PATHS "${folder}" NO_DEFAULT_PATH)
endif()
if(NOT FP32SHIM_ZIG)
  message(FATAL_ERROR "no zig: `pip install ziglang`, or name the program by -DFP32SHIM_ZIG=PROGRAM")
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES FP32SHIM_ZIG FP32SHIM_GLIBC FP32SHIM_PROCESSOR)
if(NOT FP32SHIM_PROCESSOR STREQUAL machine)
  set(CMAKE_SYSTEM_NAME Linux)  # makes CMake treat the build as a cross build
  set(CMAKE_SYSTEM_PROCESSOR ${FP32SHIM_PROCESSOR})
endif()

# CMake needs a compiler that is a single program, so scripts wrap zig. By default zig traps on undefined behaviour
# (-fno-sanitize turns that off), and writes debug information with the paths of this folder (-g0 turns that off).
set(zig ${CMAKE_BINARY_DIR}/zig)
foreach(tool cc c++)
  file(CONFIGURE OUTPUT ${zig}/${tool} @ONLY CONTENT
    "#!/bin/sh\nexec '${FP32SHIM_ZIG}' ${tool} -target ${FP32SHIM_PROCESSOR}-linux-gnu.${FP32SHIM_GLIBC} -fno-sanitize=undefined -g0 \"$@\"\n")
  file(CHMOD ${zig}/${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE)
endforeach()
set(CMAKE_C_COMPILER ${zig}/cc)
set(CMAKE_CXX_COMPILER ${zig}/c++)
set(CMAKE_ASM_COMPILER ${zig}/cc)

# Links each header-only library into its own folder. With /usr/include as a whole, the compiler would find this
# machine's C library before zig's.
file(MAKE_DIRECTORY ${zig}/include)
foreach(name toml++ nlohmann CLI fmt elfutils dwarf.h gelf.h libelf.h zlib.h zconf.h lz4.h zstd.h zstd_errors.h)
  find_path(FP32SHIM_${name}_FOUND_IN ${name} PATHS /usr/include /usr/local/include)
  if(FP32SHIM_${name}_FOUND_IN)
    file(CREATE_LINK ${FP32SHIM_${name}_FOUND_IN}/${name} ${zig}/include/${name} SYMBOLIC)
  endif()
endforeach()
set(CMAKE_INCLUDE_PATH ${zig}/include)  # find_path() searches here first
