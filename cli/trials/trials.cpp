#include "cli/trials/trials.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "cli/binaries/file_hash.hpp"
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

bool is_reference(Purpose purpose) { return purpose == Purpose::reference || purpose == Purpose::fresh_reference; }

/// Returns a text from a file's metadata, which differs once the file has been written.
std::string stamp_of(const std::string& path) {
    struct stat status {};
    if (path.empty() || stat(path.c_str(), &status) != 0) return {};
    return fmt::format("{} {} {}.{}", status.st_ino, status.st_size, std::int64_t{status.st_mtim.tv_sec},
                       status.st_mtim.tv_nsec);
}

/// Tells the user that preview_mode was chosen, and why. `name` is the name of our command.
void say_preview(std::string_view name) {
    say(name,
        fmt::format("each product that was seen ran on a CPU, so lower precisions are previewed there (--cpu {})",
                    preview_mode));
}

/// Tells the user that no run reads the stdin of this command, if it has content: a regular file, or a pipe.
void say_unread_input(std::string_view name) {
    struct stat status {};
    if (fstat(STDIN_FILENO, &status) != 0) return;
    if (S_ISREG(status.st_mode) && status.st_size > 0)
        say(name, "standard input is a file, but each run reads an empty one; let the command open the file itself");
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (S_ISFIFO(status.st_mode) && poll(&input, 1, 0) > 0 && (input.revents & POLLIN) != 0)
        say(name, "standard input is a pipe, but each run reads an empty one; let the command read a file");
}

/// Returns why nothing is known about a run: its files were removed, or a process did not apply the policy. Empty if
/// there is no such reason.
std::string unknown_run_text(const FinishedRun& run) {
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

Trials::Trials(TrialSettings settings, const Json& identity)
    : settings_(std::move(settings)),
      state_(settings_.state_path, identity),
      runs_(settings_.runs),
      reference_(settings_.closeness) {
    if (!runs_.problem().empty()) throw End{runs_.problem(), exit_code::usage};
    if (state_.runs() > 0)
        say(settings_.name, fmt::format("continuing from {} with the answers of {}; remove the file to start again",
                                        policy::quoted_path(state_.path()), counted(state_.runs(), "run")));
    say_unread_input(settings_.name);
    if (!state_.files().empty()) return;
    for (const std::string& path : settings_.input_files)
        if (path != settings_.compared_file)
            if (const std::string version = version_of_file(path); !version.empty()) inputs_[path] = version;
}

std::vector<Trial> Trials::run(const std::vector<RunRequest>& requests, Purpose purpose) {
    if (is_reference(purpose)) exact_request_ = requests.front();
    std::size_t allowed = requests.size();
    if (settings_.max_runs != 0)
        allowed = std::min<std::size_t>(allowed, settings_.max_runs - std::min(settings_.max_runs, count()));
    if (allowed == 0)
        throw End{
            fmt::format("no result after {}, the limit of --max-runs; repeat the command with a higher limit to "
                        "continue from {}",
                        counted(count(), "run"), policy::quoted_path(state_.path())),
            exit_code::inconclusive, true};
    const bool is_kept = purpose == Purpose::answer || purpose == Purpose::reference;
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
        if (count() == 1) {
            is_on_cpu_ = last_.is_on_cpu();
            first_products_ = last_.products;
            if (previews_on_cpu()) say_preview(settings_.name);
        }
        if (is_new) keep_inputs(last_.products);
        if (is_new && is_kept) state_.keep_trial(checksum_of(requests[i]), last_);
        results.push_back(last_);
    }
    return results;
}

/// Makes runs, all at once.
std::vector<Trial> Trials::make_runs(const std::vector<RunRequest>& requests, Purpose purpose) {
    if (requests.empty()) return {};
    const std::string before = stamp_of(settings_.compared_file);
    std::vector<FinishedRun> runs;
    {
        Progress progress(fmt::format("fp32shim {}, runs", settings_.name));
        progress.show(count(), raised_expectation());
        runs = runs_.run(requests);
    }
    const bool was_written = settings_.compared_file.empty() || stamp_of(settings_.compared_file) != before;
    std::vector<Trial> trials;
    for (FinishedRun& run : runs) trials.push_back(trial_of(std::move(run), was_written, purpose));
    return trials;
}

Trial Trials::trial_of(FinishedRun run, bool was_written, Purpose purpose) {
    if (run.ended.exec_error != 0)
        throw End{fmt::format("a run cannot start: {}", std::strerror(run.ended.exec_error)), exit_code::inconclusive,
                  true};
    if (std::string problem = unknown_run_text(run); !problem.empty())
        throw End{std::move(problem), exit_code::inconclusive, true};
    Trial trial{std::move(run)};
    // Further runs write the file anew.
    if (!settings_.compared_file.empty()) trial.checksum = version_of_file(settings_.compared_file);
    trial.distance = distance_of(trial, was_written, purpose);
    trial.stdout_text.clear();
    return trial;
}

Numbers Trials::numbers_of_run(const FinishedRun& run) const {
    return settings_.compared_file.empty() ? numbers_of(run.stdout_text, run.time)
                                           : read_numbers(settings_.compared_file, run.time);
}

