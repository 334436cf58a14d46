#include "cli/bisect/state.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "cli/files/own_files.hpp"
#include "cli/output/json.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

constexpr Verdict all_verdicts[] = {Verdict::acceptable, Verdict::not_acceptable, Verdict::unresolved};

Json to_json(const Group& group) {
    const GroupKey& key = group.key;
    return {{"scope", key.scope},
            {"place", key.location.text},
            {"is_call_site", key.location.is_call_site},
            {"function", key.function},
            {"m", key.m},
            {"n", key.n},
            {"k", key.k},
            {"batch", key.batch},
            {"is_folded", key.is_folded},
            {"where", group.where},
            {"file", group.file},
            {"line", group.line},
            {"calls", group.calls},
            {"work", group.work}};
}

Group group_of(const Json& json) {
    Group group;
    group.key = {.scope = json.at("scope"),
                 .location = {json.at("place"), json.at("is_call_site")},
                 .function = json.at("function"),
                 .m = json.at("m"),
                 .n = json.at("n"),
                 .k = json.at("k"),
                 .batch = json.at("batch"),
                 .is_folded = json.at("is_folded")};
    group.where = json.at("where");
    group.file = json.at("file");
    group.line = json.at("line");
    group.calls = json.at("calls");
    group.work = json.at("work");
    return group;
}

Json to_json(const TestedSet& tested) {
    const Outcome& outcome = tested.outcome;
    return {{"lowered", to_string(tested.lowered)},
            {"groups", tested.set},
            {"verdict", to_string(outcome.verdict)},
            {"how", outcome.how},
            {"is_flaky", outcome.is_flaky},
            {"last_run", outcome.last_run},
            {"ran_lowered", outcome.lowered},
            {"new_groups", outcome.new_groups},
            {"calls_of", tested.calls.group},
            {"first_call", tested.calls.first},
            {"last_call", tested.calls.last},
            {"runs", outcome.runs},
            {"failures", outcome.failures},
            {"undecided", outcome.undecided},
            {"is_confirmed", outcome.is_confirmed},
            {"ran", outcome.ran},
            {"as_often", outcome.as_often},
            {"less_often", outcome.less_often},
            {"was_on_cpu", outcome.was_on_cpu},
            {"other_formats", outcome.other_formats},
            {"output", outcome.output}};
}

TestedSet tested_set_of(const Json& json) {
    TestedSet tested;
    tested.lowered = json.at("lowered") == to_string(Lowered::only) ? Lowered::only : Lowered::all_but;
    tested.set = json.at("groups").get<Subset>();
    for (const Verdict verdict : all_verdicts)
        if (json.at("verdict") == to_string(verdict)) tested.outcome.verdict = verdict;
    tested.outcome.how = json.at("how");
    tested.outcome.is_flaky = json.at("is_flaky");
    tested.outcome.last_run = json.at("last_run");
    tested.outcome.lowered = json.at("ran_lowered").get<Subset>();
    tested.outcome.new_groups = json.at("new_groups");
    tested.calls = {json.at("calls_of"), json.at("first_call"), json.at("last_call")};
    Outcome& outcome = tested.outcome;
    outcome.runs = json.at("runs");
    outcome.failures = json.at("failures");
    outcome.undecided = json.at("undecided");
    outcome.is_confirmed = json.at("is_confirmed");
    outcome.ran = json.at("ran").get<Subset>();
    outcome.as_often = json.at("as_often").get<Subset>();
    outcome.less_often = json.at("less_often").get<Subset>();
    outcome.was_on_cpu = json.at("was_on_cpu");
    outcome.other_formats = json.at("other_formats").get<std::map<std::string, Subset>>();
    outcome.output = json.at("output");
    return tested;
}

std::string no_state_text(const std::string& path) {
    return fmt::format("{}: is not the state of a search; name another file: --state FILE",
                       policy::quoted_path(path));
}

}  // namespace

std::string_view to_string(Lowered lowered) { return lowered == Lowered::only ? "only" : "all but"; }

std::string_view to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::acceptable:
            return "acceptable";
        case Verdict::not_acceptable:
            return "not acceptable";
        case Verdict::unresolved:
            return "unresolved";
    }
    return {};
}

