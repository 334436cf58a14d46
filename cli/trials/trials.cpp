#include "cli/trials/trials.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "cli/binaries/file_identity.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "cli/trials/assumptions.hpp"
#include "policy/messages.hpp"
#include "policy/sha256.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

std::string checksum_of(const RunRequest& request) {
    policy::Sha256 hash;
    for (const std::string& part : {request.precision, request.cpu, request.policy}) hash.add(part + "\n");
    return hash.hex_digest();
}

bool is_reference(RunPurpose purpose) {
    return purpose == RunPurpose::reference || purpose == RunPurpose::fresh_reference;
}

/// Returns a text made from a file's metadata. The text changes whenever the file is written.
std::string stamp_of(const std::string& path) {
    struct stat status {};
    if (path.empty() || stat(path.c_str(), &status) != 0) return {};
    return fmt::format("{} {} {}.{}", status.st_ino, status.st_size, std::int64_t{status.st_mtim.tv_sec},
                       status.st_mtim.tv_nsec);
}

/// Tells the user that the CPU mode preview_mode was chosen, and why. `name` is the name of the running command.
void say_preview(std::string_view name) {
    say(name,
        fmt::format("each product that was seen ran on a CPU, so lower precisions are previewed there (--cpu {})",
                    preview_mode));
}

/// Tells the user that the runs do not read the stdin of this process, if stdin is a regular file or a pipe with
/// content.
void say_unread_input(std::string_view name) {
    struct stat status {};
    if (fstat(STDIN_FILENO, &status) != 0) return;
    if (S_ISREG(status.st_mode) && status.st_size > 0)
        say(name, "standard input is a file, but each run reads an empty one; let the command open the file itself");
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (S_ISFIFO(status.st_mode) && poll(&input, 1, 0) > 0 && (input.revents & POLLIN) != 0)
        say(name, "standard input is a pipe, but each run reads an empty one; let the command read a file");
}

/// Returns the reason why nothing is known about a run: its files could not be written or were removed, or a process
/// did not apply the policy. Returns an empty text if nothing of this has happened.
std::string unknown_run_text(const FinishedRun& run) {
    if (!run.unwritten.empty())
        return fmt::format(
            "a file of a run could not be written as a whole, so the run's products are not all known: {}. TMPDIR "
            "names the folder for temporary files",
            printable(run.unwritten));
    if (!run.unread_policy.empty())
        return fmt::format(
            "a process of the command did not apply the policy of its run, so nothing is known about its "
            "products; it said \"{}\". TMPDIR names the folder for temporary files",
            printable(run.unread_policy));
    if (!run.lost.empty())
        return fmt::format(
            "{} was removed while the command ran, so nothing is known about its products. TMPDIR names the folder "
            "for temporary files; let the command remove those in another one: -- env TMPDIR=FOLDER COMMAND",
            policy::quoted_path(run.lost));
    return {};
}

}  // namespace

TrialRunner::TrialRunner(TrialSettings settings, const Json& identity)
    : settings_(std::move(settings)),
      state_(settings_.state_path, identity),
      runs_(settings_.runs),
      reference_(settings_.comparison) {
    if (!runs_.problem().empty()) throw SearchAborted{runs_.problem(), exit_code::usage};
    if (state_.earlier_run_count() > 0)
        say(settings_.name,
            fmt::format("continuing from {} with the answers of {}; remove the file to start again",
                        policy::quoted_path(state_.path()), counted(state_.earlier_run_count(), "run")));
    say_unread_input(settings_.name);
    if (!state_.input_files().empty()) return;
    for (const std::string& path : settings_.input_files)
        if (path != settings_.compared_file)
            if (const std::string version = checksum_or_mtime(path); !version.empty()) inputs_[path] = version;
}

std::vector<Trial> TrialRunner::run_all(const std::vector<RunRequest>& requests, RunPurpose purpose) {
    if (is_reference(purpose)) exact_request_ = requests.front();
    std::size_t allowed = requests.size();
    if (settings_.max_runs != 0)
        allowed = std::min<std::size_t>(allowed, settings_.max_runs - std::min(settings_.max_runs, run_count()));
    if (allowed == 0)
        throw SearchAborted{
            fmt::format("no result after {}, the limit of --max-runs; repeat the command with a higher limit to "
                        "continue from {}",
                        counted(run_count(), "run"), policy::quoted_path(state_.path())),
            exit_code::inconclusive, true};
    const bool is_kept = purpose == RunPurpose::answer || purpose == RunPurpose::reference;
    std::vector<std::optional<Trial>> trials(allowed);
    std::vector<RunRequest> missing;
    for (std::size_t i = 0; i < allowed; ++i) {
        if (is_kept) trials[i] = state_.take_trial(checksum_of(requests[i]));
        if (!trials[i]) missing.push_back(requests[i]);
    }
    if (!missing.empty() && !is_reference(purpose)) make_reference();
    std::vector<Trial> made = make_runs(missing, purpose);
    std::vector<Trial> results;
    auto next = made.begin();
    for (std::size_t i = 0; i < allowed; ++i) {
        const bool is_new = !trials[i];
        is_new_.push_back(is_new);
        last_ = is_new ? std::move(*next++) : *std::move(trials[i]);
        if (run_count() == 1) {
            first_ = last_;
            if (previews_on_cpu()) say_preview(settings_.name);
        }
        if (is_new) keep_input_versions(last_.products);
        if (is_new && is_kept) state_.keep_trial(checksum_of(requests[i]), last_);
        results.push_back(last_);
    }
    return results;
}

