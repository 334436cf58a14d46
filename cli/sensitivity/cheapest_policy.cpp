#include "cli/sensitivity/cheapest_policy.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace fp32shim::cli {
namespace {

/// The search for a cheap policy. It tries different precisions for the places (source lines or scopes) of the
/// program.
class PolicySearch {
  public:
    PolicySearch(const SensitivityMeasurements& measured, double tolerance, const RunLevels& run)
        : measured_(measured), tolerance_(tolerance), run_(run) {}

    CheapestPolicy find() {
        choose_by_errors_alone();
        for (const Levels& levels : levels_within_tolerance())
            if (saving_of(levels) >= saving_of(result_.levels) && take_if_within(levels)) break;
        while (!result_.is_found && has_lowered() && !take_if_within(result_.levels)) raise_worst_place();
        for (const Levels& levels : levels_within_tolerance())
            if ((!result_.is_found || saving_of(levels) > saving_of(result_.levels)) && take_if_within(levels)) break;
        while (result_.is_found && make_cheaper()) continue;
        result_.tried = tried_.size();
        return result_;
    }

  private:
    std::size_t places() const { return measured_.places.size(); }
    const MeasuredRun& alone(std::size_t place) const {
        return measured_.errors[place][result_.levels[place] - 1].alone;
    }
    bool is_within(const MeasuredRun& run) const { return run.was_lowered && run.error <= tolerance_; }

    /// Chooses for each place the cheapest precision at which the place alone causes an error within the tolerance.
    void choose_by_errors_alone() {
        for (std::size_t place = 0; place < places(); ++place) {
            std::size_t level = measured_.precisions.size();
            while (level > 0 && !is_within(measured_.errors[place][level - 1].alone)) --level;
            result_.levels.push_back(level);
        }
    }

    /// Returns the levels of all measured runs whose output was within the tolerance, the cheapest first. A place
    /// counts as exact in these levels if it did not run below FP32 even in the run that lowered this place alone.
    std::vector<Levels> levels_within_tolerance() const {
        std::vector<Levels> shown;
        const auto add = [&](const MeasuredRun& run, Levels levels) {
            if (!is_within(run)) return;
            for (std::size_t place = 0; place < places(); ++place)
                if (!measured_.is_lowered_at(place, levels[place])) levels[place] = 0;
            shown.push_back(std::move(levels));
        };
        for (std::size_t at = 0; at < measured_.precisions.size(); ++at) {
            add(measured_.all_lowered[at], Levels(places(), at + 1));
            for (std::size_t place = 0; place < places(); ++place) {
                Levels alone(places(), 0), kept_exact(places(), at + 1);
                alone[place] = at + 1;
                kept_exact[place] = 0;
                add(measured_.errors[place][at].alone, std::move(alone));
                add(measured_.errors[place][at].kept_exact, std::move(kept_exact));
            }
        }
        std::ranges::stable_sort(shown, std::greater<>(), [this](const Levels& levels) { return saving_of(levels); });
        return shown;
    }

    /// Returns a measure of what a policy saves: the sum, over places that run below FP32, of their work times level.
    double saving_of(const Levels& levels) const {
        double saving = 0;
        for (std::size_t place = 0; place < levels.size(); ++place)
            if (measured_.is_lowered_at(place, levels[place]))
                saving += measured_.places[place].work * static_cast<double>(levels[place]);
        return saving;
    }

    bool has_lowered() const {
        return std::ranges::any_of(result_.levels, [](std::size_t level) { return level > 0; });
    }

    /// Runs the command under the policy with `levels`. Returns true, and makes this policy the found one, if the
    /// output is within the tolerance.
    bool take_if_within(const Levels& levels) {
        tried_.insert(levels);
        const MeasuredRun measured = run_(levels);
        const bool takes = is_within(measured);
        if (takes || !result_.is_found) result_.measured = measured;
        if (!takes) return false;
        result_.levels = levels;
        result_.is_found = true;
        return true;
    }

    /// Moves one lowered place to the next dearer precision: the place that alone causes the largest error.
    void raise_worst_place() {
        std::size_t worst = places();
        for (std::size_t place = 0; place < places(); ++place)
            if (result_.levels[place] > 0 && (worst == places() || alone(place).error > alone(worst).error))
                worst = place;
        --result_.levels[worst];
        if (!measured_.is_lowered_at(worst, result_.levels[worst])) result_.levels[worst] = 0;
    }

    /// Tries each place at the next cheaper precision, and keeps the changes with which the output is within the
    /// tolerance. Returns false if there is no such change. In this case, `refused` is the number of tried changes to
    /// the final policy.
    bool make_cheaper() {
        bool has_changed = false;
        result_.refused = 0;
        for (std::size_t place = 0; place < places(); ++place) {
            Levels levels = result_.levels;
            if (++levels[place] > measured_.precisions.size() || !measured_.is_lowered_at(place, levels[place]))
                continue;
            if (take_if_within(levels))
                has_changed = true;
            else
                ++result_.refused;
        }
        return has_changed;
    }

    const SensitivityMeasurements& measured_;
    double tolerance_;
    const RunLevels& run_;
    CheapestPolicy result_;
    std::set<Levels> tried_;
};

}  // namespace

std::vector<PrecisionAssignment> SensitivityMeasurements::groups_by_precision(const Levels& levels) const {
    std::vector<PrecisionAssignment> assigned{{{}, "highest"}};
    for (const std::string& precision : precisions) assigned.push_back({{}, precision});
    for (std::size_t place = 0; place < places.size(); ++place)
        assigned[levels[place]].groups = union_of(assigned[levels[place]].groups, places[place].groups);
    assigned.pop_back();  // the cheapest precision is the default of the policy, so it needs no rules
    return assigned;
}

CheapestPolicy find_cheapest_policy(const SensitivityMeasurements& measured, double tolerance, const RunLevels& run) {
    return PolicySearch(measured, tolerance, run).find();
}

}  // namespace fp32shim::cli
