// The state of one thread: its scopes, its writer in the recording, and the buffer for a log line (a thread may
// have 16 KB of stack, so neither lives there). Made on first need; unmapped when the thread ends.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "policy/precision.hpp"
#include "record/lines/decision_log.hpp"
#include "record/write/writer.hpp"
#include "shim/decision/kept_decisions.hpp"

namespace fp32shim {

constexpr int scope_depth_limit = 64;
constexpr std::size_t scope_label_limit = 1024;  ///< bytes, for all labels of a thread joined by '/'

/// One scope that this thread has pushed, with the values in force inside it: innermost precision, strictest floor.
struct Scope {
    std::int8_t precision = -1;  ///< a policy::Precision; -1: none
    policy::Floor floor = policy::Floor::none;
    std::uint16_t label_size = 0;  ///< leading bytes of the thread's `labels` that are in force
};

struct ThreadContext {
    int depth = 0;
    std::array<Scope, scope_depth_limit + 1> scopes{};  ///< scopes[0]: outside every scope
    record::Recording* recording = nullptr;             ///< the recording that `writer` belongs to
    record::ThreadWriter* writer = nullptr;
    std::uint32_t writer_change_count = 0;  ///< settings_change_count() for which `recording` is in force
    bool writes_every_call = false;         ///< `recording` wants an event of every call
    KeptDecisions* decisions = nullptr;     ///< cached decisions, once a rule depends on sizes; see kept_decisions()
    std::array<char, scope_label_limit> labels{};
    std::array<char, record::log_buffer_size> log_buffer{};

    const Scope& scope() const { return scopes[static_cast<std::size_t>(depth)]; }
    std::string_view scope_label() const { return {labels.data(), scope().label_size}; }
};

/// Returns this thread's context, made on first use; nullptr if there is no memory.
ThreadContext* thread_context();

/// Returns the decisions that this thread keeps, made on first use; nullptr if there is no memory.
KeptDecisions* kept_decisions();

/// The context of the running thread; nullptr: none was made yet.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local ThreadContext* current_thread_context;
inline ThreadContext* existing_thread_context() { return current_thread_context; }

}  // namespace fp32shim
