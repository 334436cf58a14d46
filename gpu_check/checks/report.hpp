// Writes the report of gpu-check, a JSON file that can be sent to others. docs/gpu-results/schema.json describes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu_check/checks/judge.hpp"
#include "gpu_check/workers/ask.hpp"

namespace gpu {

inline constexpr int report_schema = 1;

/// Returns the part `tool` of the report: the version of fp32shim, and checksums of the library at `settings.shim`
/// and of gpu-check.
nlohmann::json describe_tool(const MeasurementSettings& settings);
nlohmann::json describe_system();

/// Returns the findings as a JSON object {name: [value, ...]}.
nlohmann::json to_json(const FindingMap& findings);
nlohmann::json to_json(const std::vector<VerdictLine>& lines);

/// Removes from every text in `report` all that identifies this machine or its user: folders of paths, the host's
/// name, the user's name.
void anonymize(nlohmann::json& report);
std::string anonymized(std::string text);

/// Writes the file either completely or not at all. Throws std::runtime_error on failure.
void write_report(const std::string& path, const nlohmann::json& report);

}  // namespace gpu
