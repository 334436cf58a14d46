#include "cli/bisect/search.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "policy/messages.hpp"

namespace fp32shim::cli {
namespace {

constexpr int tells_nothing =
    125;  ///< exit status of a command that cannot judge its result, as for `git bisect run`
constexpr std::size_t most_sizes = 500;

/// Identifies a version of a file. After the file is written again, its stamp differs.
struct FileStamp {
    ino_t file = 0;
    off_t size = -1;
    std::int64_t changed_ns = 0;
    bool operator==(const FileStamp&) const = default;
};

FileStamp stamp_of(const std::string& path) {
    struct stat status {};
    if (path.empty() || stat(path.c_str(), &status) != 0) return {};
    return {status.st_ino, status.st_size,
            std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

/// Returns the key of the line to which a group belongs: scope and location.
std::pair<std::string, GroupLocation> line_key(const Group& group) { return {group.key.scope, group.key.location}; }

}  // namespace

std::string calls_text(const CallRange& calls) {
    if (calls.first == calls.last) return fmt::format("call {}", calls.first);
    return fmt::format("calls {} to {}", calls.first, calls.last);
}

Subset exact_groups(const std::vector<Culprit>& culprits) {
    Subset all;
    for (const Culprit& culprit : culprits) all = union_of(all, culprit.groups);
    return all;
}

RunRequest Search::request_for(const TestedSet& tested) const {
    if (tested.lowered == Lowered::only)
        return {policy_lowering_only(groups_, tested.set, settings_.policy, tested.calls), "highest"};
    return {policy_lowering_all_but(groups_, tested.set, settings_.policy, nullptr, nullptr),
            settings_.policy.precision};
}

/// Returns what is wrong with the numbers that the run wrote; empty if they are acceptable. The numbers of the first
/// run are the reference.
std::string Search::problem_with_numbers() {
    Numbers numbers = read_numbers(settings_.compared_file);
    const std::string name = policy::quoted_path(settings_.compared_file);
    if (!numbers.problem.empty()) return name + ' ' + numbers.problem;
    if (reference_.empty()) {
        reference_ = std::move(numbers.values);
        return {};
    }
    const std::string difference =
        difference_between(reference_, numbers.values, settings_.relative, settings_.absolute);
    return difference.empty() ? difference : name + ": " + difference;
}

void Search::judge(const FinishedRun& run, Outcome& outcome) {
    const Ended& ended = run.ended;
    if (ended.exec_error != 0)
        throw SearchFailed{fmt::format("a run cannot start: {}", std::strerror(ended.exec_error))};
    outcome.how = ended_text(ended);
    const bool has_passed = ended.signal == 0 && ended.exit_status == 0;
    outcome.verdict = has_passed ? Verdict::acceptable : Verdict::not_acceptable;
    if (ended.signal == 0 && ended.exit_status == tells_nothing) outcome.verdict = Verdict::unresolved;
}

void Search::judge_numbers(bool were_written, Outcome& outcome) {
    const std::string problem =
        were_written ? problem_with_numbers() : policy::quoted_path(settings_.compared_file) + " was not written";
    if (problem.empty()) return;
    outcome.verdict = Verdict::not_acceptable;
    outcome.how = problem;
}

/// Adds the groups whose products a run recorded.
void Search::add_met_groups(const FinishedRun& run, TestedSet& tested) {
    const bool is_whole = tested.lowered == Lowered::all_but || tested.set.empty();
    std::set<GroupKey> known;
    for (const Group& group : groups_.all()) known.insert(group.key);
    Subset lowered;
    for (const RecordedProducts::Met& met : run.products.groups) {
        const bool is_new = !known.contains(met.group.key);
        if (is_new && run_count_ > 1) ++tested.outcome.new_groups;
        if (is_new && !(is_whole && takes_new_groups_)) continue;
        const std::size_t number = groups_.number_of(met.group);
        if (met.was_lowered) lowered.push_back(number);
    }
    std::ranges::sort(lowered);
    if (tested.lowered == Lowered::all_but) tested.outcome.lowered = union_of(tested.outcome.lowered, lowered);
}

/// Runs the command once for each set, all at the same time.
void Search::run_once(const std::vector<TestedSet*>& sets) {
    if (settings_.max_runs != 0 && run_count_ + sets.size() > settings_.max_runs) throw OutOfRuns();
    std::vector<RunRequest> requests;
    requests.reserve(sets.size());
    for (const TestedSet* tested : sets) requests.push_back(request_for(*tested));
    const FileStamp before = stamp_of(settings_.compared_file);
    std::vector<FinishedRun> runs;
    {
        Progress progress("fp32shim bisect, runs");
        progress.show(run_count_, run_count_ + sets.size() + estimated_runs_left());
        runs = runs_.run(requests);
    }
    for (std::size_t i = 0; i < sets.size(); ++i) {
        TestedSet& tested = *sets[i];
        ++run_count_;
        const bool had_passed = tested.outcome.verdict == Verdict::acceptable;
        const bool is_first = tested.outcome.last_run == 0;
        judge(runs[i], tested.outcome);
        if (tested.outcome.verdict == Verdict::acceptable && !settings_.compared_file.empty())
            judge_numbers(stamp_of(settings_.compared_file) != before, tested.outcome);
        tested.outcome.is_flaky = !is_first && had_passed != (tested.outcome.verdict == Verdict::acceptable);
        tested.outcome.last_run = run_count_;
        add_met_groups(runs[i], tested);
        last_run_ = std::move(runs[i]);
    }
}

void Search::run_sets(Lowered lowered, const std::vector<Subset>& sets) {
    std::vector<TestedSet> tests;
    tests.reserve(sets.size());
    for (const Subset& set : sets) tests.push_back({lowered, set, {}});
    run_tests(std::move(tests));
}

/// Runs tests and stores their outcomes. A set is acceptable only if all of its repetitions are.
void Search::run_tests(std::vector<TestedSet> tests) {
    std::vector<TestedSet*> open;
    open.reserve(tests.size());
    for (TestedSet& one : tests) open.push_back(&one);
    for (std::uint64_t i = 0; i < settings_.repeat && !open.empty(); ++i) {
        run_once(open);
        std::erase_if(open, [](const TestedSet* one) { return one->outcome.verdict != Verdict::acceptable; });
    }
    for (const TestedSet& one : tests) {
        if (!state_.add(one)) throw SearchFailed{policy::quoted_path(state_.path()) + ": cannot be written"};
        ever_lowered_ = union_of(ever_lowered_, one.outcome.lowered);
        print_outcome(one);
    }
}

std::uint64_t Search::estimated_runs_left() const {
    const std::uint64_t left = suspects_ == 0 ? 0 : 2 * std::bit_width(suspects_ - 1) + 1;
    return settings_.max_runs == 0 ? left : std::min(left, settings_.max_runs - run_count_);
}

void Search::print_outcome(const TestedSet& tested) const {
    const std::size_t all = groups_.all().size();
    const std::string& precision = settings_.policy.precision;
    std::string what = fmt::format("{} of {} at {}", tested.set.size(), counted(all, "group"), precision);
    if (tested.set.size() == 1)
        what = fmt::format("only {} at {}", groups_[tested.set[0]].location_text(), precision);
    if (tested.lowered == Lowered::all_but)
        what = tested.set.empty()
                   ? fmt::format("everything at {}", precision)
                   : fmt::format("all but {} of {} at {}", tested.set.size(), counted(all, "group"), precision);
    if (tested.lowered == Lowered::only && tested.set.empty()) what = "everything exact";
    if (const CallRange& calls = tested.calls; calls.last != 0)
        what = fmt::format("{}, {}, at {}", groups_[calls.group].location_text(), calls_text(calls), precision);
    const std::uint64_t left = estimated_runs_left();
    say("bisect",
        fmt::format("run {}: {}: {} ({}{}){}", tested.outcome.last_run, what, to_string(tested.outcome.verdict),
                    tested.outcome.how, tested.outcome.is_flaky ? "; equal runs differed" : "",
                    left == 0 ? "" : fmt::format("; about {} left", left)));
}

Outcome Search::test_exact() {
    const Outcome* known = state_.find(Lowered::only, {});
    if (known == nullptr) return test(Lowered::only, {});
    if (settings_.compared_file.empty()) return *known;
    TestedSet again{Lowered::only, {}, {}};  // needed for the reference numbers, which the state file lacks
    run_once({&again});
    return again.outcome;
}

Outcome Search::test(Lowered lowered, const Subset& set) {
    const Outcome* known = state_.find(lowered, set);
    if (known == nullptr) run_sets(lowered, {set});
    Outcome outcome = *state_.find(lowered, set);
    ever_lowered_ = union_of(ever_lowered_, outcome.lowered);
    return outcome;
}

/// Returns the index of the first candidate that fails when only it and `fixed` are lowered. Candidates with unknown
/// outcomes run at the same time, up to the number of jobs.
std::optional<std::size_t> Search::first_failing(const std::vector<Parts>& candidates, const Subset& fixed) {
    std::vector<Subset> sets;
    Subset all;
    for (const Parts& parts : candidates) {
        sets.push_back(union_of(groups_of(parts), fixed));
        all = union_of(all, sets.back());
    }
    suspects_ = all.size();
    for (std::size_t i = 0; i < sets.size(); ++i) {
        std::vector<Subset> next;
        for (std::size_t j = i; j < sets.size() && next.size() < settings_.jobs; ++j) {
            const Outcome* known = state_.find(Lowered::only, sets[j]);
            if (known == nullptr) next.push_back(sets[j]);
            if (known != nullptr && is_failure(known->verdict)) break;
        }
        if (state_.find(Lowered::only, sets[i]) == nullptr) {
            if (settings_.max_runs != 0)
                next.resize(std::min<std::uint64_t>(next.size(),
                                                    std::max<std::uint64_t>(settings_.max_runs - run_count_, 1)));
            run_sets(Lowered::only, next);
        }
        if (is_failure(state_.find(Lowered::only, sets[i])->verdict)) return i;
    }
    return std::nullopt;
}

Parts Search::minimal(const Parts& parts, const Subset& fixed) {
    Parts result = minimal_failing(
        parts, [&](const std::vector<Parts>& candidates) { return first_failing(candidates, fixed); });
    suspects_ = 0;
    return result;
}

/// Returns all groups that belong to the same lines as the groups of `set`.
Subset Search::whole_lines(const Subset& set) const {
    std::set<std::pair<std::string, GroupLocation>> lines;
    for (const std::size_t member : set) lines.insert(line_key(groups_[member]));
    Subset result;
    for (std::size_t i = 0; i < groups_.all().size(); ++i)
        if (lines.contains(line_key(groups_[i]))) result.push_back(i);
    return result;
}

/// Searches groups that fail together. Finds first the scopes, then the lines in these scopes, that must be lowered
/// to make the command fail.
Culprit Search::culprit_in(const Subset& suspects) {
    const Parts scopes = minimal(groups_.split(suspects, [](const Group& group) { return group.key.scope; }), {});
    Parts lines = minimal(groups_.split(groups_of(scopes), line_key), {});
    const auto least =
        std::ranges::min_element(lines, {}, [this](const Subset& line) { return groups_.work_of(line); });
    Culprit culprit{*least, {}, seeks_unresolved_};
    lines.erase(least);
    culprit.partners = std::move(lines);
    return culprit;
}

/// Drops a culprit if the command is acceptable without it, because its partners stay exact for another reason.
void Search::drop_superfluous_culprits(std::vector<Culprit>& culprits) {
    for (std::size_t i = 0; i < culprits.size() && culprits.size() > 1;) {
        std::vector<Culprit> others = culprits;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        const bool may_go = !culprits[i].partners.empty() &&
                            test(Lowered::all_but, exact_groups(others)).verdict == Verdict::acceptable;
        if (may_go)
            culprits = std::move(others);
        else
            ++i;
    }
}

/// Lowers most functions and sizes of a culprit's line, if the command is acceptable when only the others stay exact.
void Search::narrow_down_sizes(std::vector<Culprit>& culprits) {
    takes_new_groups_ = false;
    for (std::size_t i = 0; i < culprits.size(); ++i) {
        Subset sizes;
        std::ranges::set_intersection(culprits[i].groups, ever_lowered_, std::back_inserter(sizes));
        if (culprits[i].groups.size() < 2 || sizes.empty() || sizes.size() > most_sizes) continue;
        Parts parts;
        for (const std::size_t size : sizes) parts.push_back({size});
        std::ranges::stable_sort(parts, std::ranges::greater(),
                                 [this](const Subset& part) { return groups_.work_of(part); });
        seeks_unresolved_ = culprits[i].tells_nothing;
        std::vector<Culprit> narrower = culprits;
        narrower[i].groups = groups_of(minimal(parts, groups_of(culprits[i].partners)));
        if (test(Lowered::all_but, exact_groups(narrower)).verdict == Verdict::acceptable) culprits = narrower;
    }
    takes_new_groups_ = true;
}

/// Returns true if the command fails with `set` at the lower precision, where only these calls of the group
/// `calls.group` are lowered.
bool Search::calls_fail(const Subset& set, const CallRange& calls) {
    if (state_.find(Lowered::only, set, calls) == nullptr) run_tests({{Lowered::only, set, {}, calls}});
    return is_failure(state_.find(Lowered::only, set, calls)->verdict);
}

/// Finds, by bisection, the last and then the first call of a culprit's group that must be lowered to make the
/// command fail. It is assumed that a range of calls fails if a part of it fails.
void Search::narrow_down_calls(Culprit& culprit) {
    const std::uint64_t all = groups_[culprit.groups.front()].calls;
    if (culprit.groups.size() != 1 || all < 2) return;
    seeks_unresolved_ = culprit.tells_nothing;
    const Subset set = union_of(culprit.groups, groups_of(culprit.partners));
    CallRange found{culprit.groups.front(), 1, all};
    if (!calls_fail(set, found)) return;  // the number or the order of calls differs between runs
    for (std::uint64_t passes = 0; found.last - passes > 1;) {
        const std::uint64_t middle = passes + (found.last - passes) / 2;
        suspects_ = found.last - passes;
        if (calls_fail(set, {found.group, 1, middle}))
            found.last = middle;
        else
            passes = middle;
    }
    for (std::uint64_t passes = found.last + 1; passes - found.first > 1;) {
        const std::uint64_t middle = found.first + (passes - found.first) / 2;
        suspects_ = passes - found.first;
        if (calls_fail(set, {found.group, middle, found.last}))
            found.first = middle;
        else
            passes = middle;
    }
    suspects_ = 0;
    culprit.calls = found;
}

std::vector<Culprit> Search::find_culprits() {
    std::vector<Culprit> culprits;
    for (;;) {
        for (Culprit& culprit : culprits) culprit.groups = whole_lines(culprit.groups);
        const Subset exact = exact_groups(culprits);
        const Outcome outcome = test(Lowered::all_but, exact);
        if (outcome.verdict == Verdict::acceptable) break;
        seeks_unresolved_ = outcome.verdict == Verdict::unresolved;
        const Subset suspects = without(whole_lines(outcome.lowered), exact);
        if (suspects.empty())
            throw SearchFailed{
                fmt::format("the command fails although nothing ran at {}: it fails by chance or for another reason; "
                            "--repeat N detects failures by chance",
                            settings_.policy.precision)};
        culprits.push_back(culprit_in(suspects));
    }
    drop_superfluous_culprits(culprits);
    narrow_down_sizes(culprits);
    if (settings_.narrows_calls)
        for (Culprit& culprit : culprits) narrow_down_calls(culprit);
    return culprits;
}

}  // namespace fp32shim::cli