/// Compares the numbers of a run with those of the exact ones, and adds those of an exact run to the reference.
Distance Trials::distance_of(const Trial& run, bool was_written, Purpose purpose) {
    const auto without_numbers = [](std::string problem) {
        return Distance{.error = std::numeric_limits<double>::infinity(), .problem = std::move(problem)};
    };
    if (!run.has_passed()) return without_numbers(program_end_text(run.ended));
    if (!settings_.compares_numbers) return {};
    const std::string source =
        settings_.compared_file.empty() ? "stdout" : policy::quoted_path(settings_.compared_file);
    if (!was_written) return without_numbers(source + " was not written");
    const Numbers numbers = numbers_of_run(run);
    if (!numbers.problem.empty()) return without_numbers(source + ' ' + numbers.problem);
    const auto named = [&](const std::string& problem) {
        return reference_.is_by_limits() ? fmt::format("{}: {}", source, problem) : problem;
    };
    if (is_reference(purpose)) {
        const bool is_first = reference_.is_empty();
        if (std::string problem = reference_.add(numbers); !problem.empty()) return without_numbers(named(problem));
        if (is_first) reference_end_ns_ = run.time.end_ns;
        if (is_first && purpose == Purpose::fresh_reference) check_reference();
    }
    Distance distance = reference_.distance(numbers);
    if (distance.has_other_words && reference_.is_by_limits() && !knows_words_) {
        learn_words();
        distance = reference_.distance(numbers);
    }
    if (purpose == Purpose::fresh_reference) distance.problem.clear();  // the reason is chance
    if (!distance.problem.empty()) distance.problem = named(distance.problem);
    return distance;
}

/// Makes an exact run to learn which words differ between exact runs, because these words do not count.
void Trials::learn_words() {
    const FinishedRun exact = std::move(runs_.run({exact_request_}).front());
    reference_.add(numbers_of_run(exact));
    // In less time, a clock of another time zone may not have moved on.
    knows_words_ = !reference_.has_moments() || exact.time.begin_ns - reference_end_ns_ > 2'000'000'000;
}

/// If all exact runs so far came from the state, makes one, in up to three attempts, to get the numbers to compare
/// with. These runs are not in count(). Throws End if all attempts fail.
void Trials::make_reference() {
    if (!settings_.compares_numbers) return;
    std::string problem;
    for (int i = 0; i < 3 && reference_.is_empty(); ++i)
        problem = make_runs({exact_request_}, Purpose::reference).front().distance.problem;
    if (reference_.is_empty())
        throw End{fmt::format("with everything exact, the command is no longer acceptable ({})", problem),
                  exit_code::inconclusive, true};
}

/// Compares the numbers of the reference with those of an earlier part of the search.
void Trials::check_reference() {
    const std::vector<double>& values = reference_.values();
    policy::Sha256 hash;
    hash.add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
    if (state_.matches_or_keeps_reference(hash.hex_digest()) || state_.runs() == 0) return;
    throw End{fmt::format("the exact run gave other numbers than the one whose results are in {}: an input has "
                          "changed, or equal runs differ; remove that file to start again",
                          policy::quoted_path(state_.path())),
              exit_code::usage, true};
}

/// Keeps the versions of the input files that the first run has not changed, and of the sources of products.
void Trials::keep_inputs(const RecordedProducts& products) {
    constexpr std::uint64_t most_runs = 2;  // one exact and one lowered run: the other runs have the same sources
    if (count() > most_runs) return;
    for (const RecordedProducts::RecordedGroup& met : products.groups)
        if (!met.group.file.empty()) inputs_.try_emplace(met.group.file, version_of_file(met.group.file));
    for (const auto& [path, version] : std::exchange(inputs_, {}))
        if (!version.empty() && !state_.files().contains(path) && version_of_file(path) == version)
            state_.keep_file(path, version);
}

/// Returns the total of runs to show, which is raised by a half once it is reached; 0: not known.
std::uint64_t Trials::raised_expectation() {
    while (expected_ != 0 && expected_ <= count()) expected_ += expected_ / 2 + 1;
    return settings_.max_runs == 0 ? expected_ : std::min(expected_, settings_.max_runs);
}

void Trials::tell_result(std::uint64_t number, std::string_view what, std::string_view result) {
    if (!is_new_[number - 1]) return;
    const std::uint64_t total = raised_expectation();
    std::string of_total, times;
    if (total != 0) {
        const auto whole_seconds = [](double seconds) { return duration_text(1e9 * std::ceil(seconds)); };
        const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        const double of_a_run = spent / static_cast<double>(count() - earlier_count());
        const std::uint64_t left = total - std::min(total, count());
        of_total = fmt::format(" of about {}", total);
        times = fmt::format("; {} so far", whole_seconds(spent));
        if (left > 0) times += fmt::format(", about {} to come", whole_seconds(of_a_run * static_cast<double>(left)));
    }
    say(settings_.name, fmt::format("run {}{}: {}: {}{}", number, of_total, what, result, times));
}

std::string requested_precision(const std::string& precision) {
    return policy::parse_word(policy::default_precision_words, precision) ? precision : "highest";
}

// A policy's default precision does not concern float64, so the environment's setting for float32 stays.
RunRequest request_lowering_only(const GroupList& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls) {
    return {policy_lowering_only(groups, lowered, settings, calls),
            settings.types == TriedTypes::float64 ? "" : "highest"};
}

RunRequest request_lowering_all_but(const GroupList& groups, const Subset& exact, const PolicySettings& settings) {
    return {policy_lowering_all_but(groups, exact, settings),
            settings.types == TriedTypes::float64 ? "" : requested_precision(settings.precision)};
}

std::string Trials::interruption_text() const {
    return fmt::format("interrupted after {}; repeat the command to continue from {}", counted(count(), "run"),
                       policy::quoted_path(state_.path()));
}

}  // namespace fp32shim::cli
