// The state of one thread: its scopes, its writer in the recording, and the buffer for a log line (a thread may
// have 16 KB of stack, so neither lives there). Made on first need; unmapped when the thread ends.
#pragma once

#include <array>
#include <cstdint>
#include "record/lines/decision_log.hpp"
#include "record/write/writer.hpp"
#include "shim/decision/kept_decisions.hpp"
#include "shim/scopes/scopes.hpp"

namespace fp32shim {

namespace where {
class UnwindCache;
}

struct ThreadContext {
    record::Recording* recording = nullptr;  ///< the recording that `writer` belongs to
    record::ThreadWriter* writer = nullptr;
    std::uint32_t writer_change_count = 0;  ///< settings_change_count() for which `recording` is in force
    bool writes_every_call = false;         ///< `recording` wants an event of every call
    KeptDecisions* decisions = nullptr;     ///< cached decisions, once a rule depends on sizes; see kept_decisions()
    Scopes scopes;                          ///< its key is on the same cache line as `writer`
    std::uint64_t audit_calls = 0;          ///< calls that might have been audited, see audit/sampling.hpp
    where::UnwindCache* unwinds = nullptr;  ///< tables of native stacks, once these are asked for; see unwind_cache()
    std::array<char, record::log_buffer_size> log_buffer{};
};

/// Returns this thread's context, made on first use; nullptr if there is no memory.
ThreadContext* thread_context();

/// Returns the decisions that this thread keeps, made on first use; nullptr if there is no memory.
KeptDecisions* kept_decisions();

/// Returns this thread's cache for native stacks, made on first use; nullptr if there is no memory.
where::UnwindCache* unwind_cache();

/// The context of the running thread; nullptr: none was made yet.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local ThreadContext* current_thread_context;
inline ThreadContext* existing_thread_context() { return current_thread_context; }

/// Returns the key of the scope that this thread is in; 0: none.
inline std::uint64_t scope_key() {
    const ThreadContext* const context = existing_thread_context();
    return context == nullptr ? 0 : context->scopes.key();
}

}  // namespace fp32shim
