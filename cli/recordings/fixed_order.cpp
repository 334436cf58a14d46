#include "cli/recordings/fixed_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/terminal.hpp"
#include "shim/table/functions.hpp"

namespace fp32shim::cli {
namespace {

std::string why_without_order(const MergedRow& row) {
    if (row.is_overflow) return "only their number is known";
    if (row.is_float64()) return "the mode is for float32";
    if (row.device != "cpu") return "the mode is for products of a CPU";
    const FunctionIndex index = find_function(std::string(row.function).c_str());
    if (index < 0 || functions[index].family->treatment != Treatment::governed)
        return "the mode does not cover the function";
    if (row.reason == "as_requested" || row.reason == "cpu_mode_off" || row.how == "round_operands")
        return "the mode was not on";
    return fmt::format("reason {}", static_cast<std::string_view>(row.reason));
}

}  // namespace

FixedOrder fixed_order_of(const MergedCalls& calls) {
    FixedOrder found;
    for (const MergedProcess& process : calls.processes())
        found.is_wanted = found.is_wanted || process.facts.start.cpu_mode == policy::CpuMode::reproducible;
    for (const MergedRow* row : sorted(calls.rows(), RowOrder::calls)) {
        if (row->counters.calls == 0) continue;
        found.calls += row->counters.calls;
        if (row->how == "fixed_order") {
            found.in_order += row->counters.calls;
            found.is_wanted = true;
        } else {
            found.rest.push_back(row);
        }
    }
    return found;
}

std::string without_order_text(const MergedRow& row) {
    return fmt::format("{} of {}: {}", counted(row.counters.calls, "call"),
                       row.is_overflow ? "unknown functions" : printable(static_cast<std::string_view>(row.function)),
                       why_without_order(row));
}

std::string fixed_order_text(const MergedCalls& calls) {
    const FixedOrder found = fixed_order_of(calls);
    if (!found.is_wanted || found.calls == 0) return {};
    std::string text = fmt::format("In a fixed order: {} of {}", found.in_order, counted(found.calls, "call"));
    constexpr std::size_t most = 3;
    for (std::size_t i = 0; i < std::min(most, found.rest.size()); ++i)
        text += fmt::format("; not {}", without_order_text(*found.rest[i]));
    if (found.rest.size() > most) text += "; and others";
    return text + '\n';
}

}  // namespace fp32shim::cli
