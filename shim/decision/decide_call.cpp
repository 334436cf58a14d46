#include "shim/decision/decide_call.hpp"

#include <atomic>
#include <iterator>
#include <span>

#include "policy/conditions.hpp"
#include "shim/audit/groups.hpp"
#include "shim/decision/decision_cache.hpp"
#include "shim/memory/arena.hpp"
#include "shim/thread/thread_context.hpp"
#include "shim/where/location.hpp"
#include "shim/where/native/call_site.hpp"
#include "system/hash.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {

/// The rules of one policy that can match calls of one function from one caller. Call sites of this function and
/// caller share the list. Lists are never freed, and a reload of the policy makes new ones.
struct SiteRuleList {
    const Settings* settings;
    std::string_view function;
    std::string_view caller;
    policy::Device device;
    std::span<const std::uint16_t> rules;  ///< indices of the rules, in the policy's order
    const SiteRuleList* next;
};

namespace {

// ---- the rules of a policy that can match calls of one call site ----
// They are selected at the first call of the call site. So even if a policy has hundreds of rules, each call tries
// only the few that can match.

constinit std::atomic<const SiteRuleList*> known_rules{nullptr};

bool are_valid_for(const SiteRuleList& rules, const Settings& in_force, const policy::MatmulCall& call) {
    return rules.settings == &in_force && rules.device == call.device && rules.function == call.function &&
           rules.caller == call.caller;
}

const SiteRuleList* find_site_rules(const Settings& in_force, const policy::MatmulCall& call) {
    for (const SiteRuleList* rules = known_rules.load(std::memory_order_acquire); rules != nullptr;
         rules = rules->next)
        if (are_valid_for(*rules, in_force, call)) return rules;
    return nullptr;
}

const SiteRuleList& make_site_rules(const Settings& in_force, const policy::MatmulCall& call) {
    policy::CallSiteFacts facts{call.function, call.caller, call.device, std::nullopt};
    // For GPUs, the type stays unset, since calls of one cuBLAS function can differ in type.
    if (call.device == policy::Device::cpu) facts.dtype = call.dtype;
    const auto& all = in_force.policy.rules;
    auto* indices = static_cast<std::uint16_t*>(arena_allocate(all.size() * sizeof(std::uint16_t)));
    std::size_t count = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (policy::may_match(all[i], facts, in_force.process)) indices[count++] = static_cast<std::uint16_t>(i);
    auto* fresh = arena_new<SiteRuleList>(&in_force, arena_copy(call.function), arena_copy(call.caller), call.device,
                                          std::span<const std::uint16_t>(indices, count), nullptr);
    push_front(known_rules, fresh);
    return *fresh;
}

/// Returns the rules that can match calls of this call site. Thread-safe, lock-free.
const SiteRuleList& rules_of_site(Site& site, const Settings& in_force, const policy::MatmulCall& call) {
    const SiteRuleList* kept = site.rules.load(std::memory_order_acquire);
    if (kept != nullptr && are_valid_for(*kept, in_force, call)) return *kept;
    const SiteRuleList* known = find_site_rules(in_force, call);
    if (known == nullptr) known = &make_site_rules(in_force, call);
    site.rules.store(known, std::memory_order_release);
    return *known;
}

// ---- decisions ----

policy::PrecisionOverrides overrides() {
    policy::PrecisionOverrides result;
    result.process = process_precision();
    result.floor = process_floor();
    if (const ThreadContext* context = existing_thread_context()) {
        const Scope& scope = context->scopes.innermost();
        if (scope.precision >= 0) result.thread = static_cast<policy::Precision>(scope.precision);
        if (scope.floor > result.floor) result.floor = scope.floor;
    }
    return result;
}

/// Counts a call in a group: the calls of this function with the same sizes and scope from the same line of Python
/// or, if `line` is empty, from the same call site. Returns the call's number in the group, from 1, or -1 if there is
/// no room for more groups.
std::int64_t count_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                        std::string_view line) {
    system::Hash hash;
    for (const std::int64_t size : {call.m, call.n, call.k, call.batch}) hash.add(static_cast<std::uint64_t>(size));
    // After a reload of the policy, counts begin anew.
    hash.add(call.function).add(scope_key()).add(in_force.generation);
    if (line.empty())
        hash.add(site.number);
    else
        hash.add(line);
    audit::CallGroup* const group = audit::find_or_add_group(hash.value());
    return group == nullptr ? -1 : group->next_call_number();
}

[[gnu::noinline, gnu::cold]] void warn_changed_text(const policy::Rule& rule, const where::CallLocation& location) {
    char buffer[1024], path[512];
    system::LineWriter line(buffer);
    line.text("rule \"").escaped(rule.name, 100).text("\" (").escaped(rule.file, 300).text(":");
    line.number(rule.line).text("): no line of ").escaped(location.source_path(path), 300);
    line.text(" has its text any more, so the rule does not apply there");
    system::stderr_line(line.view());
}

