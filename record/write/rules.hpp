// Maintains the list of the policy's rules in a recording. A bit in the entry of each rule tells if the rule has
// decided a call, so that rules that never did can be reported.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "policy/policy.hpp"
#include "record/format/format.hpp"
#include "record/write/file.hpp"
#include "record/write/rows.hpp"
#include "system/fork_safe_lock.hpp"

namespace fp32shim::record {

/// The list of rules in a recording. Thread-safe, except for begin_list(). Never calls malloc.
class RuleList {
  public:
    RuleList(RecordingFile& file, RowTable& rows) : file_(file), rows_(rows) {}

    /// Begins an empty list for a new file. No other thread may use the file yet.
    void begin_list() { count_.store(0, std::memory_order_relaxed); }
    /// Notes that `rules` are now in force and all other rules are not. A rule with the same content as an earlier
    /// rule keeps that rule's flag rule_is_used. Must be called before `rules` decide a call.
    void update_rules(std::span<const policy::Rule> rules);
    /// Notes that a rule has decided a call. Lock-free.
    void mark_used(const policy::Rule& rule);

  private:
    std::uint32_t find_entry(std::uint64_t content, std::uint32_t begin) const;
    void add_entry(const policy::Rule& rule, std::uint32_t flags);

    RecordingFile& file_;
    RowTable& rows_;
    std::atomic<std::uint32_t> count_{0};  // number of complete entries in `records_`
    system::ForkSafeLock lock_;            // `lock_` is held while entries are added
    SegmentList<format::RuleRecord, format::rule_segment_limit> records_;
};

}  // namespace fp32shim::record
