// Holds the state of one thread: its scopes, its writer in the recording, and the buffer for a log line. The state is
// not on the thread's stack, which may have only 16 KB. It is made when it is first needed, and unmapped when the
// thread ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "policy/precision.hpp"
#include "record/lines/decision_log.hpp"
#include "record/write/writer.hpp"
#include "shim/scopes/scopes.hpp"

namespace fp32shim {

struct Frame;

/// A part of a thread's state that few threads need. Its type is defined in a folder that builds on this folder.
enum class ThreadPart : std::uint8_t { decision_cache, unwind_cache };
constexpr std::size_t thread_part_count = 2;

/// The first calls of each row of the recording, up to this number, are all timed on their GPU.
constexpr std::uint32_t first_gpu_times = 3;

struct ThreadContext {
    record::Recording* recording = nullptr;  ///< the recording to which `writer` belongs
    record::ThreadWriter* writer = nullptr;
    std::uint32_t writer_change_count = 0;  ///< settings_change_count() for which `recording` is the right one
    std::uint32_t gpu_calls_left = 0;       ///< number of calls before the next call that is timed on its GPU
    bool writes_every_call = false;         ///< true if every call gets an event in `recording`
    ScopeStack scopes;                      ///< its key() is on the same cache line as `writer`
    std::uint64_t audit_calls = 0;          ///< number of calls that might have been audited (see audit/groups.hpp)
    std::array<std::span<char>, thread_part_count> parts{};  ///< memory of each part; empty before its first use
    /// Return address of the last call by which oneDNN printed on this thread, if the shim hid the text from the
    /// program. It is 0 if the text was printed, or if oneDNN has flushed its output since.
    std::uintptr_t hidden_text_return_address = 0;
    const Frame* product = nullptr;  ///< frame of the product for which `permitted_format` was noted
    /// Format that note_permitted_format() noted for `product`.
    policy::AppliedFormat permitted_format = policy::AppliedFormat::unchanged;
    std::array<char, record::log_buffer_size> log_buffer{};

    /// Returns true if the next call of a row of the recording is to be timed on its GPU. Otherwise counts that call
    /// down in `gpu_calls_left` and returns false. The row has `calls_of_row` calls so far.
    bool measures_next_call(std::uint64_t calls_of_row) {
        if (calls_of_row < first_gpu_times) gpu_calls_left = 0;
        if (gpu_calls_left == 0) return true;
        --gpu_calls_left;
        return false;
    }
};

/// Returns this thread's context. Makes it on first use. Returns nullptr if there is no memory.
ThreadContext* thread_context();

/// The context of the running thread, or nullptr if it has none yet.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local ThreadContext* current_thread_context;
inline ThreadContext* existing_thread_context() { return current_thread_context; }

/// Returns the memory of a part of this thread's context. If the part does not exist yet, maps `size` bytes of zeros
/// for it. Returns nullptr if there is no memory.
void* make_thread_part(ThreadPart part, std::size_t size);

/// Returns a part of this thread's context. Makes the part on first use, filled with zeros. Returns nullptr if there
/// is no memory.
template <class T>
T* thread_part(ThreadPart part) {
    const ThreadContext* const context = existing_thread_context();
    void* const made = context == nullptr ? nullptr : context->parts[static_cast<std::size_t>(part)].data();
    return static_cast<T*>(made != nullptr ? made : make_thread_part(part, sizeof(T)));
}

/// Returns the key of the innermost scope of this thread; 0 if no scope is open.
inline std::uint64_t scope_key() {
    const ThreadContext* const context = existing_thread_context();
    return context == nullptr ? 0 : context->scopes.key();
}

}  // namespace fp32shim
