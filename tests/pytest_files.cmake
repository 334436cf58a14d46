# Registers whole-process tests: one ctest test per pytest file, run by the system's Python.

# Costs in seconds. Without times from an earlier run, ctest starts the longest tests first; otherwise the last would
# run alone.
set(test_costs cublas.gpu_check=170 wheels.module_paths=90 cli.source_locations=40 wheels.products=90 cublas.products=80 cublas.audit=50 wheels.suites=60 wheels.bisect=60 wheels.pytest_plugin=120 cli.bisect=100 preload.aarch64=50 preload.pytest_plugin=40 cublas.gpu_bundle=60
  preload.programs=45 wheels.qtlq=15 cublas.lt=15 cublas.recordings=15 cublas.real_libraries=22 cli.explain=20
  cli.rule_use=30 cli.report_html=40 cli.flame_graph=35 cli.scale=30 cli.doctor=20 recording.kills=20 cublas.handles=18 wheels.mkl=17 cublas.loading=16
  cli.verify_bypasses=12 cli.readme=30)
function(set_test_cost name)
  foreach(cost IN LISTS test_costs)
    if(cost MATCHES "^${name}=([0-9]+)$")
      set_tests_properties(${name} PROPERTIES COST ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

# add_pytest_files(FOLDER [LABELS...] [ENVIRONMENT...]): each test_NAME.py beside the caller's CMakeLists.txt becomes
# FOLDER.NAME. The tests get the paths of the build; variables of the shell for pytest and Python are removed. The slowest
# functions of each file are named in Testing/Temporary/LastTest.log.
function(add_pytest_files folder)
  cmake_parse_arguments(arg "" "" "LABELS;ENVIRONMENT" ${ARGN})
  file(GLOB files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS test_*.py)
  foreach(file IN LISTS files)
    string(REGEX REPLACE "^test_(.*)\\.py$" "${folder}.\\1" name ${file})
    add_test(NAME ${name}
      COMMAND ${FP32SHIM_SYSTEM_PYTHON} -m pytest -q -rs --durations=10 --durations-min=1 ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set_tests_properties(${name} PROPERTIES TIMEOUT 1500)
    set_property(TEST ${name} PROPERTY LABELS whole-process ${arg_LABELS})
    set_property(TEST ${name} PROPERTY ENVIRONMENT "FP32SHIM_BUILD=${CMAKE_BINARY_DIR}"
      "FP32SHIM_TEST_CLIENTS=${CMAKE_BINARY_DIR}/tests/clients" "FP32SHIM_SYSTEM_PYTHON=${FP32SHIM_SYSTEM_PYTHON}"
      PYTEST_ADDOPTS= PYTEST_PLUGINS= PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH= PYTHONHOME= PYTHONUTF8=1
      "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/tests/cache"
      ${arg_ENVIRONMENT})
    set_test_cost(${name})
  endforeach()
endfunction()
