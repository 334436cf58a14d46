// Sums up the kernels that were launched on GPUs, for a verdict.
#include <fmt/format.h>

#include <algorithm>

#include "cli/verify/verdict.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

KernelKind kind_of(const MergedRow& row) {
    if (row.reason == "no_product") return KernelKind::no_product;
    if (row.effective_format() == "tf32x3") return KernelKind::split;
    if (const auto floor = row.floor_met())
        return *floor >= policy::Floor::fp32 ? KernelKind::full : KernelKind::below;
    const bool is_wide = row.is_float32() || row.is_float64();
    return is_wide || !row.detail.empty() ? KernelKind::unknown : KernelKind::narrower;
}

/// The maximum number of names in a sentence. Further names are only counted.
constexpr std::size_t max_names = 8;

}  // namespace

std::size_t KernelSummary::kernel_count() const {
    std::size_t sum = 0;
    for (const auto& kind : names) sum += kind.size();
    return sum;
}

KernelSummary summarize_kernels(const MergedCalls& calls) {
    KernelSummary kernels;
    // The kinds are stored by the whole name, since function_text() may be the same for two kernels.
    std::map<std::string, KernelKind> kinds;
    std::map<std::string, std::string> texts;
    for (const MergedRow& row : calls.rows()) {
        if (!row.is_kernel() || row.counters.calls == 0) continue;
        const std::string name(static_cast<std::string_view>(row.function));
        const std::string& text = texts.try_emplace(name, row.function_text()).first->second;
        if (text == record::graph_replay) {
            kernels.replays += row.counters.calls;
            continue;
        }
        kernels.launches += row.counters.calls;
        KernelKind& kind = kinds.try_emplace(name, KernelKind::no_product).first->second;
        kind = std::max(kind, kind_of(row));
    }
    for (const auto& [name, kind] : kinds) kernels.names[static_cast<std::size_t>(kind)].push_back(texts[name]);
    return kernels;
}

std::string launch_count_text(std::uint64_t count) {
    return count == 1 ? "1 launch" : count_text(count) + " launches";
}

std::string kernels_text(const KernelSummary& kernels) {
    if (kernels.kernel_count() == 0) return {};
    std::vector<std::string> parts;
    const auto add = [&](KernelKind kind, std::string_view what, bool with_names) {
        const std::vector<std::string>& names = kernels.names_of(kind);
        if (names.empty()) return;
        parts.push_back(fmt::format("{} {}{}", count_text(names.size()), what,
                                    with_names ? fmt::format(" ({})", listed(names, max_names)) : ""));
    };
    add(KernelKind::no_product, "multiplied nothing", false);
    add(KernelKind::full, "multiplied at float32 or wider, if at all", false);
    add(KernelKind::split, "multiplied float32 in three products of TF32, which is about as accurate as FP32", true);
    add(KernelKind::narrower, "multiplied operands narrower than float32", true);
    add(KernelKind::below, "multiplied float32 in a lower format", true);
    add(KernelKind::unknown, kernels.names_of(KernelKind::unknown).size() == 1 ? "is not known" : "are not known",
        true);
    const auto times = [](std::uint64_t count) { return count == 1 ? "once" : count_text(count) + " times"; };
    return fmt::format("Launched on GPUs, without the kernels that belong to products of cuBLAS: {}, {}{}. {}.",
                       counted(kernels.kernel_count(), "kernel"), times(kernels.launches),
                       kernels.replays == 0
                           ? ""
                           : fmt::format("; graphs were launched {}, which does not count their kernels again",
                                         times(kernels.replays)),
                       fmt::join(parts, "; "));
}

Json to_json(const KernelSummary& kernels) {
    Json json = {{"launches", kernels.launches}, {"graph_replays", kernels.replays}};
    constexpr std::array<const char*, kernel_kinds> keys = {"no_product", "full",  "split",
                                                            "narrower",   "below", "unknown"};
    for (std::size_t i = 0; i < kernel_kinds; ++i) json[keys[i]] = kernels.names[i];
    return json;
}

}  // namespace fp32shim::cli
