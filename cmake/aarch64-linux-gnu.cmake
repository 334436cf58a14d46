# Cross-builds for aarch64 with the distribution's compiler (Debian, Ubuntu: g++-aarch64-linux-gnu):
#
#   cmake -S . -B build/aarch64/shim --toolchain cmake/aarch64-linux-gnu.cmake -DFP32SHIM_TESTS=OFF -DFP32SHIM_BENCH=OFF
#
# qemu-user runs the result: qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_PRELOAD=.../libfp32shim.so PROGRAM
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# The host's libraries must not be found. Its headers may be: toml++ consists of headers only, and the cross compiler
# itself searches /usr/include, after its own directories.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
