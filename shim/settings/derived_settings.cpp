#include "shim/settings/derived_settings.hpp"

namespace fp32shim {
namespace {

/// Returns true if the results of audits decide the format of some calls.
bool lets_audits_decide(const policy::Policy& policy) {
    return policy.has_tolerances() || policy.audit_action == policy::AuditAction::pin;
}

}  // namespace

LogKind log_kind(std::string_view path) {
    if (path.empty()) return LogKind::none;
    if (path == "stderr") return LogKind::stderr_lines;
    return path.ends_with(".fp32rec") ? LogKind::recording : LogKind::json_lines;
}

bool logs_every_call(const policy::Policy& policy) {
    return log_kind(policy.log_path) == LogKind::recording ? policy.log_level == policy::LogLevel::calls
                                                           : policy.log_level != policy::LogLevel::summary;
}

double effective_audit_sample(const policy::Policy& policy) {
    const bool asks = lets_audits_decide(policy) || policy.audit_float64;
    return policy.audit_sample == 0 && asks ? policy::default_audit_sample : policy.audit_sample;
}

bool shim_computes_products(const policy::Policy& policy) {
    using policy::CpuMode;
    return policy.cpu_mode == CpuMode::reproducible || policy.cpu_mode == CpuMode::accelerate ||
           (policy.cpu_mode == CpuMode::emulate && policy.accumulation != policy::AccumulationModel::library);
}

DerivedSettings derive_settings(const policy::Policy& policy, const SettingsContext& context) {
    DerivedSettings derived;
    derived.forward_everything = policy.disabled || context.has_elevated_rights;
    if (derived.forward_everything) return derived;

    static_cast<policy::RuleNeeds&>(derived) = policy.needs();
    derived.looks_at_sizes |= derived.looks_at_where;
    derived.limits_algorithms = policy.limits_algorithms();
    derived.changes_accumulation = policy.changes_accumulation();
    derived.lacks_module_paths = derived.looks_at_scopes && !context.has_module_paths;

    const bool has_recording = context.log == LogKind::recording;
    derived.log_every_call = logs_every_call(policy);
    derived.reads_python_lines = derived.looks_at_where || (context.log != LogKind::none &&
                                                            policy.log_where.has(policy::LocationSource::python));
    derived.native_frames = has_recording ? policy.log_where.native_frames : std::uint8_t{0};

    derived.audits = effective_audit_sample(policy) > 0 && (has_recording || lets_audits_decide(policy));
    derived.fingerprints = policy.audit_fingerprint && has_recording;
    derived.finds_nonfinite = policy.audit_nonfinite;
    derived.asks_onednn = policy.log_onednn && has_recording;
    derived.asks_kernels = policy.log_kernels && has_recording;
    derived.gpu_times = has_recording ? policy.log_gpu_times : 0;
    return derived;
}

}  // namespace fp32shim
