// A decision on one line for people; the JSON of the same event is in events.cpp.
#include "record/events.hpp"
#include "system/line_writer.hpp"

namespace fp32shim::record {

namespace {

/// Completes "because …".
std::string_view explain(policy::Reason reason) {
    using policy::Reason;
    switch (reason) {
        case Reason::as_requested:
            return {};
        case Reason::cpu_mode_off:
            return "the CPU mode is off";
        case Reason::cpu_accelerate_not_built:
            return "this version has no CPU mode accelerate";
        case Reason::compute_capability:
            return "the GPU is older than min_compute_capability";
        case Reason::floor:
            return "a floor forbids anything lower";
        case Reason::pinned:
            return "the audit pinned this call site";
        case Reason::not_governable:
            return "this function cannot be governed";
        case Reason::observed:
            return "products of narrower inputs are only counted";
        case Reason::invalid_arguments:
            return "the arguments are invalid";
        case Reason::no_product:
            return "there is nothing to multiply";
        case Reason::width_unknown:
            return "the library's integer width is unknown";
        case Reason::scratch_limit:
            return "the operands exceed the scratch memory";
        case Reason::bf16x9_unavailable:
            return "bf16x9 is not available here";
        case Reason::tf32_override:
            return "NVIDIA_TF32_OVERRIDE=0 turns TF32 off";
        case Reason::alignment:
            return "the matrices behind an array of pointers may be unaligned";
        case Reason::solver:
            return "cuSOLVER relies on full precision";
        case Reason::no_such_format:
            return "the function has no way to the format asked for";
        case Reason::no_entry_point:
            return "the library lacks the function that takes a compute type";
        case Reason::unknown_value:
            return "this version does not know a value that was passed";
        case Reason::unknown_handle:
            return "the handle is not known";
        case Reason::library_refused:
            return "the library refused the changed call";
        case Reason::no_algorithm:
            return "cublasLt has no algorithm for the changed product";
        case Reason::protected_call:
            return "solves, and libraries that rely on full precision, are lowered only by a rule that names them";
    }
    return {};
}

std::string_view explain(How how) {
    switch (how) {
        case How::forward:
            return {};
        case How::round_operands:
            return " by rounding operands";
        case How::one_by_one:
            return " product by product";
        case How::compute_type:
            return " by compute type";
        case How::math_mode:
            return " by math mode";
    }
    return {};
}

void append_size(system::LineWriter& out, std::int64_t size) {
    if (size < 0) {
        out.text("_");
    } else {
        out.number(size);
    }
}

void append_call(system::LineWriter& out, const policy::MatmulCall& call) {
    out.escaped(call.function, 128).text(" ");
    append_size(out, call.m);
    out.text("x");
    append_size(out, call.n);
    out.text("x");
    append_size(out, call.k);
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
    out.text(") -> ").text(to_string(event.applied)).text(explain(event.how));
    if (event.actual && *event.actual != event.applied) out.text(", really ").text(to_string(*event.actual));
    if (event.reason != policy::Reason::as_requested) {
        out.text(", because ").text(explain(event.reason)).text(" [").text(to_string(event.reason)).text("]");
    }
    if (!event.detail.empty()) out.text(": ").escaped(event.detail, 512);
    return out.view();
}

}  // namespace fp32shim::record
