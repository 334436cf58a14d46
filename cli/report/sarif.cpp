// Writes SARIF, the format in which tools tell reviewers about source lines.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"
#include "cli/report/timeline.hpp"

namespace fp32shim::cli {
namespace {

/// A place in the program, and a format below FP32 at which it multiplied.
struct LowPrecisionPlace {
    std::string file;  ///< path of the source file; empty: the place is known in compiled code at most
    std::uint32_t line = 0;
    std::string name;  ///< name of the function, or the call site in compiled code; empty: not known
    std::string format;

    auto operator<=>(const LowPrecisionPlace&) const = default;
};

/// The calls that ran at one place of the program and in one format.
struct LowPrecisionCalls {
    std::uint64_t calls = 0;
    std::set<std::string> functions, requests;
};

/// Returns the level of a call path that the tables show as `where`: the innermost source line outside packages. If
/// the recording has no such line, returns the innermost level with a source line, or else the innermost call site in
/// compiled code. Returns null if there is none of these. Levels with a file name such as `<string>` are skipped.
const PathNode* level_shown_as_place(const CallPathTree& paths, std::uint32_t node, std::string_view where) {
    const PathNode* innermost = nullptr;
    const PathNode* calling_place = nullptr;
    for (std::uint32_t level = node; level != 0; level = paths.nodes()[level].parent) {
        const PathNode& frame = paths.nodes()[level];
        if (frame.line != 0 && !frame.file.empty() && std::string_view(frame.file)[0] != '<') {
            if (innermost == nullptr) innermost = &frame;
            const std::string_view path = frame.file;
            const std::string name = fmt::format("{}:{} ", path.substr(path.rfind('/') + 1), frame.line);
            if (!where.empty() && std::string(where).append(" ").starts_with(name)) return &frame;
        } else if (calling_place == nullptr && !frame.call_site.empty()) {
            calling_place = &frame;
        }
    }
    return innermost != nullptr ? innermost : calling_place;
}

/// Returns `path` as the path of a URI (RFC 3986). All bytes except unreserved characters and slashes become %XX.
std::string encoded_path(std::string_view path) {
    std::string text;
    for (const unsigned char byte : path)
        if (std::isalnum(byte) != 0 ||
            std::string_view("/-._~").find(static_cast<char>(byte)) != std::string_view::npos)
            text += static_cast<char>(byte);
        else
            text += fmt::format("%{:02X}", byte);
    return text;
}

/// Returns the location of a file. If the file lies in the current folder or below it, the location is relative to
/// this folder, because reviewers' tools find the files of a checkout in this way. Otherwise it is absolute.
Json artifact_location(const std::string& path) {
    std::error_code error;
    // `python3 ../train.py` is recorded with `..` in its path, which viewers compare with the names in a checkout.
    const std::filesystem::path file = std::filesystem::path(path).lexically_normal();
    const std::filesystem::path folder = std::filesystem::current_path(error);
    const std::filesystem::path inside = file.is_relative() ? file : file.lexically_relative(folder);
    if (inside.empty() || *inside.begin() == "..") return {{"uri", "file://" + encoded_path(file.string())}};
    return {{"uri", encoded_path(inside.string())}, {"uriBaseId", "%SRCROOT%"}};
}

Json location_of(const LowPrecisionPlace& place) {
    Json location = Json::object();
    if (!place.file.empty())
        location["physicalLocation"] = {{"artifactLocation", artifact_location(place.file)},
                                        {"region", {{"startLine", place.line}}}};
    if (!place.name.empty()) location["logicalLocations"] = Json::array({{{"fullyQualifiedName", place.name}}});
    return location;
}

std::string listed_all(const std::set<std::string>& words) {
    return listed(std::vector<std::string>(words.begin(), words.end()), 3);
}

std::string rule_id(const std::string& format) { return "ran-at-" + format; }

Json result_of(const LowPrecisionPlace& place, const LowPrecisionCalls& low) {
    const std::string text = fmt::format(
        "{} of {} ran at {}, or {} allowed to; asked for: {}", counted(low.calls, "call"), listed_all(low.functions),
        place.format, low.calls == 1 ? "was" : "were", low.requests.empty() ? "not known" : listed_all(low.requests));
    Json result = {{"ruleId", rule_id(place.format)}, {"level", "warning"}, {"message", {{"text", text}}}};
    if (Json location = location_of(place); !location.empty())
        result["locations"] = Json::array({std::move(location)});
    result["properties"] = {{"calls", low.calls}};
    return result;
}

Json rules_of(const std::map<LowPrecisionPlace, LowPrecisionCalls>& places) {
    std::set<std::string> formats;
    for (const auto& [place, low] : places) formats.insert(place.format);
    return json_list(formats, [](const std::string& format) -> Json {
        return {
            {"id", rule_id(format)},
            {"shortDescription", {{"text", fmt::format("Matrix products ran at {}, or were allowed to", format)}}}};
    });
}

std::map<LowPrecisionPlace, LowPrecisionCalls> low_places(const CallPathTree& paths, const MergedCalls& calls) {
    std::map<LowPrecisionPlace, LowPrecisionCalls> places;
    for (const CallsOfPath& part : paths.calls()) {
        const MergedRow& row = calls.rows()[part.row];
        if (part.counters.calls == 0 || !ran_below_fp32(row)) continue;
        LowPrecisionPlace place;
        place.format = row.effective_format();
        if (const PathNode* level = level_shown_as_place(paths, part.node, row.where); level != nullptr) {
            place.name = level->line != 0 ? level->function : level->call_site;
            if (level->line != 0) place.file = level->file;
            place.line = level->line;
        }
        LowPrecisionCalls& low = places[place];
        low.calls += part.counters.calls;
        low.functions.insert(row.function);
        if (!row.requested.empty()) low.requests.insert(row.requested_text());
    }
    return places;
}

}  // namespace

void write_sarif(const ReportContents& contents, const ReportView&, ReportOutput& output) {
    const std::map<LowPrecisionPlace, LowPrecisionCalls> places = low_places(contents.paths, contents.calls);
    Json notes = json_list(contents.problems, [](const ReadingProblem& problem) -> Json {
        return {{"level", "error"}, {"message", {{"text", problem.path + ": " + problem.text}}}};
    });
    Json results = json_list(places, [](const auto& place) { return result_of(place.first, place.second); });
    const Json driver = {{"name", "fp32shim"}, {"semanticVersion", FP32SHIM_VERSION}, {"rules", rules_of(places)}};
    const Json invocation = {{"executionSuccessful", contents.problems.empty()},
                             {"toolExecutionNotifications", std::move(notes)}};
    output.write(json_text({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                            {"version", "2.1.0"},
                            {"runs", Json::array({{{"tool", {{"driver", driver}}},
                                                   {"invocations", Json::array({invocation})},
                                                   {"results", std::move(results)}}})}}));
}

}  // namespace fp32shim::cli