/// Runs the command once for each of `requests`, all at the same time.
std::vector<Trial> TrialRunner::make_runs(const std::vector<RunRequest>& requests, RunPurpose purpose) {
    if (requests.empty()) return {};
    const std::string before = stamp_of(settings_.compared_file);
    std::vector<FinishedRun> runs;
    {
        Progress progress(fmt::format("fp32shim {}, runs", settings_.name));
        progress.show(run_count(), update_expected_count());
        runs = runs_.run_all(requests);
    }
    const bool was_written = settings_.compared_file.empty() || stamp_of(settings_.compared_file) != before;
    std::vector<Trial> trials;
    for (FinishedRun& run : runs) trials.push_back(make_trial(std::move(run), was_written, purpose));
    return trials;
}

Trial TrialRunner::make_trial(FinishedRun run, bool was_written, RunPurpose purpose) {
    if (run.ended.exec_error != 0)
        throw SearchAborted{fmt::format("a run cannot start: {}", std::strerror(run.ended.exec_error)),
                            exit_code::inconclusive, true};
    if (std::string problem = unknown_run_text(run); !problem.empty())
        throw SearchAborted{std::move(problem), exit_code::inconclusive, true};
    Trial trial{std::move(run)};
    // The next run overwrites the compared file, so the file's checksum is computed now.
    if (!settings_.compared_file.empty()) trial.checksum = checksum_or_mtime(settings_.compared_file);
    trial.distance = distance_of(trial, was_written, purpose);
    trial.stdout_text.clear();
    return trial;
}

ParsedNumbers TrialRunner::numbers_of_run(const FinishedRun& run) const {
    return settings_.compared_file.empty() ? parse_numbers(run.stdout_text, run.time)
                                           : read_number_file(settings_.compared_file, run.time);
}

/// Compares the numbers of a run with those of the exact runs. If the run is itself exact, first adds its numbers to
/// the reference. `was_written` is false if the run wrote no numbers.
OutputDistance TrialRunner::distance_of(const Trial& run, bool was_written, RunPurpose purpose) {
    const auto without_numbers = [](std::string problem) {
        return OutputDistance{.error = std::numeric_limits<double>::infinity(), .problem = std::move(problem)};
    };
    if (!run.has_passed()) return without_numbers(program_end_text(run.ended));
    if (!settings_.compares_numbers) return {};
    const std::string source =
        settings_.compared_file.empty() ? "stdout" : policy::quoted_path(settings_.compared_file);
    if (std::error_code error; std::filesystem::is_directory(settings_.compared_file, error))
        return without_numbers(source + " is a folder; --compare takes a file");
    if (!was_written) return without_numbers(source + " was not written");
    const ParsedNumbers numbers = numbers_of_run(run);
    if (!numbers.problem.empty()) return without_numbers(source + ' ' + numbers.problem);
    const auto named = [&](const std::string& problem) {
        return reference_.compares_by_limits() ? fmt::format("{}: {}", source, problem) : problem;
    };
    if (is_reference(purpose)) {
        const bool is_first = reference_.is_empty();
        if (std::string problem = reference_.add_exact_run(numbers); !problem.empty())
            return without_numbers(named(problem));
        if (is_first) reference_end_ns_ = run.time.end_ns;
        if (is_first && purpose == RunPurpose::fresh_reference) check_reference();
    }
    OutputDistance distance = reference_.distance_of(numbers);
    if (distance.has_other_words && reference_.compares_by_limits() && !knows_words_) {
        learn_changing_words();
        distance = reference_.distance_of(numbers);
    }
    if (purpose == RunPurpose::fresh_reference)
        distance.problem.clear();  // exact runs differ by chance, and this difference is not a problem of this run
    if (!distance.problem.empty()) distance.problem = named(distance.problem);
    return distance;
}

