#include "record/write/rules.hpp"

#include <algorithm>

namespace fp32shim::record {

using format::RuleRecord;
using format::RuleSegment;

/// Returns the index of the first entry with this content that is not withdrawn; the number of entries if there is
/// none. The search begins at `begin` and wraps around.
std::uint32_t RecordingRules::find(std::uint64_t content, std::uint32_t begin) const {
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t index = (begin + i) % count;
        const bool is_withdrawn =
            (std::atomic_ref(entry(index).flags).load(std::memory_order_relaxed) & format::rule_is_withdrawn) != 0;
        if (entry(index).content == content && !is_withdrawn) return index;
    }
    return count;
}

void RecordingRules::update_rules(std::span<const policy::Rule> rules) {
    const system::HeldLock held(lock_);
    if (!held) return;
    const std::uint32_t known = count_.load(std::memory_order_relaxed);
    for (std::uint32_t index = 0; index < known; ++index) {
        const bool stays = std::ranges::any_of(
            rules, [&](const policy::Rule& rule) { return rule.content == entry(index).content; });
        if (!stays) std::atomic_ref(entry(index).flags).fetch_or(format::rule_is_withdrawn);
    }
    std::uint32_t next = 0;
    for (const policy::Rule& rule : rules) {
        const std::uint32_t index = known == 0 ? count_.load(std::memory_order_relaxed) : find(rule.content, next);
        if (index == count_.load(std::memory_order_relaxed)) {
            add(rule, 0);
            continue;
        }
        next = index + 1;
        RuleRecord& entry_of_rule = entry(index);
        if (entry_of_rule.line == static_cast<std::uint32_t>(rule.line)) continue;
        add(rule, std::atomic_ref(entry_of_rule.flags).load(std::memory_order_relaxed) & format::rule_is_used);
        std::atomic_ref(entry_of_rule.flags).fetch_or(format::rule_is_withdrawn);
    }
}

void RecordingRules::mark_used(const policy::Rule& rule) {
    const std::uint32_t index = find(rule.content, 0);
    if (index == count_.load(std::memory_order_relaxed)) return;
    const std::atomic_ref flags(entry(index).flags);
    if ((flags.load(std::memory_order_relaxed) & format::rule_is_used) == 0)
        flags.fetch_or(format::rule_is_used, std::memory_order_relaxed);
}

/// Returns the segment for one more entry; nullptr: there is no space. Precondition: lock_ is held.
RuleSegment* RecordingRules::segment_for_one_more() {
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    const std::uint32_t sequence = count / RuleSegment::capacity;
    if (sequence >= format::rule_segment_limit) return nullptr;
    if (count % RuleSegment::capacity != 0) return segments_[sequence];
    auto* segment = static_cast<RuleSegment*>(file_.map_new_segment());
    if (segment == nullptr) return nullptr;
    segment->header.sequence = sequence;
    file_.publish(segment->header, format::SegmentKind::rules);
    return segments_[sequence] = segment;
}

/// Adds an entry for a rule. If there is no space, the rule is silently left out. Precondition: lock_ is held.
void RecordingRules::add(const policy::Rule& rule, std::uint32_t flags) {
    const format::StringId name = rows_.string_id(rule.name), file = rows_.string_id(rule.file);
    RuleSegment* const segment = name != 0 ? segment_for_one_more() : nullptr;
    if (segment == nullptr) return;
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    RuleRecord& fresh = segment->entries[count % RuleSegment::capacity];
    fresh.name = name;
    fresh.file = file;
    fresh.line = static_cast<std::uint32_t>(rule.line);
    fresh.flags = flags;
    fresh.content = rule.content;
    std::atomic_ref(fresh.published).store(1, std::memory_order_release);
    count_.store(count + 1, std::memory_order_release);
}

}  // namespace fp32shim::record
