// A library with one exported function and one that is not exported, for exported_function_test.cpp.
#include <cstdint>

namespace physics {
namespace {
[[gnu::noinline, gnu::used]] void hidden() { asm volatile(""); }
}  // namespace
std::uintptr_t address() { return reinterpret_cast<std::uintptr_t>(&hidden); }
}  // namespace physics

extern "C" {
[[gnu::visibility("default")]] void named_exported() { asm volatile(""); }
[[gnu::visibility("default")]] std::uintptr_t address_of_hidden() { return physics::address(); }
}