/// Makes an exact run to learn which words differ between exact runs, because these words do not count.
void TrialRunner::learn_changing_words() {
    const FinishedRun exact = std::move(runs_.run_all({exact_request_}).front());
    reference_.add_exact_run(numbers_of_run(exact));
    // If less than two seconds have passed, a printed clock of another time zone may still show the same time.
    knows_words_ = !reference_.has_other_timestamps() || exact.time.begin_ns - reference_end_ns_ > 2'000'000'000;
}

/// If all exact runs so far came from the state file, makes a new exact run, in up to three attempts, to get the
/// numbers with which other runs are compared. These runs do not count in run_count(). Throws SearchAborted if all
/// attempts fail.
void TrialRunner::make_reference() {
    if (!settings_.compares_numbers) return;
    std::string problem;
    for (int i = 0; i < 3 && reference_.is_empty(); ++i)
        problem = make_runs({exact_request_}, RunPurpose::reference).front().distance.problem;
    if (reference_.is_empty())
        throw SearchAborted{fmt::format("with everything exact, the command is no longer acceptable ({})", problem),
                            exit_code::inconclusive, true};
}

/// Checks that the numbers of the reference are the same as in the interrupted search that this search continues.
void TrialRunner::check_reference() {
    const std::vector<double>& values = reference_.values();
    policy::Sha256 hash;
    hash.add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
    if (state_.matches_or_keeps_reference(hash.hex_digest()) || state_.earlier_run_count() == 0) return;
    throw SearchAborted{
        fmt::format("the exact run gave other numbers than the one whose results are in {}: an input has "
                    "changed, or equal runs differ; remove that file to start again",
                    policy::quoted_path(state_.path())),
        exit_code::usage, true};
}

/// Writes to the state file the versions of the input files that the run has not changed, and of the source files of
/// products.
void TrialRunner::keep_input_versions(const RecordedProducts& products) {
    constexpr std::uint64_t most_runs = 2;  // one exact and one lowered run; later runs have the same source files
    if (run_count() > most_runs) return;
    for (const RecordedProducts::RecordedGroup& met : products.groups)
        if (!met.group.file.empty()) inputs_.try_emplace(met.group.file, checksum_or_mtime(met.group.file));
    for (const auto& [path, version] : std::exchange(inputs_, {}))
        if (!version.empty() && !state_.input_files().contains(path) && checksum_or_mtime(path) == version)
            state_.keep_file_version(path, version);
}

/// Returns the total number of runs to display, or 0 if it is not known. Once as many runs as expected have been
/// made, the expected number is raised by a half.
std::uint64_t TrialRunner::update_expected_count() {
    while (expected_ != 0 && expected_ <= run_count()) expected_ += expected_ / 2 + 1;
    return settings_.max_runs == 0 ? expected_ : std::min(expected_, settings_.max_runs);
}

void TrialRunner::report_run(std::uint64_t number, std::string_view what, std::string_view result) {
    if (!is_new_[number - 1]) return;
    const std::uint64_t total = update_expected_count();
    std::string of_total, times;
    if (total != 0) {
        const auto whole_seconds = [](double seconds) { return duration_text(1e9 * std::ceil(seconds)); };
        const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        const double of_a_run = spent / static_cast<double>(run_count() - earlier_run_count());
        const std::uint64_t left = total - std::min(total, run_count());
        of_total = fmt::format(" of about {}", total);
        times = fmt::format("; {} so far", whole_seconds(spent));
        if (left > 0) times += fmt::format(", about {} to come", whole_seconds(of_a_run * static_cast<double>(left)));
    }
    say(settings_.name, fmt::format("run {}{}: {}: {}{}", number, of_total, what, result, times));
}

std::string requested_precision(const std::string& precision) {
    return policy::parse_word(policy::default_precision_words, precision) ? precision : "highest";
}

// A policy's default precision does not apply to float64 products. If they are tried, the precision that the
// environment sets for float32 products is kept.
RunRequest request_lowering_only(const GroupList& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls) {
    return {policy_lowering_only(groups, lowered, settings, calls),
            settings.types == TriedTypes::float64 ? "" : "highest"};
}

RunRequest request_lowering_all_but(const GroupList& groups, const Subset& exact, const PolicySettings& settings) {
    return {policy_lowering_all_but(groups, exact, settings),
            settings.types == TriedTypes::float64 ? "" : requested_precision(settings.precision)};
}

std::string TrialRunner::interruption_text() const {
    return fmt::format("interrupted after {}; repeat the command to continue from {}", counted(run_count(), "run"),
                       policy::quoted_path(state_.path()));
}

}  // namespace fp32shim::cli
