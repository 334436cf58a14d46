#include "shim/memory/own_stack.hpp"

#include <sys/mman.h>

#include <cstddef>

extern "C" void fp32shim_call_on_stack(void (*function)(void*), void* argument, void* stack_top);  // call_on_stack.S

namespace fp32shim {
namespace {

// Reading a policy needs 12 KB and, for hostile nesting, hundreds.
constexpr std::size_t stack_size = 2 << 20;

// Enough for all but the worst cases.
alignas(64) constinit char spare_stack[128 << 10]{};

}  // namespace

void run_on_own_stack(void (*function)(void*), void* argument) {
    void* stack = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        fp32shim_call_on_stack(function, argument, spare_stack + sizeof spare_stack);
    } else {
        fp32shim_call_on_stack(function, argument, static_cast<char*>(stack) + stack_size);
        munmap(stack, stack_size);
    }
}

}  // namespace fp32shim
