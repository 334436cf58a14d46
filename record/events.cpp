#include "record/events.hpp"

#include "policy/words.hpp"
#include "system/inline_text.hpp"
#include "system/limited_text.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

namespace {

constexpr policy::NamedValue<How> how_words[] = {
    {"forward", How::forward},           {"round_operands", How::round_operands}, {"one_by_one", How::one_by_one},
    {"compute_type", How::compute_type}, {"math_mode", How::math_mode},           {"fixed_order", How::fixed_order},
    {"bf16_units", How::bf16_units},     {"algorithm", How::algorithm},
};
constexpr policy::NamedValue<ErrorCode> error_code_words[] = {
    {"bad_setting", ErrorCode::bad_setting},
    {"provider", ErrorCode::provider},
    {"lines_dropped", ErrorCode::lines_dropped},
};

}  // namespace

std::string_view to_string(How how) { return policy::name_of(how_words, how); }
std::string_view to_string(ErrorCode code) { return policy::name_of(error_code_words, code); }

std::string_view frame_text(const StackFrame& frame, std::span<char, 512> buffer) {
    char file_buffer[200], function_buffer[160];  // both texts together fit into `buffer`
    const std::string_view file = system::cut_to_fit(system::base_name(frame.file), file_buffer);
    const std::string_view function = system::cut_to_fit(frame.function, function_buffer);
    if (function.empty() && frame.line == 0) return {};
    system::LineWriter text(buffer);
    if (!frame.file.empty()) text.text(file).text(":").number(frame.line);
    if (!frame.file.empty() && !function.empty()) text.text(" ");
    text.text(function);
    return text.view();
}

TimeAndThread current_time_and_thread() {
    return {system::raw::realtime_ns(), system::raw::getpid(), system::raw::gettid()};
}

StartEvent make_start_event(std::string_view version, const policy::Policy& policy) {
    StartEvent event;
    event.version = version;
    event.policy_name = policy.name;
    event.policy_revision = policy.revision;
    event.policy_sha256 = policy.sha256;
    event.default_precision = policy.default_precision;
    event.floor = policy.floor;
    event.allow_bf16x9 = policy.allow_bf16x9;
    event.floor_exception = policy.floor_exception;
    event.cpu_mode = policy.cpu_mode;
    event.tf32_rounding = policy.tf32_rounding;
    event.accumulation = policy.accumulation;
    event.rounds_at_random = policy.stochastic_seed.has_value();
    event.where = policy.log_where;
    event.asks_onednn = policy.log_onednn;
    event.asks_kernels = policy.log_kernels;
    if (policy.log_level != policy::LogLevel::unset) event.log_level = policy.log_level;
    return event;
}

}  // namespace fp32shim::record
