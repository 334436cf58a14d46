#include "cli/sensitivity/measurements.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "cli/binaries/file_hash.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/output/json.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "policy/messages.hpp"
#include "policy/sha256.hpp"

namespace fp32shim::cli {
namespace {

constexpr double no_number = std::numeric_limits<double>::infinity();

std::string key_of(const RunRequest& request) {
    policy::Sha256 hash;
    hash.add(request.precision);
    hash.add("\n");
    if (!request.cpu.empty()) hash.add(request.cpu + "\n");
    hash.add(request.policy);
    return hash.finish();
}

Json state_line(const std::string& key, const Measured& measured) {
    return {{"run", key},
            {"error", number_or_null(measured.error)},
            {"problem", measured.problem},
            {"was_lowered", measured.was_lowered}};
}

/// Identity of a file's content, as far as the system tells it.
std::string stamp_of(const std::string& path) {
    struct stat status {};
    if (path.empty() || stat(path.c_str(), &status) != 0) return {};
    return fmt::format("{} {} {}.{}", status.st_ino, status.st_size, std::int64_t{status.st_mtim.tv_sec},
                       status.st_mtim.tv_nsec);
}

std::string measured_text(const Measured& measured) {
    return measured.problem.empty() ? fmt::format("output error {:.2g}", measured.error) : measured.problem;
}

}  // namespace

Measurements::Measurements(MeasuringSettings settings, Runs& runs, const Json& identity)
    : settings_(std::move(settings)), runs_(runs) {
    std::error_code error;
    const bool is_there = std::filesystem::exists(settings_.state_path, error);
    if (is_there)
        read_state(json_line(identity));
    else
        append(identity);
    known_before_ = known_.size();
    if (!is_there && !std::filesystem::exists(settings_.state_path, error))
        problem_ = fmt::format("{}: cannot be written; --state names another file",
                               policy::quoted_path(settings_.state_path));
}

/// Takes in a line of the state. Returns false if it is no result and no file.
bool Measurements::read_line(const Json& line) {
    try {
        if (line.contains("file")) {
            const std::string path = line.at("file");
            if (version_of_file(path) != line.at("version").get<std::string>())
                problem_ = fmt::format(
                    "{} has changed since the runs whose results are in {}; remove that file to start again, or "
                    "restore the other",
                    policy::quoted_path(path), policy::quoted_path(settings_.state_path));
            return true;
        }
        if (line.contains("reference")) {
            earlier_reference_ = line.at("reference");
            return true;
        }
        const Json& number = line.at("error");
        earlier_.insert(line.at("run"));
        known_[line.at("run")] = {number.is_null() ? no_number : number.get<double>(), line.at("problem"),
                                  line.at("was_lowered")};
        return true;
    } catch (const Json::exception&) {
        return false;
    }
}

/// Reads the results of an earlier part of the search. A last line that was cut off is removed.
void Measurements::read_state(const std::string& first_line) {
    std::ifstream file(settings_.state_path, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::size_t whole = text.rfind('\n') + 1;
    bool is_ours = text.starts_with(first_line);
    for (std::size_t begin = first_line.size(); is_ours && begin < whole;) {
        const std::size_t end = text.find('\n', begin) + 1;
        is_ours = read_line(Json::parse(text.substr(begin, end - begin), nullptr, false));
        begin = end;
    }
    if (!is_ours)
        problem_ = fmt::format(
            "{}: is not the state of this search (another command or other options); remove it, or name another "
            "file: --state FILE",
            policy::quoted_path(settings_.state_path));
    std::error_code error;
    if (is_ours && whole < text.size()) std::filesystem::resize_file(settings_.state_path, whole, error);
}

void Measurements::append(const Json& line) const {
    std::ofstream(settings_.state_path, std::ios::binary | std::ios::app) << json_line(line);
}

/// Keeps the checksum of the reference, or compares it with that of an earlier part of the search.
void Measurements::check_reference() {
    policy::Sha256 hash;
    hash.add({reinterpret_cast<const char*>(reference_.data()), reference_.size() * sizeof(double)});
    const std::string checksum = hash.finish();
    if (earlier_reference_.empty()) return append({{"reference", checksum}});
    if (checksum == earlier_reference_ || known_before_ == 0) return;
    throw MeasuringFailed{
        {fmt::format(
             "the exact run gave other numbers than the one whose results are in {}: an input has changed, or "
             "equal runs differ; remove that file to start again",
             policy::quoted_path(settings_.state_path)),
         exit_code::usage},
        true};
}

/// Writes the versions of those input files that the first run has not changed, and of the sources of its products.
void Measurements::keep_input_files(const RecordedProducts& products) {
    for (const RecordedProducts::Met& met : products.groups)
        if (!met.group.file.empty()) file_versions_.try_emplace(met.group.file, version_of_file(met.group.file));
    for (const auto& [path, version] : file_versions_)
        if (!version.empty() && version_of_file(path) == version) append({{"file", path}, {"version", version}});
    file_versions_.clear();
}

void Measurements::remove_state() const {
    std::error_code error;
    std::filesystem::remove(settings_.state_path, error);
}

/// Makes runs, all at once.
std::vector<Measured> Measurements::run(const std::vector<RunRequest>& requests) {
    const std::string before = stamp_of(settings_.compared_file);
    std::vector<FinishedRun> runs;
    {
        Progress progress("fp32shim sensitivity, runs");
        progress.show(run_count_, expected_runs());
        runs = runs_.run(requests);
    }
    const bool was_written = settings_.compared_file.empty() || stamp_of(settings_.compared_file) != before;
    std::vector<Measured> results;
    results.reserve(runs.size());
    for (FinishedRun& run : runs) {
        if (run.ended.exec_error != 0)
            throw MeasuringFailed{
                {fmt::format("a run cannot start: {}", std::strerror(run.ended.exec_error)), exit_code::inconclusive},
                true};
        ++run_count_;
        results.push_back(judge(run, was_written));
        last_run_ = std::move(run);
    }
    return results;
}

/// Compares the numbers of a run with the reference, or makes them the reference.
Measured Measurements::judge(const FinishedRun& run, bool was_written) {
    Measured measured{.error = no_number};
    measured.was_lowered =
        std::ranges::any_of(run.products.groups, [](const RecordedProducts::Met& met) { return met.was_lowered; });
    const bool is_printed = settings_.compared_file.empty();
    const std::string source = is_printed ? "stdout" : policy::quoted_path(settings_.compared_file);
    Numbers numbers;
    if (is_printed)
        numbers.values = numbers_in(run.stdout_text);
    else if (was_written)
        numbers = read_numbers(settings_.compared_file);
    if (run.ended.signal != 0 || run.ended.exit_status != 0)
        measured.problem = ended_text(run.ended);
    else if (!was_written)
        measured.problem = source + " was not written";
    else if (!numbers.problem.empty())
        measured.problem = source + ' ' + numbers.problem;
    else if (numbers.values.empty())
        measured.problem = source + " has no numbers";
    if (!measured.problem.empty()) return measured;
    if (reference_.empty()) reference_ = numbers.values;
    measured.error = output_error(reference_, numbers.values, settings_.metric);
    if (numbers.values.size() != reference_.size())
        measured.problem =
            fmt::format("{} instead of {}", counted(numbers.values.size(), "number"), reference_.size());
    else if (!std::isfinite(measured.error))
        measured.problem = "a number became NaN or infinite, or was, or was 0";
    return measured;
}

void Measurements::tell(const std::string& text, const Measured& measured) const {
    const std::string total = expected_runs() == 0 ? "" : fmt::format(" of about {}", expected_runs());
    say("sensitivity", fmt::format("run {}{}: {}: {}", run_count_, total, text, measured_text(measured)));
}

double Measurements::noise() const { return exact_errors_.empty() ? 0 : *std::ranges::max_element(exact_errors_); }

/// Keeps what an exact run has shown. The first one has the products, and the numbers of reference.
void Measurements::keep_exact(const Measured& measured) {
    if (++exact_count_ == 1) {
        exact_products_ = last_run_.products;
        if (previews()) say_preview("sensitivity");
        check_reference();
        if (known_before_ == 0) keep_input_files(exact_products_);
    } else {
        std::map<GroupKey, std::uint64_t> calls;
        for (const RecordedProducts::Met& met : last_run_.products.groups) calls[met.group.key] = met.group.calls;
        for (const RecordedProducts::Met& first : exact_products_.groups)
            if (calls[first.group.key] >= first.group.calls) ran_again_.insert(first.group.key);
        exact_errors_.push_back(measured.error);
    }
    tell("everything exact", measured);
}

const RecordedProducts& Measurements::run_exact(const RunRequest& request, std::uint64_t count) {
    if (exact_count_ == 0)
        for (const std::string& path : settings_.input_files)
            if (path != settings_.compared_file)
                if (const std::string version = version_of_file(path); !version.empty())
                    file_versions_[path] = version;
    while (exact_count_ < count) {
        const Measured measured = run({request}).front();
        if (!measured.problem.empty() && exact_count_ == 0) {
            print(last_lines_of(last_run_.output), STDERR_FILENO);
            throw MeasuringFailed{
                {fmt::format("with everything exact, there is nothing to compare: {}", measured.problem),
                 last_run_.ended.signal != 0 ? exit_code::was_killed : exit_code::finding}};
        }
        if (!measured.problem.empty())
            throw MeasuringFailed{
                {fmt::format("an equal exact run cannot be compared with the first: {}", measured.problem),
                 exit_code::inconclusive}};
        keep_exact(measured);
    }
    return exact_products_;
}

void Measurements::check_independence(const RunRequest& request) {
    if (exact_count_ < 2) return;  // one exact run was asked for
    const double limit = chance();
    run_exact(request, exact_count_ + 1);
    if (exact_errors_.back() <= limit) return;
    const double before = *std::ranges::max_element(exact_errors_.begin(), exact_errors_.end() - 1);
    throw MeasuringFailed{
        {fmt::format(
             "an exact run right after a lowered one differs from the first by {:.2g}, and those before it by {:.2g} "
             "at most: a run may read what the last one has left (a cache, a checkpoint); remove it before each "
             "run. If it is chance, --repeat {} shows more of it",
             exact_errors_.back(), before, 4 * exact_count_),
         exit_code::inconclusive}};
}

std::vector<Measured> Measurements::measure(const std::vector<Experiment>& experiments) {
    std::vector<const Experiment*> open;
    for (const Experiment& experiment : experiments)
        if (const std::string key = key_of(experiment.request); !known_.contains(key))
            open.push_back(&experiment);
        else if (earlier_.erase(key) > 0)
            ++used_count_;
    for (std::size_t begin = 0; begin < open.size(); begin += settings_.jobs) {
        const std::size_t end = std::min<std::size_t>(begin + settings_.jobs, open.size());
        std::vector<RunRequest> requests;
        for (std::size_t i = begin; i < end; ++i) requests.push_back(open[i]->request);
        const std::vector<Measured> results = run(requests);
        for (std::size_t i = begin; i < end; ++i) {
            const std::string key = key_of(open[i]->request);
            known_[key] = results[i - begin];
            // A run that lowered nothing is made again, because its reasons are not kept.
            if (results[i - begin].was_lowered) append(state_line(key, results[i - begin]));
            tell(open[i]->text, results[i - begin]);
        }
    }
    std::vector<Measured> all;
    all.reserve(experiments.size());
    for (const Experiment& experiment : experiments) all.push_back(known_.at(key_of(experiment.request)));
    return all;
}

std::string noise_sentence(const Measurements& runs) {
    if (runs.exact_runs() == 1) return "One run was exact, so it is not known how far equal runs differ.";
    if (runs.noise() == 0) return fmt::format("{} exact runs gave equal numbers.", runs.exact_runs());
    return fmt::format(
        "{} exact runs differed by up to {:.2g}. Errors up to {:.2g} are not told apart from chance\n(95% "
        "for all rows together, if errors are normal): they show nothing.",
        runs.exact_runs(), runs.noise(), runs.chance());
}

}  // namespace fp32shim::cli
