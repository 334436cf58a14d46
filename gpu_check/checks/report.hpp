// The report of gpu-check: one JSON file that can be sent to others. docs/gpu-results/schema.json describes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu_check/checks/line.hpp"
#include "gpu_check/workers/ask.hpp"

namespace gpu {

inline constexpr int report_schema = 1;

/// Returns what the report begins with: versions and checksums of what was run, and of the system. asking: for the
/// shim.
nlohmann::json describe_tool(const Asking& asking);
nlohmann::json describe_system();

/// Returns the findings as {name: [value, ...]}.
nlohmann::json to_json(const Findings& findings);
nlohmann::json to_json(const std::vector<Line>& lines);

/// Takes out of every text what names this machine or its user: the folders of paths, the host's name, the user's.
void make_anonymous(nlohmann::json& report);
std::string anonymous(std::string text);

/// Writes the file, whole or not at all. Throws std::runtime_error if that fails.
void write_report(const std::string& path, const nlohmann::json& report);

}  // namespace gpu
