#include "cli/sensitivity/measurements.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "cli/binaries/file_hash.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/files/own_files.hpp"
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
    Json line = {{"run", key},
                 {"error", number_or_null(measured.error)},
                 {"problem", measured.problem},
                 {"was_lowered", measured.was_lowered},
                 {"is_chance", measured.is_chance},
                 {"changed", measured.changed},
                 {"formats", measured.formats},
                 {"most", Json::array()}};
    for (const ChangedRow& row : measured.most) line["most"].push_back(to_json(row));
    return line;
}

Measured measured_in(const Json& line) {
    const Json& number = line.at("error");
    Measured measured{number.is_null() ? no_number : number.get<double>(), line.at("problem"), line.at("was_lowered"),
                      line.at("is_chance"), line.at("changed")};
    for (const Json& row : line.at("most")) measured.most.push_back(changed_row_in(row));
    measured.formats = line.at("formats").get<decltype(measured.formats)>();
    return measured;
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

/// Returns a sentence about exact runs that differ.
std::string chance_sentence(const Measurements& runs) {
    const std::string text = fmt::format("{} exact runs differed by up to {:.2g}. ", runs.exact_runs(), runs.noise());
    const std::string by_number = runs.reference().is_by_row() ? ", number by number," : "";
    if (!std::isfinite(runs.chance()))
        return text +
               fmt::format("Errors that this explains{} show nothing{}.", by_number,
                           std::isfinite(runs.noise()) ? "; two runs are too few to tell how large these are" : "");
    return text +
           fmt::format(
               "Errors up to {:.2g}{} are not told apart from chance\n(95% for all rows together, if errors are "
               "normal): they show nothing.",
               runs.chance(), runs.reference().is_by_row() ? " (less in numbers that differed less)" : "");
}

}  // namespace

Measurements::Measurements(MeasuringSettings settings, Runs& runs, const Json& identity)
    : settings_(std::move(settings)), runs_(runs), reference_(settings_.metric, settings_.tolerance) {
    const FileText file = read_own_file(settings_.state_path, most_state_bytes);
    if (file.problem.empty()) read_state(file.text, json_line(identity));
    known_before_ = known_.size();
    const std::string problem =
        file.is_absent ? append_to_own_file(settings_.state_path, json_line(identity)) : file.problem;
    if (!problem.empty())
        problem_ =
            fmt::format("{}: {}; --state names another file", policy::quoted_path(settings_.state_path), problem);
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
        if (line.contains("counts_all")) {
            forget_runs();
            return true;
        }
        if (line.contains("reference")) {
            earlier_reference_ = line.at("reference");
            return true;
        }
        known_[line.at("run")] = measured_in(line);
        earlier_.insert(line.at("run"));
        return true;
    } catch (const Json::exception&) {
        return false;
    }
}

