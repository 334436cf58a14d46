#include "shim/memory/own_memory.hpp"

#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <new>
#include <utility>

#include "shim/memory/arena.hpp"
#include "system/stderr_line.hpp"

extern "C" void fp32shim_call_on_stack(void (*function)(void*), void* argument,
                                       void* stack_top);  // defined in call_on_stack.S

namespace fp32shim {
namespace {

// Memory that is used first, so that reading the environment and a short policy takes no system call. A part of it is
// left for a process that has no other memory. Its pages take address space, but use no memory until they are
// touched.
constexpr std::size_t least_block_size = 64;
alignas(least_block_size) constinit char settings_reserve[256 << 10]{};
constexpr std::size_t part_for_exhaustion = 64 << 10;
constinit std::atomic<std::size_t> reserve_used{0};

/// Takes `size` bytes if `left` bytes are then left.
void* allocate_from_reserve(std::size_t size, std::size_t left) {
    std::size_t used = reserve_used.load(std::memory_order_relaxed);
    do {
        if (size + left > sizeof settings_reserve - used) return nullptr;
    } while (!reserve_used.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
    return settings_reserve + used;
}

// The header of an allocation. The size of both together is a power of two.
struct alignas(std::max_align_t) Block {
    Block* next;
    int size_class;  ///< the binary logarithm of the size
};
// The freed blocks of each size. Later allocations use them again, so that reloads need little memory.
constinit std::atomic<Block*> free_blocks[64]{};

Block* take_free_block(std::atomic<Block*>& list) {
    // The whole list is taken, because the first block alone could be taken and freed by others at the same time.
    Block* const block = list.exchange(nullptr, std::memory_order_acquire);
    Block* rest = block != nullptr ? block->next : nullptr;
    if (Block* none = nullptr; list.compare_exchange_strong(none, rest, std::memory_order_release)) return block;
    while (rest != nullptr) push_front(list, std::exchange(rest, rest->next));
    return block;
}

/// Maps memory for a block, and for further blocks of this size if it is small.
void* map_blocks(std::size_t block_size) {
    const std::size_t size = std::max<std::size_t>(block_size, 64 << 10);
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    const int size_class = std::countr_zero(block_size);
    for (std::size_t offset = block_size; offset < size; offset += block_size)
        push_front(free_blocks[size_class], new (static_cast<char*>(memory) + offset) Block{nullptr, size_class});
    return memory;
}

// Does not call malloc: the product may be in a signal handler that has interrupted malloc.
void* allocate(std::size_t size) {
    constexpr std::size_t limit = std::size_t{1} << 40;
    if (size > limit) return nullptr;
    const std::size_t block_size = std::bit_ceil(std::max(size + sizeof(Block), least_block_size));
    const int size_class = std::countr_zero(block_size);
    Block* const freed = take_free_block(free_blocks[size_class]);
    if (freed != nullptr) return freed + 1;
    void* memory = allocate_from_reserve(block_size, part_for_exhaustion);
    if (memory == nullptr) memory = map_blocks(block_size);
    if (memory == nullptr) memory = allocate_from_reserve(block_size, 0);
    return memory != nullptr ? new (memory) Block{nullptr, size_class} + 1 : nullptr;
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
    using namespace fp32shim;
    if (memory == nullptr) return;
    auto* const block = static_cast<Block*>(memory) - 1;
    push_front(free_blocks[block->size_class], block);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
