// Derives facts from a policy: which facts about a call the shim has to find out, and how it treats the call's
// result. All functions are pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "policy/policy.hpp"

namespace fp32shim {

/// The kinds of logs to which decisions can be written.
enum class LogKind : std::uint8_t { none, stderr_lines, json_lines, recording };

/// Returns the kind of log for which `path` asks: `none` if it is empty, `stderr_lines` for "stderr", `recording` if
/// it ends with .fp32rec, and otherwise `json_lines`.
LogKind log_kind(std::string_view path);

/// Returns true if the log of this policy notes each call. By default, JSON lines note each call, and recordings do
/// not.
bool logs_every_call(const policy::Policy& policy);

/// Returns the fraction of calls to audit, from 0 to 1. It is the policy's fraction or, if that is 0 but rules or
/// settings need audits, policy::default_audit_sample.
double effective_audit_sample(const policy::Policy& policy);

/// Returns true if the shim itself computes products for CPUs under this policy, instead of the BLAS library.
bool shim_computes_products(const policy::Policy& policy);

/// Facts about the process that are not in its policy.
struct SettingsContext {
    bool has_elevated_rights = false;
    bool has_module_paths = false;  ///< modules of PyTorch open scopes
    LogKind log = LogKind::none;    ///< the kind of log that was opened
};

/// Settings that follow from a policy. The inherited member `looks_at_sizes` is also true if some rule depends on a
/// call's location, because then, too, no decision holds for all calls of a call site.
struct DerivedSettings : policy::RuleNeeds {
    bool log_every_call = false;
    /// Every call is forwarded unchanged, because of FP32_MATMUL_DISABLE=1 or elevated rights.
    bool forward_everything = false;
    bool lacks_module_paths = false;    ///< some rule depends on scopes, but modules of PyTorch open none
    bool reads_python_lines = false;    ///< the lines of Python that lead to a call are read
    bool audits = false;                ///< some calls are audited, or the results of audits decide some calls
    bool limits_algorithms = false;     ///< some rule or the policy's [cuda] table forbids algorithms of cublasLt
    bool changes_accumulation = false;  ///< some products of FP16 matrices may have to be summed in FP32
    bool fingerprints = false;          ///< the recording keeps a fingerprint of each result
    bool finds_nonfinite = false;       ///< results are searched for the first NaN or infinity
    bool asks_onednn = false;           ///< copies of oneDNN are made to tell what they execute
    bool asks_kernels = false;          ///< the kernels that are launched on GPUs are recorded
    std::uint32_t gpu_times = 0;        ///< one product in this many is timed on its GPU; 0 if none is
    std::uint8_t native_frames = 0;     ///< number of recorded native callers; 0 if only the call site is recorded

    bool operator==(const DerivedSettings&) const = default;
};

DerivedSettings derive_settings(const policy::Policy& policy, const SettingsContext& context);

}  // namespace fp32shim
