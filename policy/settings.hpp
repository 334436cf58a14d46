// Settings of one source: a file, or the environment. join() combines them into a Policy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/load.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// Settings of one source, each of which may be absent. Fields have the same meaning as in Policy.
struct SettingsLayer {
    std::string name, revision, file, sha256;
    std::optional<Precision> default_precision;
    Floor floor = Floor::none;
    std::optional<bool> allow_bf16x9;
    std::optional<CpuMode> cpu_mode;
    std::optional<Tf32Rounding> tf32_rounding;
    std::optional<Accumulation> accumulation;
    std::optional<std::uint64_t> stochastic_seed;
    std::optional<std::int32_t> min_compute_capability;
    std::optional<bool> pedantic;
    std::optional<std::string> log_path;
    std::optional<LogLevel> log_level;
    std::optional<std::uint64_t> log_max_size;
    std::optional<OnFull> log_on_full;
    std::optional<std::uint32_t> log_mode;
    std::optional<WhereSet> log_where;
    std::optional<std::string> log_group;
    std::optional<bool> log_onednn;
    std::optional<bool> log_kernels;
    std::optional<double> audit_sample;
    std::optional<std::uint64_t> audit_seed;
    std::optional<AuditFormat> audit_against;
    std::optional<AuditFormat> audit_float64;
    std::optional<Metric> audit_metric;
    std::optional<double> audit_tolerance;
    std::optional<AuditAction> audit_action;
    std::optional<bool> audit_fingerprint;
    std::optional<bool> audit_nonfinite;
    std::vector<Rule> rules;
};

/// Returns the settings in a policy file's text. If the text has errors, returns nullopt and reports them.
std::optional<SettingsLayer> read_settings(std::string_view text, Report& report);

/// Settings from the FP32_MATMUL_* variables. A variable with a wrong value is reported, and its setting stays unset.
struct FromEnvironment {
    SettingsLayer settings;
    std::string policy_path;  ///< value of FP32_MATMUL_POLICY; empty when unset
    std::optional<OnError> on_error;
    bool floor_is_broken = false;  ///< FP32_MATMUL_FLOOR has an invalid value
    bool disabled = false;
};

FromEnvironment read_environment(const Environment& environment, std::vector<Diagnostic>& errors,
                                 std::vector<Diagnostic>& warnings);

/// Adds the sources of a word to `where`: a word of where_words, or `native:8`. The word `none` removes all. Returns
/// an error message for an unknown word, otherwise an empty text.
std::string add_where(std::string_view word, WhereSet& where);

/// Reads a list such as `python,nvtx` into `where`. Returns an error message for an unknown word, otherwise an empty
/// text.
std::string parse_where(std::string_view list, WhereSet& where);

/// Joins up to three sources. An absent or broken source is nullptr. The environment's settings override the user's,
/// which override the site's. The user's rules come before the site's. The strictest floor holds.
Policy join(const SettingsLayer* site, const SettingsLayer* user, const SettingsLayer* environment);

}  // namespace fp32shim::policy