SearchState::SearchState(std::string path, const Json& search, Groups& groups)
    : path_(std::move(path)), first_line_(json_line(search)), groups_(groups) {
    if (path_.empty()) return;
    const FileText file = read_own_file(path_, most_state_bytes);
    if (file.problem.empty()) read(file.text);
    const std::string problem = file.is_absent ? append_to_own_file(path_, first_line_) : file.problem;
    if (!problem.empty())
        problem_ = fmt::format("{}: {}; --state names another file", policy::quoted_path(path_), problem);
}

/// Returns what is wrong with the first line of a state file; empty if it is valid.
std::string SearchState::problem_with_first_line(const std::string& line) const {
    if (line == first_line_) return {};
    const Json search = Json::parse(line, nullptr, false);
    if (!search.is_object() || !search.contains("search")) return no_state_text(path_);
    return fmt::format(
        "{}: is the state of another search (another command or other options); remove it, or name "
        "another file: --state FILE",
        policy::quoted_path(path_));
}

/// Reads all complete lines. An incomplete last line was left by a search that was killed; it is removed.
void SearchState::read(const std::string& text) {
    const std::size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
    std::size_t end = text.find('\n') + 1;
    problem_ = problem_with_first_line(text.substr(0, whole == 0 ? 0 : end));
    while (problem_.empty() && end < whole) {
        const std::size_t begin = std::exchange(end, text.find('\n', end) + 1);
        if (!read_line(Json::parse(text.substr(begin, end - begin), nullptr, false))) problem_ = no_state_text(path_);
    }
    if (problem_.empty() && whole < text.size() && truncate(path_.c_str(), static_cast<off_t>(whole)) != 0)
        problem_ = fmt::format("{}: cannot be written ({}); --state names another file", policy::quoted_path(path_),
                               std::strerror(errno));
    written_groups_ = groups_.all().size();
}

/// Takes in a line. Returns false if it is no group, file or outcome, or names a group that is not there.
bool SearchState::read_line(const Json& line) {
    try {
        if (!line.is_object()) return false;
        if (line.contains("scope")) {
            groups_.number_of(group_of(line));
            return true;
        }
        if (line.contains("sha256")) {
            files_[line.at("file")] = line.at("sha256");
            return true;
        }
        const TestedSet tested = tested_set_of(line);
        const Outcome& outcome = tested.outcome;
        std::vector<Subset> sets = {tested.set, outcome.lowered, outcome.ran, outcome.as_often, outcome.less_often};
        for (const auto& [format, set] : outcome.other_formats) sets.push_back(set);
        for (const Subset& set : sets)
            if ((!set.empty() && set.back() >= groups_.all().size()) ||
                std::ranges::adjacent_find(set, std::greater_equal()) != set.end())
                return false;
        if (tested.calls.last != 0 && !contains(tested.set, tested.calls.group)) return false;
        if (outcome.failures + outcome.undecided > outcome.runs) return false;
        add_tested(tested);
        return true;
    } catch (const Json::exception&) {
        return false;
    }
}

const Outcome* SearchState::find(Lowered lowered, const Subset& set, const CallRange& calls) const {
    const auto found = indices_.find({lowered, set, calls});
    return found == indices_.end() ? nullptr : &tested_[found->second].outcome;
}

void SearchState::add_tested(const TestedSet& tested) {
    const auto [entry, is_new] = indices_.try_emplace({tested.lowered, tested.set, tested.calls}, tested_.size());
    if (is_new)
        tested_.push_back(tested);
    else
        tested_[entry->second] = tested;
    runs_ = std::max(runs_, tested.outcome.last_run);
}

bool SearchState::add(const TestedSet& tested) {
    if (path_.empty()) {
        add_tested(tested);
        return true;
    }
    std::string lines;
    for (; written_groups_ < groups_.all().size(); ++written_groups_)
        lines += json_line(to_json(groups_[written_groups_]));
    add_tested(tested);
    return append(lines + json_line(to_json(tested)));
}

bool SearchState::add_file(const std::string& path, const std::string& sha256) {
    const auto [entry, is_new] = files_.try_emplace(path, sha256);
    return !is_new || append(json_line({{"file", path}, {"sha256", sha256}}));
}

bool SearchState::append(const std::string& lines) const { return append_to_own_file(path_, lines).empty(); }

void SearchState::remove_file() const {
    std::error_code error;
    std::filesystem::remove(path_, error);
}

}  // namespace fp32shim::cli
