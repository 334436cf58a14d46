#include "gpu_check/workers/variant_run.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "policy/words.hpp"
#include "record/read/reader.hpp"

namespace gpu {
namespace {

void replace_word(std::string& text, const char* word, const std::string& value) {
    if (const auto at = text.find(word); at != std::string::npos) text.replace(at, std::string(word).size(), value);
}

}  // namespace

bool has_site_policy() {
    std::error_code ignored;
    return std::filesystem::exists(site_policy, ignored);
}

bool is_preloaded_everywhere() {
    std::ifstream list("/etc/ld.so.preload");
    std::ostringstream content;
    content << list.rdbuf();
    return content.str().find("libfp32shim") != std::string::npos;
}

bool variables_mention(const Variant& variant, const char* word) {
    return std::string(variant.variables).find(word) != std::string::npos;
}

VariantEnvironment::VariantEnvironment(const Variant& variant, Environment environment, const std::string& shim)
    : keeps_recordings_(variables_mention(variant, ".fp32rec")), environment_(std::move(environment)) {
    const bool is_under_shim = variables_mention(variant, "SHIM");
    const bool has_rule = variant.rule != nullptr || (is_under_shim && has_site_policy());
    if (has_rule || variables_mention(variant, "FOLDER")) make_folder();
    std::istringstream variables(variant.variables + std::string(is_under_shim ? "" : " FP32_MATMUL_DISABLE=1"));
    for (std::string variable; variables >> variable;) {
        replace_word(variable, "SHIM", shim);
        replace_word(variable, "FOLDER", folder_);
        const auto equals = variable.find('=');
        environment_[variable.substr(0, equals)] = variable.substr(equals + 1);
    }
    if (!has_rule) return;
    const auto asked = environment_.find("FP32_MATMUL_PRECISION");
    write_policy_rule(variant.rule != nullptr       ? variant.rule
                      : asked != environment_.end() ? asked->second
                                                    : "native");
}

VariantEnvironment::~VariantEnvironment() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void VariantEnvironment::make_folder() {
    folder_ = (std::filesystem::temp_directory_path() / "fp32shim-gpu-check-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) {
        const std::string name = std::exchange(folder_, "");
        throw std::runtime_error(name + ": cannot be created");
    }
}

void VariantEnvironment::write_policy_rule(const std::string& precision) {
    const std::string path = folder_ + "/policy.toml";
    std::ofstream policy(path);
    const auto known = fp32shim::policy::parse_precision(precision);
    const bool is_of_float64 = known && fp32shim::policy::is_float64_only(*known);
    policy << "schema = 1\n[[rule]]\nname = \"gpu-check\"\nprecision = \"" << precision << "\"\n"
           << (is_of_float64 ? "when = { dtype = [\"float64\", \"complex128\"] }\n" : "")
           << "[cuda]\nmin_compute_capability = \"8.0\"\n";
    if (!policy.flush()) throw std::runtime_error(path + ": cannot be written");
    environment_["FP32_MATMUL_POLICY"] = path;
}

bool VariantEnvironment::add_recorded_decisions(const std::string& prefix, FindingMap& findings) const {
    if (!keeps_recordings_) return true;
    bool any = false;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
        const auto [reader, error] = fp32shim::record::RecordingReader::open(file.path().string());
        if (reader == nullptr) continue;
        for (const auto& counted : reader->counters()) {
            const auto* const row = reader->row(counted.row);
            if (row == nullptr) continue;
            any = true;
            findings.add(prefix + "decided", std::string(to_string(row->decision.applied)));
            const std::string_view reason = to_string(row->decision.reason);
            if (reason != "as_requested") findings.add(prefix + "reason", std::string(reason));
        }
    }
    return any;
}

}  // namespace gpu
