#include "shim/decision/decisions_seen.hpp"

#include <atomic>
#include <cstdint>

#include "system/hash.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

// Hashes of the decisions seen; 0 marks a free entry. Open addressing; entries are never removed.
constexpr std::size_t table_size = 1 << 15;
constexpr std::size_t longest_probe = 64;
constinit std::atomic<std::uint64_t> seen[table_size]{};

std::uint64_t hash_of(const Site& site, const record::DecisionEvent& event) {
    system::Hash hash;
    hash.add(site.function->name);
    hash.add(site.caller_name());
    hash.add(site.provider->name);
    const policy::MatmulCall& call = event.call;
    for (std::int64_t size : {call.m, call.n, call.k, call.batch}) hash.add(static_cast<std::uint64_t>(size));
    hash.add(static_cast<std::uint64_t>(call.trans_a) << 8 | static_cast<std::uint64_t>(call.trans_b));
    hash.add(static_cast<std::uint64_t>(event.requested) << 32 | static_cast<std::uint64_t>(event.applied) << 24 |
             static_cast<std::uint64_t>(event.how) << 16 | static_cast<std::uint64_t>(event.source) << 8 |
             static_cast<std::uint64_t>(event.reason));
    hash.add(call.scope);
    hash.add(call.where);
    hash.add(event.rule);
    return hash.value();
}

}  // namespace

bool is_noted(const Site& site, const record::DecisionEvent& event) {
    const std::uint64_t hash = hash_of(site, event);
    for (std::size_t probe = 0; probe < longest_probe; ++probe) {
        const std::uint64_t held = seen[(hash + probe) % table_size].load(std::memory_order_relaxed);
        if (held == 0 || held == hash) return held == hash;
    }
    return false;
}

bool note_decision(const Site& site, const record::DecisionEvent& event) {
    const std::uint64_t hash = hash_of(site, event);
    for (std::size_t probe = 0; probe < longest_probe; ++probe) {
        std::atomic<std::uint64_t>& entry = seen[(hash + probe) % table_size];
        std::uint64_t held = entry.load(std::memory_order_relaxed);
        if (held == 0 && entry.compare_exchange_strong(held, hash, std::memory_order_relaxed)) return true;
        if (held == hash) return false;
    }
    static constinit system::OncePerProcess said;
    if (said.first()) system::stderr_line("more distinct decisions than are kept; further ones are not shown");
    return false;
}

}  // namespace fp32shim
