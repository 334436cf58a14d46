#include "shim/decision/decide_call.hpp"

#include <atomic>
#include <iterator>
#include <span>

#include "policy/conditions.hpp"
#include "shim/audit/groups.hpp"
#include "shim/decision/kept_decisions.hpp"
#include "shim/decision/site_rules.hpp"
#include "shim/thread/thread_context.hpp"
#include "shim/where/location.hpp"
#include "shim/where/native/call_site.hpp"
#include "system/hash.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

policy::Overrides overrides() {
    policy::Overrides result;
    result.process = process_precision();
    result.floor = process_floor();
    if (const ThreadContext* context = existing_thread_context()) {
        const Scope& scope = context->scopes.innermost();
        if (scope.precision >= 0) result.thread = static_cast<policy::Precision>(scope.precision);
        if (scope.floor > result.floor) result.floor = scope.floor;
    }
    return result;
}

/// Counts a call among the calls with the same function, sizes, scope and line of Python or, if `line` is empty, of
/// the same call site. Returns the call's number, from 1, or -1 if there is no room for more counters.
std::int64_t count_call(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                        std::string_view line) {
    system::Hash hash;
    for (const std::int64_t size : {call.m, call.n, call.k, call.batch}) hash.add(static_cast<std::uint64_t>(size));
    hash.add(call.function).add(scope_key()).add(in_force.generation);  // a reload begins new counts
    if (line.empty()) {
        hash.add(site.number);
    } else {
        hash.add(line);
    }
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

/// Prints a line, once for each rule on a line's text, if no line of the file has that text any more.
void warn_changed_texts(const Settings& in_force, std::span<const std::uint16_t> rules,
                        const policy::MatmulCall& call, const where::CallLocation& location) {
    static constinit std::atomic<std::uint64_t> examined_rules[32]{};
    for (const std::uint16_t index : rules) {
        const policy::Rule& rule = in_force.policy.rules[index];
        if (rule.when.text.empty() || !policy::matches_any_glob(rule.when.where_of_any_line, call.where)) continue;
        const std::uint64_t bit = std::uint64_t{1} << index % 64;
        std::atomic<std::uint64_t>& word = examined_rules[index / 64 % std::size(examined_rules)];
        if ((word.load(std::memory_order_relaxed) & bit) != 0 || (word.fetch_or(bit) & bit) != 0) continue;
        if (location.source_has(rule.when.text)) continue;
        warn_changed_text(rule, location);
    }
}

/// Decides by the lines of Python that led to the call, or by its number. Not inlined, so that other calls need no
/// stack for lines.
[[gnu::noinline]] policy::Decision decide_at_location(const Site& site, const Settings& in_force,
                                                      const policy::MatmulCall& call, bool needs_call_number,
                                                      std::span<const std::uint16_t> rules) {
    policy::MatmulCall located = call;
    where::CallLocation location(in_force.looks_at_where ? __builtin_alloca(sizeof(where::LocationBuffer)) : nullptr);
    if (in_force.looks_at_where) {
        location.find(site, in_force);
        located.where = location.where_for_rules();
        located.stack = location.has_python_reader() ? &location : nullptr;
        if (in_force.looks_at_text && location.has_python_reader()) {
            located.text = &location;
            warn_changed_texts(in_force, rules, located, location);
        }
    }
    if (needs_call_number) located.call_number = count_call(site, in_force, call, location.where());
    return policy::decide(located, in_force.process, in_force.policy, overrides(), rules);
}

policy::Decision decide_by_rules(Site& site, const Settings& in_force, policy::MatmulCall& call,
                                 std::uint32_t change_count) {
    const auto rules = rules_of(site, in_force, call).rules;
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
    if (context != nullptr && !context->scopes.is_empty() && scopes_decide(in_force)) return decide();
    auto* const decisions = thread_part<KeptDecisions>(ThreadPart::kept_decisions);
    if (decisions == nullptr) return decide();
    const DecisionKey key{site.number,  call.m,
                          call.n,       call.k,
                          call.batch,   call.compute_capability,
                          call.dtype,   in_force.generation,
                          change_count, in_force.looks_at_where ? where::location_key(in_force) : 0};
    if (const auto kept = decisions->find(key)) return *kept;
    const policy::Decision decision = decide();
    decisions->keep(key, decision);
    return decision;
}

/// Warns once that rules on scopes do not see the modules of PyTorch, although PyTorch multiplies.
void warn_no_module_paths() {
    static constinit system::OncePerProcess said;
    if (said.first())
        system::stderr_line(
            "rules by scope do not apply within PyTorch modules, which open no scopes here; start the program with "
            "fp32shim run");
}

}  // namespace

policy::Decision decide_call(Site& site, const Settings& in_force, policy::MatmulCall& call) {
    // Read before the overrides, so that a kept decision may be newer than its change_count says, but never older.
    const std::uint32_t change_count = settings_change_count();
    if (in_force.lacks_module_paths && call.caller.starts_with("libtorch")) warn_no_module_paths();
    if (const ThreadContext* context = existing_thread_context()) call.scope = context->scopes.label();
    if (in_force.looks_at_sizes || scopes_decide(in_force))
        return decide_by_rules(site, in_force, call, change_count);
    if (in_force.looks_at_call_sites) call.call_site = where::call_site_of(site, in_force);
    return policy::decide(call, in_force.process, in_force.policy, overrides());
}

policy::Floor floor_in_force(const Settings& in_force) {
    const policy::Floor floor = overrides().floor;
    return floor > in_force.policy.floor ? floor : in_force.policy.floor;
}

}  // namespace fp32shim
