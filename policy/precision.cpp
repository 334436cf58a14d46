#include "policy/precision.hpp"

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"
#include "policy/words.hpp"

namespace fp32shim::policy {
namespace {

constexpr Word<Source> source_words[] = {
    {"guard_pin", Source::guard_pin},     {"rule", Source::rule},
    {"thread", Source::thread},           {"process", Source::process},
    {"environment", Source::environment}, {"file", Source::file},
    {"native", Source::native},
};

constexpr Word<Reason> reason_words[] = {
    {"as_requested", Reason::as_requested},
    {"cpu_mode_off", Reason::cpu_mode_off},
    {"cpu_accelerate_not_built", Reason::cpu_accelerate_not_built},
    {"compute_capability", Reason::compute_capability},
    {"floor", Reason::floor},
    {"pinned", Reason::pinned},
    {"not_governable", Reason::not_governable},
    {"observed", Reason::observed},
    {"invalid_arguments", Reason::invalid_arguments},
    {"no_product", Reason::no_product},
    {"width_unknown", Reason::width_unknown},
    {"scratch_limit", Reason::scratch_limit},
    {"bf16x9_unavailable", Reason::bf16x9_unavailable},
    {"tf32_override", Reason::tf32_override},
    {"alignment", Reason::alignment},
    {"solver", Reason::solver},
    {"no_such_format", Reason::no_such_format},
    {"no_entry_point", Reason::no_entry_point},
    {"unknown_value", Reason::unknown_value},
    {"unknown_handle", Reason::unknown_handle},
    {"library_refused", Reason::library_refused},
    {"no_algorithm", Reason::no_algorithm},
    {"protected_call", Reason::protected_call},
};

}  // namespace

std::optional<Precision> parse_precision(std::string_view text) { return parse_word(precision_words, text); }
std::optional<Floor> parse_floor(std::string_view text) { return parse_word(floor_words, text); }
std::optional<CpuMode> parse_cpu_mode(std::string_view text) { return parse_word(cpu_mode_words, text); }
std::optional<Tf32Rounding> parse_tf32_rounding(std::string_view text) {
    return parse_word(tf32_rounding_words, text);
}

std::string_view to_string(Precision precision) { return name_of(precision_words, precision); }
std::string_view to_string(Applied applied) { return name_of(applied_words, applied); }
std::string_view to_string(Floor floor) { return name_of(floor_words, floor); }
std::string_view to_string(CpuMode mode) { return name_of(cpu_mode_words, mode); }
std::string_view to_string(Tf32Rounding rounding) { return name_of(tf32_rounding_words, rounding); }
std::string_view to_string(Source source) { return name_of(source_words, source); }
std::string_view to_string(Reason reason) { return name_of(reason_words, reason); }
std::string_view to_string(Device device) { return name_of(device_words, device); }
std::string_view to_string(Dtype dtype) { return name_of(dtype_words, dtype); }
std::string_view to_string(OnError on_error) { return name_of(on_error_words, on_error); }
std::string_view to_string(OnFull on_full) { return name_of(on_full_words, on_full); }
std::string_view to_string(AuditAction action) { return name_of(audit_action_words, action); }

std::string_view to_string(LogLevel level) {
    return level == LogLevel::unset ? "unset" : name_of(log_level_words, level);
}

}  // namespace fp32shim::policy
