#include "cli/sensitivity/measurements.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "cli/command_line/commands.hpp"
#include "cli/output/terminal.hpp"
#include "cli/trials/assumptions.hpp"

namespace fp32shim::cli {
namespace {

MeasuredRun measured_run_of(const Experiment& experiment, const Trial& trial) {
    MeasuredRun measured{trial.distance, experiment};
    for (const RecordedProducts::RecordedGroup& met : trial.products.groups) {
        measured.was_lowered = measured.was_lowered || met.was_lowered;
        measured.formats[met.group.full_text()] = met.formats;
    }
    return measured;
}

std::string text_of_error(const Distance& distance) {
    return distance.problem.empty() ? fmt::format("output error {:.2g}", distance.error) : distance.problem;
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

Trial Measurements::run_once_exactly(const RunRequest& request, Purpose purpose) {
    Trial trial = trials_.run({request}, purpose).front();
    const std::string& problem = trial.distance.problem;
    if (purpose == Purpose::fresh_reference && !problem.empty() && exact_count_ == 0) {
        print(last_lines_of(trial.output), STDERR_FILENO);
        throw End{fmt::format("with everything exact, there is nothing to compare: {}", problem),
                  trial.ended.signal != 0 ? exit_code::was_killed : exit_code::finding, trials_.state().runs() > 0};
    }
    if (purpose == Purpose::fresh_reference && !problem.empty())
        throw End{fmt::format("an equal exact run cannot be compared with the first: {}", problem),
                  exit_code::inconclusive};
    if (++exact_count_ == 1)
        exact_products_ = trial.products;
    else
        note_calls(trial.products);
    trials_.tell_result(trials_.count(), "everything exact", text_of_error(trial.distance));
    return trial;
}

/// Notes the groups of which a further exact run made at least as many calls as the first one.
void Measurements::note_calls(const RecordedProducts& products) {
    std::map<GroupKey, std::uint64_t> calls;
    for (const RecordedProducts::RecordedGroup& met : products.groups) calls[met.group.key] = met.group.calls;
    for (const RecordedProducts::RecordedGroup& first : exact_products_.groups)
        if (calls[first.group.key] >= first.group.calls) ran_again_.insert(first.group.key);
}

const RecordedProducts& Measurements::run_exact(const RunRequest& request, std::uint64_t count) {
    while (exact_count_ < count) run_once_exactly(request, Purpose::fresh_reference);
    return exact_products_;
}

void Measurements::expect_errors(std::uint64_t count) {
    trials_.expect(exact_count_ + count);
    trials_.reference().expect_runs(count);
}

void Measurements::check_independence(const RunRequest& request, std::string_view when) {
    if (exact_count_ < 2) return;  // one exact run was asked for
    const Distance distance = run_once_exactly(request, Purpose::check).distance;
    if (!distance.exceeds_chance()) {
        noise_after_lowered_ = std::max(noise_after_lowered_, distance.error);
        return;
    }
    throw End{
        fmt::format("an exact run {} differs from the first: {}; those before it had output errors of {:.2g} at "
                    "most. A run may read what the last one has left (a cache, a checkpoint), or a number may "
                    "grow with time; remove it. If it is chance, --repeat {} shows more of it",
                    when, text_of_error(distance), noise(), 4 * exact_count_),
        exit_code::inconclusive};
}

std::vector<MeasuredRun> Measurements::measure(const std::vector<Experiment>& experiments, std::uint64_t jobs) {
    std::vector<const Experiment*> open;
    for (const Experiment& experiment : experiments)
        if (!known_.contains(experiment.request)) open.push_back(&experiment);
    for (std::size_t begin = 0; begin < open.size(); begin += jobs) {
        const std::size_t end = std::min<std::size_t>(begin + jobs, open.size());
        std::vector<RunRequest> requests;
        for (std::size_t i = begin; i < end; ++i) requests.push_back(open[i]->request);
        const std::vector<Trial> trials = trials_.run(requests);
        for (std::size_t i = begin; i < end; ++i) {
            const Trial& trial = trials[i - begin];
            known_[open[i]->request] = measured_run_of(*open[i], trial);
            trials_.tell_result(trials_.count() - (end - 1 - i), open[i]->text, text_of_error(trial.distance));
        }
    }
    std::vector<MeasuredRun> all;
    all.reserve(experiments.size());
    for (const Experiment& experiment : experiments) all.push_back(known_.at(experiment.request));
    return all;
}

void Measurements::confirm(const MeasuredRun& measured) {
    if (exact_count_ < 2) return;  // one exact run was asked for
    const Experiment& experiment = measured.experiment;
    const Distance again = trials_.run({experiment.request}, Purpose::check).front().distance;
    trials_.tell_result(trials_.count(), experiment.text + ", again", text_of_error(again));
    if (again.exceeds_chance()) return;
    throw End{
        fmt::format("two equal runs, {}, differ: {} at first, and {} then. Chance does more than {} exact runs "
                    "have shown; --repeat {} shows more of it",
                    experiment.text, text_of_error(measured), text_of_error(again), exact_count_, 4 * exact_count_),
        exit_code::inconclusive};
}

void Measurements::count_all_numbers() {
    trials_.reference().count_all();
    known_.clear();
}

std::string noise_sentence(const Measurements& runs) {
    const std::string clock(runs.reference().has_clock() ? clock_text : "");
    if (runs.exact_runs() == 1) return clock + "One run was exact, so it is not known how far equal runs differ.";
    std::string text = fmt::format("{}{} exact runs gave equal numbers.", clock, runs.exact_runs());
    if (runs.noise() > 0) text = clock + chance_sentence(runs);
    const std::vector<ChangedRow> left_out = runs.reference().rows_left_out();
    if (left_out.empty()) return text;
    if (runs.noise() == 0) text = fmt::format("{}In the others, {} exact runs were equal.", clock, runs.exact_runs());
    std::vector<std::string> names;
    names.reserve(left_out.size());
    for (const ChangedRow& row : left_out) names.push_back(printable(row.name));
    return fmt::format("Not counted, because equal runs differ by more than {:.2g} in {}: {}.\n{}",
                       runs.reference().largest_noise(), left_out.size() == 1 ? "it" : "them", listed(names, 5),
                       text);
}

}  // namespace fp32shim::cli