/// For each rule on the text of a source line, prints a warning once if no line of the source file has that text.
void warn_changed_texts(const Settings& in_force, std::span<const std::uint16_t> rules,
                        const policy::MatmulCall& call, const where::CallLocation& location) {
    static constinit std::atomic<std::uint64_t> examined_rules[32]{};
    for (const std::uint16_t index : rules) {
        const policy::Rule& rule = in_force.policy.rules[index];
        if (rule.when.text.empty() || !policy::matches_any_glob(rule.when.where_of_any_line, call.where)) continue;
        const std::uint64_t bit = std::uint64_t{1} << index % 64;
        std::atomic<std::uint64_t>& word = examined_rules[index / 64 % std::size(examined_rules)];
        if ((word.load(std::memory_order_relaxed) & bit) != 0 || (word.fetch_or(bit) & bit) != 0) continue;
        if (location.source_matches_any(rule.when.text)) continue;
        warn_changed_text(rule, location);
    }
}

/// Decides on a call if rules look at the lines of Python that led to it, or at its number. The function is not
/// inlined, so that calls which need no lines do not need stack for them.
[[gnu::noinline]] policy::Decision decide_at_location(const Site& site, const Settings& in_force,
                                                      const policy::MatmulCall& call, bool needs_call_number,
                                                      std::span<const std::uint16_t> rules) {
    policy::MatmulCall located = call;
    where::CallLocation location(in_force.looks_at_where ? __builtin_alloca(sizeof(where::LocationBuffer)) : nullptr);
    if (in_force.looks_at_where) {
        location.read_location(site, in_force);
        located.where = location.program_line_for_rules();
        located.stack = location.has_python_reader() ? &location : nullptr;
        if (in_force.looks_at_text && location.has_python_reader()) {
            located.text = &location;
            warn_changed_texts(in_force, rules, located, location);
        }
    }
    if (needs_call_number) located.call_number = count_call(site, in_force, call, location.program_line());
    return policy::decide(located, in_force.process, in_force.policy, overrides(), rules);
}

policy::Decision decide_by_rules(Site& site, const Settings& in_force, policy::MatmulCall& call,
                                 std::uint32_t change_count) {
    const auto rules = rules_of_site(site, in_force, call).rules;
    const bool needs_call_number =
        in_force.looks_at_call_numbers && !rules.empty() && call.device == policy::Device::cpu;
    const auto decide = [&] {
        if (in_force.looks_at_call_sites && !rules.empty()) call.call_site = where::call_site_of(site, in_force);
        if (in_force.looks_at_where || needs_call_number) [[unlikely]]
            return decide_at_location(site, in_force, call, needs_call_number, rules);
        return policy::decide(call, in_force.process, in_force.policy, overrides(), rules);
    };
    if (rules.empty() || needs_call_number) return decide();
    const ThreadContext* const context = existing_thread_context();
    if (context != nullptr && !context->scopes.is_empty() && scopes_affect_decisions(in_force)) return decide();
    auto* const decisions = thread_part<DecisionCache>(ThreadPart::decision_cache);
    if (decisions == nullptr) return decide();
    const DecisionKey key{site.number,  call.m,
                          call.n,       call.k,
                          call.batch,   call.compute_capability,
                          call.dtype,   in_force.generation,
                          change_count, in_force.looks_at_where ? where::location_key(in_force) : 0};
    if (const auto kept = decisions->find(key)) return *kept;
    const policy::Decision decision = decide();
    decisions->store(key, decision);
    return decision;
}

/// Warns once that rules on scopes do not apply within PyTorch's modules. Is called if PyTorch multiplies, but its
/// modules open no scopes.
void warn_no_module_paths() {
    static constinit system::OncePerProcess said;
    if (said.is_first_call())
        system::stderr_line(
            "rules by scope do not apply within PyTorch modules, which open no scopes here; start the program with "
            "fp32shim run");
}

}  // namespace

policy::Decision decide_call(Site& site, const Settings& in_force, policy::MatmulCall& call) {
    // `change_count` is read before the settings whose changes it counts. So a kept decision may be newer than its
    // change_count says, but never older.
    const std::uint32_t change_count = settings_change_count();
    if (in_force.lacks_module_paths && call.caller.starts_with("libtorch")) warn_no_module_paths();
    if (const ThreadContext* context = existing_thread_context()) call.scope = context->scopes.label();
    if (in_force.looks_at_sizes || scopes_affect_decisions(in_force))
        return decide_by_rules(site, in_force, call, change_count);
    if (in_force.looks_at_call_sites) call.call_site = where::call_site_of(site, in_force);
    return policy::decide(call, in_force.process, in_force.policy, overrides());
}

policy::Floor floor_in_force(const Settings& in_force) {
    const policy::Floor floor = overrides().floor;
    return floor > in_force.policy.floor ? floor : in_force.policy.floor;
}

}  // namespace fp32shim
