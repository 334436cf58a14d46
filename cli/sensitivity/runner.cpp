#include "cli/sensitivity/runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <set>

#include "cli/command_line/commands.hpp"
#include "cli/output/terminal.hpp"
#include "cli/trials/assumptions.hpp"

namespace fp32shim::cli {
namespace {

std::string text_of_place(const GroupList& groups, const Subset& members, std::string_view by) {
    const ProductGroup& first = groups[members.front()];
    if (by == "scope") return first.key.scope.empty() ? "(outside of scopes)" : first.key.scope;
    if (by == "size") return first.full_text();
    std::set<std::string> texts;  // because of inlining, one call site in compiled code may have several source lines
    for (const std::size_t member : members) texts.insert(groups[member].location_text());
    return listed({texts.begin(), texts.end()}, 2);
}

MeasuredRun measured_run_of(const PlannedRun& planned, const Trial& trial) {
    MeasuredRun measured{trial.distance, planned};
    for (const RecordedProducts::RecordedGroup& met : trial.products.groups) {
        measured.was_lowered = measured.was_lowered || met.was_lowered;
        measured.formats[met.group.full_text()] = met.formats;
    }
    return measured;
}

std::string text_of_error(const OutputDistance& distance, bool was_lowered = true) {
    if (distance.problem.empty() && !was_lowered) return "not lowered";
    return distance.problem.empty() ? fmt::format("output error {:.2g}", distance.error) : distance.problem;
}

/// Returns the name of the number that changed most in comparison with its noise, as in `, in time (line 3)`. Returns
/// an empty text if the problem of `distance` names a number already.
std::string place_of_error(const OutputDistance& distance) {
    if (!distance.problem.empty() || distance.most.empty()) return {};
    const auto beside_noise = [](const ChangedRow& row) {
        return row.counts && row.change > 0 ? row.change / row.noise : 0;
    };
    const auto worst = std::ranges::max_element(distance.most, {}, beside_noise);
    return beside_noise(*worst) > 0 ? fmt::format(", in {}", printable(worst->name)) : "";
}

/// Returns a sentence about the differences between exact runs, and about the errors that they make meaningless.
std::string chance_sentence(const SensitivityRunner& runs) {
    const std::string text =
        fmt::format("{} exact runs differed by up to {:.2g}. ", runs.exact_run_count(), runs.exact_run_noise());
    const std::string by_number = runs.reference().compares_by_row() ? ", number by number," : "";
    if (!std::isfinite(runs.largest_chance_error()))
        return text + fmt::format("Errors that this explains{} show nothing{}.", by_number,
                                  std::isfinite(runs.exact_run_noise())
                                      ? "; two runs are too few to tell how large these are"
                                      : "");
    return text +
           fmt::format(
               "Errors up to {:.2g}{} are not told apart from chance\n(95% for all rows together, if errors are "
               "normal): they show nothing.",
               runs.largest_chance_error(),
               runs.reference().compares_by_row() ? " (less in numbers that differed less)" : "");
}

}  // namespace

std::vector<ProgramPlace> divide_into_places(const GroupList& groups, std::string_view by, std::size_t most) {
    const std::vector<Subset> parts = groups.split(groups.everything(), [by](const ProductGroup& group) {
        if (by == "size") return group.key;
        return GroupKey{group.key.scope, by == "where" ? group.key.location : GroupLocation(), {}};
    });
    std::vector<ProgramPlace> places;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool is_one_of_others = parts.size() > most && i + 1 >= most;
        if (!is_one_of_others || i + 1 == most) places.push_back({text_of_place(groups, parts[i], by), {}});
        ProgramPlace& place = places.back();
        if (is_one_of_others) place.text = fmt::format("({} other places)", parts.size() - most + 1);
        place.groups = union_of(place.groups, parts[i]);
        for (const std::size_t member : parts[i]) place.calls += groups[member].calls;
        place.work += groups.work_of(parts[i]);
    }
    return places;
}

Trial SensitivityRunner::make_exact_run(const RunRequest& request, RunPurpose purpose) {
    Trial trial = trials_.run_all({request}, purpose).front();
    const std::string& problem = trial.distance.problem;
    if (purpose == RunPurpose::fresh_reference && !problem.empty() && exact_count_ == 0) {
        print(last_lines_of(trial.output), STDERR_FILENO);
        throw SearchAborted{fmt::format("with everything exact, there is nothing to compare: {}", problem),
                            trial.ended.signal != 0 ? exit_code::was_killed : exit_code::finding,
                            trials_.state().earlier_run_count() > 0};
    }
    if (purpose == RunPurpose::fresh_reference && !problem.empty())
        throw SearchAborted{fmt::format("an equal exact run cannot be compared with the first: {}", problem),
                            exit_code::inconclusive};
    if (++exact_count_ == 1)
        exact_products_ = trial.products;
    else
        note_repeated_groups(trial.products);
    trials_.report_run(trials_.run_count(), "everything exact", text_of_error(trial.distance));
    return trial;
}

