# Registers whole-process tests: one ctest test per pytest file, run by the system's Python.

# Costs in seconds, on one core, of tests that take longer than ten. Without times from an earlier run, ctest starts the
# longest tests first; otherwise the last would run alone.
set(test_costs
  wheels.module_paths=120 wheels.products=90 cublas.gpu_check=90 preload.aarch64=90
  cublas.audit=60 wheels.pytest_plugin=80 cli.sensitivity=70 cli.report_html=80 cublas.products=60 cublas.gpu_bundle=50
  cublas.judges=20
  wheels.onednn=75 wheels.jax=70 wheels.suites=65 cli.bisect=40 wheels.reproducible=50 cli.readme=50 preload.programs=45 preload.pytest_plugin=45 cli.flame_graph=42
  recording.kills=20 cublas.recordings=34 cli.verify_bypasses=33 preload.reproducible=32 cli.rule_use=13
  preload.random_calls=35
  cli.source_locations=30 cli.explain=29 preload.audit=13 wheels.qtlq=23 wheels.mkl=22 cublas.lt=16
  preload.limits=60 preload.nonfinite=19 cli.recordings=18 cublas.real_libraries=18 cli.scale=17 cli.diff_results=17 cli.doctor=16
  packages.self_extracting=15 preload.published_tables=15 preload.where_bad_input=15 cli.run=14 cli.kept_runs=15 wheels.ranges=13
  preload.fingerprints=13 cublas.handles=13 deploy.ci=11 cli.diff=20 recording.control=10)
function(set_test_cost name)
  foreach(cost IN LISTS test_costs)
    if(cost MATCHES "^${name}=([0-9]+)$")
      set_tests_properties(${name} PROPERTIES COST ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

# Tests whose outcome depends on the instructions that the shim or a library chooses. They have the label `processor`, as
# emulate.* and fingerprint.* have: .ci/run runs them once more as an older processor sees them. A test belongs here if it
# compares digits or errors of products, names kernels, or asks processor.py.
set(processor_tests
  cublas.judges preload.accelerate preload.audit preload.emulation preload.environment preload.fingerprints preload.float64
  preload.nonfinite preload.published_tables preload.random_products preload.reproducible preload.random_calls
  cli.diff cli.doctor cli.readme cli.suggest cli.tutorial wheels.mkl wheels.products wheels.qtlq wheels.reproducible)
function(set_processor_label name)
  if(name IN_LIST processor_tests)
    set_property(TEST ${name} APPEND PROPERTY LABELS processor)
  endif()
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
    set_tests_properties(${name} PROPERTIES TIMEOUT 3000)
    set_property(TEST ${name} PROPERTY LABELS whole-process ${arg_LABELS})
    set_property(TEST ${name} PROPERTY ENVIRONMENT "FP32SHIM_BUILD=${CMAKE_BINARY_DIR}"
      "FP32SHIM_TEST_CLIENTS=${CMAKE_BINARY_DIR}/tests/clients" "FP32SHIM_SYSTEM_PYTHON=${FP32SHIM_SYSTEM_PYTHON}"
      PYTEST_ADDOPTS= PYTEST_PLUGINS= PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH= PYTHONHOME= PYTHONUTF8=1
      "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/tests/cache"
      ${arg_ENVIRONMENT})
    set_test_cost(${name})
    set_processor_label(${name})
  endforeach()
endfunction()
