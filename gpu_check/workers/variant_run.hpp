// Prepares the environment and the folder in which the processes of a variant run.
#pragma once

#include <string>

#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"
#include "gpu_check/workers/process.hpp"

namespace gpu {

/// The policy file of this machine, which governs each process that loads the library.
inline constexpr const char* site_policy = "/etc/fp32shim/policy.toml";
/// Returns true if this machine has a policy file for all processes.
bool has_site_policy();
/// Returns true if /etc/ld.so.preload loads the library into every process of this machine.
bool is_preloaded_everywhere();

/// The environment and the folder of one variant. The destructor removes the folder.
///
/// Only the variant's own settings shall govern its processes. So the variant's rule comes before the rules of the
/// site's policy, whose floor still holds. If every process of this machine loads the library, the library is
/// switched off in variants that do not use it.
class VariantEnvironment {
  public:
    /// Copies `environment` and adds the variant's variables to the copy. `shim` is the path of the library.
    VariantEnvironment(const Variant& variant, Environment environment, const std::string& shim);
    ~VariantEnvironment();
    VariantEnvironment(const VariantEnvironment&) = delete;
    VariantEnvironment& operator=(const VariantEnvironment&) = delete;

    const Environment& environment() const { return environment_; }
    const std::string& folder() const { return folder_; }
    /// Adds the recorded decisions to the findings. Returns false if the variant should keep a recording but none has
    /// decisions.
    bool add_recorded_decisions(const std::string& prefix, FindingMap& findings) const;

  private:
    void make_folder();
    void write_policy_rule(const std::string& precision);

    bool keeps_recordings_;
    Environment environment_;
    std::string folder_;
};

/// Returns true if the text of a variant's environment variables contains `word`.
bool variables_mention(const Variant& variant, const char* word);

}  // namespace gpu
