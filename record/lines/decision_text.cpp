// Formats a decision as one line for people. event_lines.cpp formats decisions as JSON.
#include "record/lines/event_lines.hpp"

#include "policy/words.hpp"
#include "system/line_writer.hpp"

namespace fp32shim::record {

namespace {

/// Words for the values of How. They follow the name of a format, as in `tf32 by rounding operands`.
constexpr policy::NamedValue<How> ways[] = {
    {"", How::forward},
    {" by rounding operands", How::round_operands},
    {" product by product", How::one_by_one},
    {" by compute type", How::compute_type},
    {" by math mode", How::math_mode},
    {" in a fixed order", How::fixed_order},
    {" by BF16 units", How::bf16_units},
    {" by another algorithm", How::algorithm},
};

void append_call(system::LineWriter& out, const policy::MatmulCall& call) {
    out.escaped(call.function, 128);
    const char* separator = " ";
    for (const std::int64_t size : {call.m, call.n, call.k}) {
        out.text(separator);
        size < 0 ? out.text("_") : out.number(size);
        separator = "x";
    }
    if (call.batch != 1) out.text(" x").number(call.batch);
    if (call.trans_a != 0 || call.trans_b != 0) {
        out.text(" ");
        for (const char& letter : {call.trans_a, call.trans_b})
            if (letter != 0) out.escaped({&letter, 1}, 6);
    }
    out.text(" ").text(to_string(call.dtype));
    if (call.device != policy::Device::cpu) {
        out.text(" on ").text(to_string(call.device));
        if (call.device_index >= 0) out.text(":").number(call.device_index);
    }
    if (!call.scope.empty()) out.text(" in ").escaped(call.scope, 256);
}

}  // namespace

std::string_view format_decision_text(const DecisionEvent& event, std::span<char> buffer) {
    const auto known = [](std::string_view object) { return object.empty() ? std::string_view("?") : object; };
    system::LineWriter out(buffer);
    append_call(out, event.call);
    out.text(" from ").escaped(known(event.call.caller), 128);
    out.text(" -> ").escaped(known(event.provider), 128);
    out.text(": ").text(to_string(event.requested)).text(" (").text(to_string(event.source));
    if (!event.rule.empty()) out.text(" \"").escaped(event.rule, 128).text("\"");
    out.text(") -> ").text(to_string(event.applied)).text(policy::name_of(ways, event.how));
    if (event.actual && *event.actual != event.applied) out.text(", really ").text(to_string(*event.actual));
    if (event.accumulator != policy::Accumulator::unknown)
        out.text(", adding in ").text(to_string(event.accumulator));
    if (event.reason != policy::Reason::as_requested)
        out.text(", because ").text(reason_clause(event.reason)).text(" [").text(to_string(event.reason)).text("]");
    if (!event.detail.empty()) out.text(": ").escaped(event.detail, 512);
    return out.view();
}

}  // namespace fp32shim::record