/// Reads the results of an earlier part of the search. A last line that was cut off is removed.
void Measurements::read_state(const std::string& text, const std::string& first_line) {
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

void Measurements::append(const Json& line) const { append_to_own_file(settings_.state_path, json_line(line)); }

/// Keeps the checksum of the reference, or compares it with that of an earlier part of the search.
void Measurements::check_reference() {
    policy::Sha256 hash;
    const std::vector<double>& values = reference_.values();
    hash.add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
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
std::vector<Measured> Measurements::run(const std::vector<RunRequest>& requests, bool is_reference) {
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
        if (const std::string problem = unknown_run_text(run); !problem.empty())
            throw MeasuringFailed{{problem, exit_code::inconclusive}, true};
        ++run_count_;
        results.push_back(judge(run, was_written, is_reference));
        last_run_ = std::move(run);
    }
    return results;
}

/// Compares the numbers of a run with those of the exact ones, and takes those of a further exact run.
Measured Measurements::judge(const FinishedRun& run, bool was_written, bool is_reference) {
    Measured measured{.error = no_number};
    measured.was_lowered =
        std::ranges::any_of(run.products.groups, [](const RecordedProducts::Met& met) { return met.was_lowered; });
    for (const RecordedProducts::Met& met : run.products.groups)
        measured.formats[met.group.full_text()] = met.formats;
    const bool is_printed = settings_.compared_file.empty();
    const std::string source = is_printed ? "stdout" : policy::quoted_path(settings_.compared_file);
    if (run.ended.signal != 0 || run.ended.exit_status != 0)
        measured.problem = ended_text(run.ended);
    else if (!was_written)
        measured.problem = source + " was not written";
    if (!measured.problem.empty()) return measured;
    const Numbers numbers =
        is_printed ? numbers_of(run.stdout_text, run.time) : read_numbers(settings_.compared_file, run.time);
    if (!numbers.problem.empty()) {
        measured.problem = source + ' ' + numbers.problem;
        return measured;
    }
    if (is_reference) measured.problem = reference_.add(numbers);
    if (!measured.problem.empty()) return measured;
    Distance distance = reference_.distance(numbers);
    measured.error = distance.error;
    measured.is_chance = distance.is_chance;
    measured.changed = distance.changed;
    measured.most = std::move(distance.most);
    if (!is_reference) measured.problem = std::move(distance.problem);
    return measured;
}

void Measurements::count_all_numbers() {
    append({{"counts_all", true}});
    forget_runs();
}

void Measurements::forget_runs() {
    reference_.count_all();
    known_.clear();
    earlier_.clear();
}

void Measurements::tell(const std::string& text, const Measured& measured) const {
    const std::string total = expected_runs() == 0 ? "" : fmt::format(" of about {}", expected_runs());
    say("sensitivity", fmt::format("run {}{}: {}: {}", run_count_, total, text, measured_text(measured)));
}

void Measurements::expect_rows(std::uint64_t rows) {
    rows_ = rows;
    reference_.expect_runs(rows);
}

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
        const Measured measured = run({request}, true).front();
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

void Measurements::check_independence(const RunRequest& request, std::string_view when) {
    if (exact_count_ < 2) return;  // one exact run was asked for
    const Measured measured = run({request}).front();
    keep_exact(measured);
    if (!measured.is_told_apart()) {
        noise_after_lowered_ = std::max(noise_after_lowered_, measured.error);
        return;
    }
    throw MeasuringFailed{{fmt::format("an exact run {} differs from the first: {}; those before it had output "
                                       "errors of {:.2g} at most. A run may "
                                       "read what the last one has left (a cache, a checkpoint), or a number may "
                                       "grow with time; remove it. If it "
                                       "is chance, --repeat {} shows more of it",
                                       when, measured_text(measured), noise(), 4 * exact_count_),
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
        std::vector<Measured> results = run(requests);
        for (std::size_t i = begin; i < end; ++i) {
            const std::string key = key_of(open[i]->request);
            if (!open[i]->keeps_formats) results[i - begin].formats.clear();
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

void Measurements::confirm(const Experiment& experiment, const Measured& measured) {
    if (exact_count_ < 2) return;  // one exact run was asked for
    const Measured again = run({experiment.request}).front();
    tell(experiment.text + ", again", again);
    if (again.is_told_apart()) return;
    throw MeasuringFailed{
        {fmt::format("two equal runs, {}, differ: {} at first, and {} then. Chance does more than {} "
                     "exact runs have shown; --repeat {} shows more of it",
                     experiment.text, measured_text(measured), measured_text(again), exact_count_, 4 * exact_count_),
         exit_code::inconclusive}};
}

std::string noise_sentence(const Measurements& runs) {
    const std::string clock(runs.reference().has_clock() ? clock_text : "");
    if (runs.exact_runs() == 1) return clock + "One run was exact, so it is not known how far equal runs differ.";
    std::string text = fmt::format("{}{} exact runs gave equal numbers.", clock, runs.exact_runs());
    if (runs.noise() > 0) text = clock + chance_sentence(runs);
    const std::vector<ChangedRow> left_out = runs.reference().left_out();
    if (left_out.empty()) return text;
    if (runs.noise() == 0) text = fmt::format("{}In the others, {} exact runs were equal.", clock, runs.exact_runs());
    std::vector<std::string> names;
    names.reserve(left_out.size());
    for (const ChangedRow& row : left_out) names.push_back(printable(row.name));
    return fmt::format("Not counted, because equal runs differ by more than {:.2g} in {}: {}.\n{}",
                       runs.reference().most_noise(), left_out.size() == 1 ? "it" : "them", listed(names, 5), text);
}

}  // namespace fp32shim::cli
