# Compiles several C++ files as one unit (CMake's "unity builds"). A unit compiles the headers that its files share
# once, which takes a fourth of the time. Names in anonymous namespaces must differ within a unit.
string(COMPARE EQUAL "${CMAKE_BUILD_TYPE}" Release units_by_default)
option(FP32SHIM_UNITY "compile several files at once; OFF is quicker for one who changes a file and builds again" ${units_by_default})

# Compiles the sources of a target in units: one for each folder beside the CMakeLists.txt, subfolders included.
# Folders joined as in `read+write` share a unit; `.` is the folder of the CMakeLists.txt. A file is compiled by
# itself if it has its own compile options or definitions, if it is named by its absolute path, or with
# SKIP_UNITY_BUILD_INCLUSION.
function(build_in_units target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(IS_ABSOLUTE ${source})
      continue()
    endif()
    string(REGEX REPLACE "/.*" "" folder ${source})
    if(folder STREQUAL source)
      set(folder .)
    endif()
    set(unit ${folder})
    foreach(joined IN LISTS ARGN)
      string(REPLACE "+" ";" folders ${joined})
      if(folder IN_LIST folders)
        set(unit ${joined})
      endif()
    endforeach()
    string(MAKE_C_IDENTIFIER ${unit} unit)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL STATIC_LIBRARY)  # programs that link a static library take single functions from it, not whole
                                    # units
    target_compile_options(${target} PRIVATE -ffunction-sections)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${FP32SHIM_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
