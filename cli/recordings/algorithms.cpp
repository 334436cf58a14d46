#include "cli/recordings/algorithms.hpp"

#include <fmt/format.h>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the version at the end of `identity` as a number: 120603 for `cublasLt 12.6.3`; 0 if the text does not end
/// in a version.
std::int32_t version_in(const std::string& identity) {
    int major = 0, minor = 0, patch = 0;
    const std::string version = identity.substr(identity.rfind(' ') + 1);
    return std::sscanf(version.c_str(), "%d.%d.%d", &major, &minor, &patch) == 3 ? 10000 * major + 100 * minor + patch
                                                                                 : 0;
}

}  // namespace

const policy::KnownWrongAlgorithm* known_wrong_algorithm(const MergedRow& row, const MergedCalls& calls) {
    const auto algorithm = policy::parse_algorithm(row.algorithm);
    if (!algorithm) return nullptr;
    for (const MergedProcess& process : calls.processes())
        if (const auto* known = policy::find_known_wrong_algorithm(
                *algorithm, version_in(process.environment.library_identity(row.provider))))
            return known;
    return nullptr;
}

std::vector<std::string> known_wrong_lines(const MergedCalls& calls) {
    std::vector<std::string> lines;
    for (const MergedRow& row : calls.rows()) {
        const policy::KnownWrongAlgorithm* const known = known_wrong_algorithm(row, calls);
        if (known == nullptr) continue;
        lines.push_back(
            fmt::format("{} of {} {}{}{} by algorithm {}, whose results may {} with split-K from {} on{} ({})",
                        counted(row.counters.calls, "call"), std::string_view(row.function), row.size_text(),
                        row.where.empty() ? "" : " at ", std::string_view(row.where), std::string_view(row.algorithm),
                        known->what, known->least_split_k,
                        calls.processes().size() > 1 ? ", in the library of at least one of these processes" : "",
                        known->source));
    }
    return lines;
}

Json algorithms_json(const MergedCalls& calls) {
    Json json = Json::object();
    for (const MergedRow& row : calls.rows()) {
        const auto algorithm = policy::parse_algorithm(row.algorithm);
        if (!algorithm) continue;
        Json& parts = json[std::string(row.algorithm)];
        for (const policy::AlgorithmAttribute& part : policy::algorithm_attributes) {
            const std::uint32_t value = (*algorithm).*part.value;
            parts[std::string(part.key)] = part.has_no_number && value == 0 ? Json() : Json(value);
        }
        parts["reduction"] = policy::reduction_text(algorithm->reduction);
        if (const policy::KnownWrongAlgorithm* const known = known_wrong_algorithm(row, calls))
            parts["known_wrong"] = known->source;
        if (!parts.contains("known_wrong")) parts["known_wrong"] = nullptr;
    }
    return json;
}

}  // namespace fp32shim::cli
