# Of GoogleTest and nlohmann_json, the sources: what the distribution has built needs its own, newer C library.
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

# Headers only: the toolchain file has them apart from the rest of this machine's headers.
find_path(FP32SHIM_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
add_library(json_built_here INTERFACE)
target_include_directories(json_built_here SYSTEM INTERFACE ${FP32SHIM_JSON_INCLUDE})
add_library(nlohmann_json::nlohmann_json ALIAS json_built_here)
