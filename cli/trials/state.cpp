#include "cli/trials/state.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/binaries/file_hash.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/files/own_files.hpp"
#include "cli/output/json.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

Json to_json(const Group& group) {
    const GroupKey& key = group.key;
    return {{"scope", key.scope},
            {"place", key.location.text},
            {"is_call_site", key.location.is_call_site},
            {"function", key.function},
            {"sizes", {key.m, key.n, key.k, key.batch}},
            {"is_folded", key.is_folded},
            {"where", group.where},
            {"file", group.file},
            {"line", group.line},
            {"calls", group.calls},
            {"work", group.work}};
}

Group group_in(const Json& json) {
    const Json& sizes = json.at("sizes");
    return {.key = {.scope = json.at("scope"),
                    .location = {json.at("place"), json.at("is_call_site")},
                    .function = json.at("function"),
                    .m = sizes.at(0),
                    .n = sizes.at(1),
                    .k = sizes.at(2),
                    .batch = sizes.at(3),
                    .is_folded = json.at("is_folded")},
            .where = json.at("where"),
            .file = json.at("file"),
            .line = json.at("line"),
            .calls = json.at("calls"),
            .work = json.at("work")};
}

Trial trial_in(const Json& json, const Groups& groups) {
    Trial trial{.ended = {.exit_status = json.at("exit_status"), .signal = json.at("signal")},
                .seconds = json.at("seconds"),
                .products = {},
                .checksum = json.at("checksum"),
                .distance = distance_in(json.at("distance"))};
    RecordedProducts& products = trial.products;
    products.calls = json.at("calls");
    products.calls_on_gpu = json.at("calls_on_gpu");
    products.calls_of_other_types = json.at("calls_of_other_types");
    products.reasons = json.at("reasons").get<decltype(products.reasons)>();
    for (const Json& met : json.at("groups")) {
        Group group = groups.all().at(met.at(0).get<std::size_t>());
        const std::uint64_t calls = met.at(1);
        group.work =
            group.calls == 0 ? 0 : group.work / static_cast<double>(group.calls) * static_cast<double>(calls);
        group.calls = calls;
        products.groups.push_back({std::move(group), met.at(2), met.at(3).get<std::set<std::string>>()});
    }
    return trial;
}

}  // namespace

TrialState::TrialState(std::string path, const Json& identity) : path_(std::move(path)) {
    const std::string first_line = json_line(identity);
    const FileText file = read_own_file(path_, most_state_bytes);
    if (file.problem.empty()) read(file.text, first_line);
    const std::string problem = file.is_absent ? append_to_own_file(path_, first_line) : file.problem;
    if (!problem.empty())
        throw End{fmt::format("{}: {}; --state names another file", policy::quoted_path(path_), problem),
                  exit_code::usage};
}

/// Reads all complete lines. An incomplete last line was left by a search that was killed; it is removed.
void TrialState::read(const std::string& text, const std::string& first_line) {
    const std::string_view whole = std::string_view(text).substr(0, text.rfind('\n') + 1);
    const Json first = Json::parse(whole.substr(0, whole.find('\n') + 1), nullptr, false);
    if (first.is_object() && first.contains("search") && !whole.starts_with(first_line))
        throw End{fmt::format("{}: is the state of another search (another command or other options); remove it, or "
                              "name another file: --state FILE",
                              policy::quoted_path(path_)),
                  exit_code::usage};
    try {
        if (!whole.starts_with(first_line)) throw std::out_of_range("");
        for (std::size_t begin = first_line.size(); begin < whole.size();) {
            const std::size_t end = whole.find('\n', begin) + 1;
            read_line(Json::parse(whole.substr(begin, end - begin)));
            begin = end;
        }
    } catch (const std::exception&) {  // of Json, or a group that is not there
        throw End{fmt::format("{}: is not the state of a search; name another file: --state FILE",
                              policy::quoted_path(path_)),
                  exit_code::usage};
    }
    if (whole.size() < text.size() && truncate(path_.c_str(), static_cast<off_t>(whole.size())) != 0)
        throw End{fmt::format("{}: cannot be written ({}); --state names another file", policy::quoted_path(path_),
                              std::strerror(errno)),
                  exit_code::usage};
}

void TrialState::read_line(const Json& line) {
    if (line.contains("version")) {
        const std::string path = line.at("input");
        files_.insert(path);
        if (version_of_file(path) != line.at("version").get<std::string>())
            throw End{fmt::format("{} has changed since the runs whose answers are in {}; remove that file to start "
                                  "again, or restore the other",
                                  policy::quoted_path(path), policy::quoted_path(path_)),
                      exit_code::usage};
    } else if (line.contains("reference")) {
        reference_ = line.at("reference");
    } else if (line.contains("scope")) {
        groups_.number_of(group_in(line));
    } else {
        earlier_[line.at("run")].push_back(trial_in(line, groups_));
        ++earlier_runs_;
    }
}

void TrialState::keep(const std::string& request, const Trial& trial) {
    std::string lines;
    Json met = Json::array();
    for (const RecordedProducts::Met& one : trial.products.groups) {
        const std::size_t known = groups_.all().size(), number = groups_.number_of(one.group);
        if (number == known) lines += json_line(to_json(one.group));
        met.push_back({number, one.group.calls, one.was_lowered, one.formats});
    }
    append(lines + json_line({{"run", request},
                              {"exit_status", trial.ended.exit_status},
                              {"signal", trial.ended.signal},
                              {"seconds", trial.seconds},
                              {"checksum", trial.checksum},
                              {"distance", to_json(trial.distance)},
                              {"calls", trial.products.calls},
                              {"calls_on_gpu", trial.products.calls_on_gpu},
                              {"calls_of_other_types", trial.products.calls_of_other_types},
                              {"reasons", trial.products.reasons},
                              {"groups", met}}));
}

void TrialState::keep_file(const std::string& path, const std::string& version) {
    files_.insert(path);
    append(json_line({{"input", path}, {"version", version}}));
}

std::optional<Trial> TrialState::take(const std::string& request) {
    const auto found = earlier_.find(request);
    if (found == earlier_.end() || found->second.empty()) return std::nullopt;
    Trial trial = std::move(found->second.front());
    found->second.pop_front();
    return trial;
}

bool TrialState::is_same_reference(const std::string& checksum) {
    if (!reference_.empty()) return checksum == reference_;
    reference_ = checksum;
    append(json_line({{"reference", checksum}}));
    return true;
}

void TrialState::append(const std::string& lines) const {
    if (const std::string problem = append_to_own_file(path_, lines); !problem.empty())
        throw End{fmt::format("{}: cannot be written ({})", policy::quoted_path(path_), problem),
                  exit_code::inconclusive};
}

void TrialState::remove() const {
    std::error_code error;
    std::filesystem::remove(path_, error);
}

}  // namespace fp32shim::cli
