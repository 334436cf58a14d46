// Every GoogleTest client: skipped, with status 77, on a machine without a CUDA device.
#include <gtest/gtest.h>

#include "device.hpp"

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (!testing::GTEST_FLAG(list_tests)) clients::Device::count();
    return RUN_ALL_TESTS();
}
