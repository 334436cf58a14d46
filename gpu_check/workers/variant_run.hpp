// What a variant gives to the processes that are run under it: an environment, and a folder of their own.
#pragma once

#include <string>

#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"
#include "gpu_check/workers/process.hpp"

namespace gpu {

/// Policy of this machine, which governs each process under the library.
inline constexpr const char* site_policy = "/etc/fp32shim/policy.toml";
/// Returns true if this machine has such a policy.
bool has_site_policy();
/// Returns true if this machine loads the library into every process, by /etc/ld.so.preload.
bool is_preloaded_everywhere();

/// The environment and the folder of one variant; the folder goes with the object.
///
/// Only what the variant says shall govern its processes. So a rule of ours goes before those of the site's policy,
/// whose floor still holds, and a library that every process gets is switched off where the variant has none.
class VariantRun {
  public:
    /// environment: the variant adds to it. shim: path of the library.
    VariantRun(const Variant& variant, Environment environment, const std::string& shim);
    ~VariantRun();
    VariantRun(const VariantRun&) = delete;
    VariantRun& operator=(const VariantRun&) = delete;

    const Environment& environment() const { return environment_; }
    const std::string& folder() const { return folder_; }
    /// Adds the recorded decisions to the findings. Returns false if decisions were to be recorded and none was.
    bool add_decisions(const std::string& prefix, Findings& findings) const;

  private:
    void make_folder();
    void write_rule(const std::string& precision);

    bool keeps_recordings_;
    Environment environment_;
    std::string folder_;
};

/// Returns true if the variables of a variant name SHIM or FOLDER.
bool mentions(const Variant& variant, const char* word);

}  // namespace gpu
