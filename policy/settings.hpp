// Reads the settings of a policy file, or of the environment, over the settings of weaker sources.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/exceptions.hpp"
#include "policy/load.hpp"
#include "policy/policy.hpp"

namespace fp32shim::policy {

/// A policy while its sources are read: first the site's file (/etc/fp32shim/policy.toml), then the user's file, then
/// the environment. Each source overwrites the settings that it has, but the strictest floor stays.
struct PolicyDraft : Policy {
    FloorExceptionJudge* judge = nullptr;  ///< judges exceptions to floors; nullptr if no exception may hold
    /// The key tf32_rounding; absent if no file has it, so that `accumulation` decides the rounding.
    std::optional<Tf32Rounding> asked_tf32_rounding;
    std::optional<bool> file_allows_bf16x9;  ///< the key allow_bf16x9 in [limits] of the file that was read last
    /// False if a file forbids BF16x9: by the key allow_bf16x9, or by a floor of bf16x9 or fp32 without that key.
    /// Files that are read later cannot allow it again: the user's file can only forbid what the site's file allows.
    bool may_allow_bf16x9 = true;
    std::string policy_path;  ///< the value of FP32_MATMUL_POLICY; empty if it is not set
    std::optional<OnError> asked_on_error;
    bool floor_is_broken = false;  ///< true if FP32_MATMUL_FLOOR has an invalid value
};

/// Reads a policy file's text into `policy`. If the text has errors, reports them and leaves `policy` as it was. The
/// rules of the text are put before the rules that `policy` already has.
void read_policy_text(std::string_view text, ErrorCollector& report, PolicyDraft& policy);

/// Reads the FP32_MATMUL_* variables. A variable with a wrong value is reported and changes nothing.
void read_environment(const Environment& environment, PolicyDraft& policy, std::vector<Diagnostic>& errors,
                      std::vector<Diagnostic>& warnings);

/// Adds the sources that `word` names to `where`. `word` is a word of where_words, or has a form such as `native:8`.
/// The word `none` removes all sources. Returns an error message for an unknown word, otherwise an empty text.
std::string add_location_source(std::string_view word, LocationSourceSet& where);

/// Reads a list such as `python,nvtx` into `where`. Returns an error message for an unknown word, otherwise an empty
/// text.
std::string parse_location_sources(std::string_view list, LocationSourceSet& where);

}  // namespace fp32shim::policy
