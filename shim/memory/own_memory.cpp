#include "shim/memory/own_memory.hpp"

#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "system/stderr_line.hpp"

extern "C" void fp32shim_call_on_stack(void (*function)(void*), void* argument,
                                       void* stack_top);  // defined in call_on_stack.S

namespace fp32shim {
namespace {

// The reserve for allocations after malloc has failed. It is large enough to read the environment and a short policy.
// Its pages take address space, but use no memory until they are touched.
constexpr std::size_t malloc_alignment = alignof(std::max_align_t);
alignas(malloc_alignment) constinit char malloc_reserve[256 << 10]{};
constinit std::atomic<std::size_t> reserve_used{0};

bool is_of_reserve(const void* memory) {
    return memory >= malloc_reserve && memory < malloc_reserve + sizeof malloc_reserve;
}

void* allocate_from_reserve(std::size_t size) {
    if (size > sizeof malloc_reserve) return nullptr;
    size = (size + malloc_alignment - 1) / malloc_alignment * malloc_alignment;
    std::size_t used = reserve_used.load(std::memory_order_relaxed);
    do {
        if (size > sizeof malloc_reserve - used) return nullptr;
    } while (!reserve_used.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
    return malloc_reserve + used;
}

void* allocate(std::size_t size) {
    if (size == 0) size = 1;
    void* memory = std::malloc(size);
    return memory != nullptr ? memory : allocate_from_reserve(size);
}

// The point to which a thread jumps when it runs out of memory. An exception cannot be used, because throwing one
// allocates.
__attribute__((tls_model("initial-exec"))) constinit thread_local jmp_buf* out_of_memory_target = nullptr;

[[noreturn]] void jump_out() {
    if (out_of_memory_target != nullptr) longjmp(*out_of_memory_target, 1);
    system::stderr_line("out of memory; ending the process");
    _exit(127);
}

// Reading a policy takes 12 KB of stack, but hundreds of KB if someone nests the policy's tables deeply on purpose.
constexpr std::size_t stack_size = 2 << 20;

// The stack that is used if the kernel has no memory for one. It is large enough for all policies except deeply
// nested ones.
alignas(64) constinit char spare_stack[128 << 10]{};

}  // namespace

bool run_while_memory_lasts(void (*function)(void*), void* argument) {
    jmp_buf here;
    if (_setjmp(here) != 0) {
        out_of_memory_target = nullptr;
        return false;
    }
    out_of_memory_target = &here;
    function(argument);
    out_of_memory_target = nullptr;
    return true;
}

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

void* operator new(std::size_t size) {
    void* memory = fp32shim::allocate(size);
    if (memory == nullptr) fp32shim::jump_out();
    return memory;
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return fp32shim::allocate(size); }

void operator delete(void* memory) noexcept {
    if (!fp32shim::is_of_reserve(memory)) std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
