// The environment and the folder in which the processes of a variant run.
#pragma once

#include <string>

#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"
#include "gpu_check/workers/process.hpp"

namespace gpu {

/// Policy of this machine, which governs each process that loads the library.
inline constexpr const char* site_policy = "/etc/fp32shim/policy.toml";
/// Returns true if this machine has a policy file for all users.
bool has_site_policy();
/// Returns true if this machine loads the library into every process, by /etc/ld.so.preload.
bool is_preloaded_everywhere();

/// The environment and the folder of one variant. The destructor removes the folder.
///
/// Nothing but the variant shall govern its processes. So its rule comes before those of the site's policy, whose
/// floor still holds. If every process of this machine loads the library, the library is switched off in variants
/// without it.
class VariantEnvironment {
  public:
    /// environment: base to which the variant adds its variables. shim: path of the library.
    VariantEnvironment(const Variant& variant, Environment environment, const std::string& shim);
    ~VariantEnvironment();
    VariantEnvironment(const VariantEnvironment&) = delete;
    VariantEnvironment& operator=(const VariantEnvironment&) = delete;

    const Environment& environment() const { return environment_; }
    const std::string& folder() const { return folder_; }
    /// Adds the recorded decisions to the findings. Returns false if the variant keeps a recording but it has no
    /// decisions.
    bool add_recorded_decisions(const std::string& prefix, FindingMap& findings) const;

  private:
    void make_folder();
    void write_policy_rule(const std::string& precision);

    bool keeps_recordings_;
    Environment environment_;
    std::string folder_;
};

/// Returns true if the variables of a variant contain the word SHIM or FOLDER.
bool variables_mention(const Variant& variant, const char* word);

}  // namespace gpu