/// Adds to `ran_again_` those groups of which a later exact run made at least as many calls as the first exact run.
void SensitivityRunner::note_repeated_groups(const RecordedProducts& products) {
    std::map<GroupKey, std::uint64_t> calls;
    for (const RecordedProducts::RecordedGroup& met : products.groups) calls[met.group.key] = met.group.calls;
    for (const RecordedProducts::RecordedGroup& first : exact_products_.groups)
        if (calls[first.group.key] >= first.group.calls) ran_again_.insert(first.group.key);
}

const RecordedProducts& SensitivityRunner::make_exact_runs(const RunRequest& request, std::uint64_t count) {
    while (exact_count_ < count) make_exact_run(request, RunPurpose::fresh_reference);
    return exact_products_;
}

void SensitivityRunner::expect_measurements(std::uint64_t count) {
    trials_.expect_run_count(exact_count_ + count);
    trials_.reference().expect_compared_runs(count);
}

void SensitivityRunner::check_by_exact_run(const RunRequest& request, std::string_view when) {
    if (exact_count_ < 2) return;  // the user requested only one exact run, so nothing is known about chance
    const OutputDistance distance = make_exact_run(request, RunPurpose::check).distance;
    if (!distance.exceeds_chance()) {
        noise_after_lowered_ = std::max(noise_after_lowered_, distance.error);
        return;
    }
    throw SearchAborted{
        fmt::format("an exact run {} differs from the first: {}{}; those before it had output errors of {:.2g} at "
                    "most. A run may read what the last one has left (a cache, a checkpoint), or a number may "
                    "grow with time; remove it. If it is chance, --repeat {} shows more of it",
                    when, text_of_error(distance), place_of_error(distance), exact_run_noise(), 4 * exact_count_),
        exit_code::inconclusive};
}

std::vector<MeasuredRun> SensitivityRunner::measure_runs(const std::vector<PlannedRun>& planned, std::uint64_t jobs) {
    std::vector<const PlannedRun*> open;
    for (const PlannedRun& run : planned)
        if (!known_.contains(run.request)) open.push_back(&run);
    for (std::size_t begin = 0; begin < open.size(); begin += jobs) {
        const std::size_t end = std::min<std::size_t>(begin + jobs, open.size());
        std::vector<RunRequest> requests;
        for (std::size_t i = begin; i < end; ++i) requests.push_back(open[i]->request);
        const std::vector<Trial> trials = trials_.run_all(requests);
        for (std::size_t i = begin; i < end; ++i) {
            const MeasuredRun measured = measured_run_of(*open[i], trials[i - begin]);
            known_[open[i]->request] = measured;
            trials_.report_run(trials_.run_count() - (end - 1 - i), open[i]->text,
                               text_of_error(measured, measured.was_lowered));
        }
    }
    std::vector<MeasuredRun> all;
    all.reserve(planned.size());
    for (const PlannedRun& run : planned) all.push_back(known_.at(run.request));
    return all;
}

void SensitivityRunner::confirm_by_second_run(const MeasuredRun& measured) {
    if (exact_count_ < 2) return;  // the user requested only one exact run, so nothing is known about chance
    const PlannedRun& planned = measured.planned;
    const OutputDistance again = trials_.run_all({planned.request}, RunPurpose::check).front().distance;
    trials_.report_run(trials_.run_count(), planned.text + ", again", text_of_error(again));
    if (again.exceeds_chance()) return;
    throw SearchAborted{
        fmt::format("two equal runs, {}, differ: {} at first, and {} then. Chance does more than {} exact runs "
                    "have shown; --repeat {} shows more of it",
                    planned.text, text_of_error(measured), text_of_error(again), exact_count_, 4 * exact_count_),
        exit_code::inconclusive};
}

void SensitivityRunner::include_all_numbers() {
    trials_.reference().include_all_rows();
    known_.clear();
}

std::string noise_sentence(const SensitivityRunner& runs) {
    const std::string clock(runs.reference().has_run_timestamps() ? run_timestamps_text : "");
    if (runs.exact_run_count() == 1)
        return clock + "One run was exact, so it is not known how far equal runs differ.";
    std::string text = fmt::format("{}{} exact runs gave equal numbers.", clock, runs.exact_run_count());
    if (runs.exact_run_noise() > 0) text = clock + chance_sentence(runs);
    const std::vector<ChangedRow> left_out = runs.reference().rows_left_out();
    if (left_out.empty()) return text;
    if (runs.exact_run_noise() == 0)
        text = fmt::format("{}In the others, {} exact runs were equal.", clock, runs.exact_run_count());
    std::vector<std::string> names;
    names.reserve(left_out.size());
    for (const ChangedRow& row : left_out) names.push_back(printable(row.name));
    return fmt::format("Not counted, because equal runs differ by more than {:.2g} in {}: {}.\n{}",
                       runs.reference().noise_limit(), left_out.size() == 1 ? "it" : "them", listed(names, 5), text);
}

}  // namespace fp32shim::cli
