#include "record/write/rules.hpp"

#include <algorithm>

namespace fp32shim::record {

using format::RuleRecord;

/// Returns the index of the first entry with the content `content` that is not withdrawn, or the number of entries if
/// there is none. The search begins at the index `begin` and wraps around.
std::uint32_t RuleList::find_entry(std::uint64_t content, std::uint32_t begin) const {
    const std::uint32_t count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t index = (begin + i) % count;
        const bool is_withdrawn =
            (std::atomic_ref(records_[index].flags).load(std::memory_order_relaxed) & format::rule_is_withdrawn) != 0;
        if (records_[index].content == content && !is_withdrawn) return index;
    }
    return count;
}

void RuleList::update_rules(std::span<const policy::Rule> rules) {
    const system::HeldLock held(lock_);
    if (!held) return;
    const std::uint32_t known = count_.load(std::memory_order_relaxed);
    for (std::uint32_t index = 0; index < known; ++index) {
        const bool stays = std::ranges::any_of(
            rules, [&](const policy::Rule& rule) { return rule.content == records_[index].content; });
        if (!stays) std::atomic_ref(records_[index].flags).fetch_or(format::rule_is_withdrawn);
    }
    std::uint32_t next = 0;
    for (const policy::Rule& rule : rules) {
        const std::uint32_t index =
            known == 0 ? count_.load(std::memory_order_relaxed) : find_entry(rule.content, next);
        if (index == count_.load(std::memory_order_relaxed)) {
            add_entry(rule, 0);
            continue;
        }
        next = index + 1;
        RuleRecord& entry_of_rule = records_[index];
        if (entry_of_rule.line == static_cast<std::uint32_t>(rule.line)) continue;
        add_entry(rule, std::atomic_ref(entry_of_rule.flags).load(std::memory_order_relaxed) & format::rule_is_used);
        std::atomic_ref(entry_of_rule.flags).fetch_or(format::rule_is_withdrawn);
    }
}

void RuleList::mark_used(const policy::Rule& rule) {
    const std::uint32_t index = find_entry(rule.content, 0);
    if (index == count_.load(std::memory_order_relaxed)) return;
    const std::atomic_ref flags(records_[index].flags);
    if ((flags.load(std::memory_order_relaxed) & format::rule_is_used) == 0)
        flags.fetch_or(format::rule_is_used, std::memory_order_relaxed);
}

/// Adds an entry for a rule. If there is no space, the rule is left out without a report. Precondition: lock_ is
/// held.
void RuleList::add_entry(const policy::Rule& rule, std::uint32_t flags) {
    const format::StringId name = rows_.id_of_text(rule.name), file = rows_.id_of_text(rule.file);
    const std::uint32_t count = count_.load(std::memory_order_relaxed);
    RuleRecord* const added = name != 0 ? records_.entry_for(count, file_, format::SegmentKind::rules) : nullptr;
    if (added == nullptr) return;
    RuleRecord& fresh = *added;
    fresh.name = name;
    fresh.file = file;
    fresh.line = static_cast<std::uint32_t>(rule.line);
    fresh.flags = flags;
    fresh.content = rule.content;
    std::atomic_ref(fresh.published).store(1, std::memory_order_release);
    count_.store(count + 1, std::memory_order_release);
}

}  // namespace fp32shim::record
