# Units of several C++ files each (CMake's "unity builds"): the headers that the files share are compiled once for the unit,
# which takes a fourth of the time. Names in anonymous namespaces have to differ within a unit.
string(COMPARE EQUAL "${CMAKE_BUILD_TYPE}" Release units_by_default)
option(FP32SHIM_UNITY "compile several files at once; OFF is quicker for one who changes a file and builds again" ${units_by_default})

# Compiles the sources of a target in units: one for each folder beside the CMakeLists.txt, with the folders below it. Folders
# that are joined as in `read+write` share a unit; `.` is the folder of the CMakeLists.txt. A file stays by itself if it has
# compile options or definitions of its own, if it is named by its whole path, or with SKIP_UNITY_BUILD_INCLUSION.
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
  if(type STREQUAL STATIC_LIBRARY)  # who links it takes single functions, not the whole unit
    target_compile_options(${target} PRIVATE -ffunction-sections)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${FP32SHIM_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
