#include "shim/settings/start_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "record/process_facts.hpp"
#include "shim/memory/arena.hpp"

extern "C" void*
    __libc_stack_end;  // of the loader; NOLINT(bugprone-reserved-identifier,readability-identifier-naming)

namespace fp32shim {
namespace {

bool is_setting(std::string_view entry) {
    return entry.starts_with("FP32_MATMUL_") || entry.starts_with(record::run_variable);
}

struct StartVariable {
    std::string_view entry;
    const StartVariable* next;
};
constinit std::atomic<const StartVariable*> start_variables{nullptr};
constinit std::atomic<bool> start_is_kept{false};

/// Returns the environment that the process was started with. A program whose DT_PREINIT_ARRAY multiplies does so
/// before the C library knows its environment. Then it still stands where the kernel put it: number of arguments,
/// arguments, NULL, environment.
char** start_environment() {
    if (environ != nullptr) return environ;
    auto** arguments = static_cast<char**>(__libc_stack_end) + 1;
    const auto count = *static_cast<const long*>(__libc_stack_end);
    return arguments + count + 1;
}

/// Keeps a copy of our variables. A daemon may clear its environment, or write over its bytes, long before it
/// multiplies, and a floor has to outlast that.
__attribute__((constructor)) void keep_start_variables() {
    if (start_is_kept.load(std::memory_order_acquire)) return;
    char** const begin = start_environment();
    char** entry = begin;
    while (*entry != nullptr) ++entry;
    const StartVariable* first = nullptr;
    while (entry != begin) {
        if (is_setting(*--entry)) first = arena_new<StartVariable>(arena_copy(*entry), first);
    }
    // Complete before they are said to be: of two threads that come here at once, both find the same.
    start_variables.store(first, std::memory_order_release);
    start_is_kept.store(true, std::memory_order_release);
}

}  // namespace

const policy::Environment& first_environment() {
    static constinit std::atomic<policy::Environment*> copy{nullptr};
    policy::Environment* known = copy.load(std::memory_order_acquire);
    if (known == nullptr) {
        keep_start_variables();  // a product may come before our constructors
        // Complete before it is seen: a child forked meanwhile makes its own.
        known = new policy::Environment;
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
            known->push_back(arena_copy(*entry));
        if (std::none_of(known->begin(), known->end(), is_setting)) {
            for (const StartVariable* variable = start_variables.load(std::memory_order_acquire); variable != nullptr;
                 variable = variable->next)
                known->push_back(variable->entry);
        }
        copy.store(known, std::memory_order_release);
    }
    return *known;
}

}  // namespace fp32shim
