# Packs the bundle: cmake -DBUNDLE=FOLDER -DPROGRAMS=FILE;FILE -DDATA=FILE;FILE -DFRAMEWORKS=FILE;FILE -DVERSION=TEXT
#                         -DSTRIP=PROGRAM -DREADELF=PROGRAM [-DGLIBC=VERSION] -P pack.cmake
# Fails if a program needs other libraries than CUDA and the C library, or a C library newer than GLIBC, or if the
# bundle is too large to carry.
cmake_minimum_required(VERSION 3.22)

set(limit_bytes 41943040)  # limit of 40 MiB
set(cuda "libcublas\\.so\\.13|libcublasLt\\.so\\.13|libcuda\\.so\\.1")
set(c_library "lib(c|m)\\.so\\.6|lib(dl|pthread|rt)\\.so\\.[0-9]+|ld-linux-[a-z0-9-]+\\.so\\.[0-9]+")
set(may_need "^(${cuda}|${c_library})$")

file(REMOVE_RECURSE ${BUNDLE})
file(COPY ${PROGRAMS} ${DATA} DESTINATION ${BUNDLE})
file(COPY ${FRAMEWORKS} DESTINATION ${BUNDLE}/frameworks)

set(glibc 0)
foreach(program IN LISTS PROGRAMS)
  get_filename_component(name ${program} NAME)
  set(packed ${BUNDLE}/${name})
  file(RPATH_REMOVE FILE ${packed})
  execute_process(COMMAND ${STRIP} ${packed} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${READELF} --dynamic --wide ${packed} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  # For CMake, brackets join the elements of a list that contain them, so they are replaced.
  string(REGEX REPLACE "[][]" "|" dynamic "${dynamic}")
  string(REGEX MATCHALL "Shared library: \\|[^|]*" needed "${dynamic}")
  foreach(library IN LISTS needed)
    string(REPLACE "Shared library: |" "" library "${library}")
    if(NOT library MATCHES "${may_need}")
      message(FATAL_ERROR "${name} needs ${library}, which a machine with a GPU may not have")
    endif()
  endforeach()
  execute_process(COMMAND ${READELF} --version-info --wide ${packed} OUTPUT_VARIABLE versions COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "Name: GLIBC_[0-9.]+" versions "${versions}")
  foreach(version IN LISTS versions)
    string(REPLACE "Name: GLIBC_" "" version "${version}")
    if(GLIBC AND version VERSION_GREATER GLIBC)
      message(FATAL_ERROR "${name} needs GLIBC_${version}, newer than the ${GLIBC} that the bundle is for")
    endif()
    if(version VERSION_GREATER glibc)
      set(glibc ${version})
    endif()
  endforeach()
endforeach()

file(GLOB_RECURSE packed_files ${BUNDLE}/*)
set(total 0)
foreach(file IN LISTS packed_files)
  file(SIZE ${file} bytes)
  math(EXPR total "${total} + ${bytes}")
endforeach()
if(total GREATER limit_bytes)
  message(FATAL_ERROR "the bundle has ${total} bytes, more than ${limit_bytes}")
endif()
if(GLIBC)
  set(glibc ${GLIBC})
else()
  message(STATUS "${BUNDLE}: by this machine's compiler, for C libraries from ${glibc} on; `cmake --preset portable` "
    "builds one for 2.17")
endif()
file(WRITE ${BUNDLE}/GLIBC "${glibc}\n")
# Written last: the build system takes this file as the sign that the bundle is complete.
file(WRITE ${BUNDLE}/VERSION "${VERSION}\n")
math(EXPR kilobytes "${total} / 1024")
message(STATUS "${BUNDLE}: ${kilobytes} KiB")
