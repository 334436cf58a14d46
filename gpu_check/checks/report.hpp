// The report of gpu-check: one JSON file for sending to others. docs/gpu-results/schema.json describes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu_check/checks/judge.hpp"
#include "gpu_check/workers/ask.hpp"

namespace gpu {

inline constexpr int report_schema = 1;

/// Returns the first part of the report: versions and checksums of the programs and of the system. settings: has the
/// path of the shim.
nlohmann::json describe_tool(const MeasurementSettings& settings);
nlohmann::json describe_system();

/// Returns the findings as {name: [value, ...]}.
nlohmann::json to_json(const FindingMap& findings);
nlohmann::json to_json(const std::vector<VerdictLine>& lines);

/// Removes from every text what identifies this machine or its user: folders of paths, the host's name, the user's
/// name.
void anonymize(nlohmann::json& report);
std::string anonymized(std::string text);

/// Writes the file, completely or not at all. Throws std::runtime_error on failure.
void write_report(const std::string& path, const nlohmann::json& report);

}  // namespace gpu
