# Builds GoogleTest from its source: the distribution's build needs the distribution's own, newer C library.
find_path(FP32SHIM_GTEST_SOURCE src/gtest-all.cc PATHS /usr/src/googletest/googletest NO_DEFAULT_PATH REQUIRED
  DOC "GoogleTest's source (Debian, Ubuntu: googletest)")
find_package(Threads REQUIRED)
add_library(gtest_built_here STATIC ${FP32SHIM_GTEST_SOURCE}/src/gtest-all.cc)
target_include_directories(gtest_built_here SYSTEM PUBLIC ${FP32SHIM_GTEST_SOURCE}/include PRIVATE ${FP32SHIM_GTEST_SOURCE})
target_link_libraries(gtest_built_here PUBLIC Threads::Threads)
add_library(gtest_main_built_here STATIC ${FP32SHIM_GTEST_SOURCE}/src/gtest_main.cc)
target_link_libraries(gtest_main_built_here PUBLIC gtest_built_here)
add_library(GTest::gtest ALIAS gtest_built_here)
add_library(GTest::gtest_main ALIAS gtest_main_built_here)
