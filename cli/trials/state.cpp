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

#include "cli/binaries/file_identity.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/files/own_files.hpp"
#include "cli/output/json.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {

// Each call of this macro defines two functions: one writes a type as a JSON object with the named members, and one
// reads it.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GroupLocation, text, is_call_site)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GroupKey, scope, location, function, m, n, k, batch, is_folded)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProductGroup, key, where, file, line, calls, work)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RecordedProducts::RecordedGroup, group, was_lowered, formats)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RecordedProducts, groups, reasons, calls, calls_on_gpu, calls_of_other_types,
                                   by_onednn)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProgramEnd, exit_status, signal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunTimeSpan, begin_ns, end_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Trial, ended, time, products, checksum)

TrialStateFile::TrialStateFile(std::string path, const Json& identity) : path_(std::move(path)) {
    const std::string first_line = json_line(identity);
    const FileText file = read_user_owned_file(path_, max_state_bytes);
    if (file.problem.empty()) read_lines(file.text, first_line);
    const std::string problem = file.is_absent ? append_to_user_owned_file(path_, first_line) : file.problem;
    if (problem.empty()) return;
    if (file.is_absent) remove_file();  // a part of the first line would not be taken for a state
    throw SearchAborted{fmt::format("{}: {}; --state names another file", policy::quoted_path(path_), problem),
                        exit_code::usage};
}

/// Reads all complete lines. Removes an incomplete last line, which a killed search has left.
void TrialStateFile::read_lines(const std::string& text, const std::string& first_line) {
    const std::string_view whole = std::string_view(text).substr(0, text.rfind('\n') + 1);
    const Json first = Json::parse(whole.substr(0, whole.find('\n') + 1), nullptr, false);
    if (first.is_object() && first.contains("search") && !whole.starts_with(first_line))
        throw SearchAborted{
            fmt::format("{}: is the state of another search (another command or other options); remove it, or "
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
    } catch (const std::exception&) {  // the file is not JSON, or has other members than a state file
        throw SearchAborted{fmt::format("{}: is not the state of a search; name another file: --state FILE",
                                        policy::quoted_path(path_)),
                            exit_code::usage};
    }
    if (whole.size() < text.size() && truncate(path_.c_str(), static_cast<off_t>(whole.size())) != 0)
        throw SearchAborted{fmt::format("{}: cannot be written ({}); --state names another file",
                                        policy::quoted_path(path_), std::strerror(errno)),
                            exit_code::usage};
}

void TrialStateFile::read_line(const Json& line) {
    if (line.contains("version")) {
        const std::string path = line.at("input");
        files_.insert(path);
        if (checksum_or_mtime(path) != line.at("version").get<std::string>())
            throw SearchAborted{
                fmt::format("{} has changed since the runs whose answers are in {}; remove that file to start "
                            "again, or restore the other",
                            policy::quoted_path(path), policy::quoted_path(path_)),
                exit_code::usage};
    } else if (line.contains("reference")) {
        reference_ = line.at("reference");
    } else {
        Trial trial = nlohmann::json(line).get<Trial>();
        trial.distance = distance_from_json(line.at("distance"));
        earlier_[line.at("run")].push_back(std::move(trial));
        ++earlier_runs_;
    }
}

void TrialStateFile::keep_trial(const std::string& request, const Trial& trial) {
    Json line = {{"run", request}, {"distance", to_json(trial.distance)}};
    line.update(Json(nlohmann::json(trial)));
    append_lines(json_line(line));
}

void TrialStateFile::keep_file_version(const std::string& path, const std::string& version) {
    files_.insert(path);
    append_lines(json_line({{"input", path}, {"version", version}}));
}

std::optional<Trial> TrialStateFile::take_trial(const std::string& request) {
    const auto found = earlier_.find(request);
    if (found == earlier_.end() || found->second.empty()) return std::nullopt;
    Trial trial = std::move(found->second.front());
    found->second.pop_front();
    return trial;
}

bool TrialStateFile::matches_or_keeps_reference(const std::string& checksum) {
    if (!reference_.empty()) return checksum == reference_;
    reference_ = checksum;
    append_lines(json_line({{"reference", checksum}}));
    return true;
}

void TrialStateFile::append_lines(const std::string& lines) const {
    if (const std::string problem = append_to_user_owned_file(path_, lines); !problem.empty())
        throw SearchAborted{
            fmt::format("{}: {}; when it can be written again, repeat the command to continue from it",
                        policy::quoted_path(path_), problem),
            exit_code::inconclusive, true};
}

void TrialStateFile::remove_file() const {
    std::error_code error;
    std::filesystem::remove(path_, error);
}

}  // namespace fp32shim::cli
