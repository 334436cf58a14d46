#include "cli/sensitivity/cheapest_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "cli/output/terminal.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

/// The search for a policy, with the levels that it tries.
class PolicySearch {
  public:
    PolicySearch(const Sensitivity& measured, const Groups& groups, const LineTexts& texts,
                 const PolicySettings& settings, double tolerance, Measurements& measurements)
        : measured_(measured),
          groups_(groups),
          texts_(texts),
          settings_(settings),
          tolerance_(tolerance),
          measurements_(measurements) {}

    CheapestPolicy find() {
        start();
        for (const Levels& levels : shown_within())
            if (saving_of(levels) >= saving_of(result_.levels) && take_if_within(levels)) break;
        while (!result_.is_found && !is_within() && step_back()) continue;
        result_.is_found = result_.measured.was_lowered && result_.measured.error <= tolerance_ && has_lowered();
        for (const Levels& levels : shown_within())
            if ((!result_.is_found || saving_of(levels) > saving_of(result_.levels)) && take_if_within(levels)) break;
        while (result_.is_found && has_cheaper()) continue;
        return result_;
    }

  private:
    const Measured& alone(std::size_t place, std::size_t level) const {
        return measured_.errors[place][level - 1].alone;
    }

    void start() {
        for (std::size_t place = 0; place < measured_.places.size(); ++place) {
            std::size_t level = measured_.precisions.size();
            while (level > 0 && !(is_lowered_at(measured_, place, level) && alone(place, level).error <= tolerance_))
                --level;
            result_.levels.push_back(level);
        }
    }

    /// Returns the levels of all measured runs whose output was within the tolerance, the cheapest first. A place
    /// that did not run below FP32 alone stays exact.
    std::vector<Levels> shown_within() const {
        const std::size_t places = measured_.places.size();
        std::vector<Levels> shown;
        const auto add = [&](const Measured& run, Levels levels) {
            if (!run.was_lowered || !(run.error <= tolerance_)) return;
            for (std::size_t place = 0; place < places; ++place)
                if (!is_lowered_at(measured_, place, levels[place])) levels[place] = 0;
            shown.push_back(std::move(levels));
        };
        for (std::size_t at = 0; at < measured_.precisions.size(); ++at) {
            add(measured_.all_lowered[at], Levels(places, at + 1));
            for (std::size_t place = 0; place < places; ++place) {
                Levels alone(places, 0), kept_exact(places, at + 1);
                alone[place] = at + 1;
                kept_exact[place] = 0;
                add(measured_.errors[place][at].alone, std::move(alone));
                add(measured_.errors[place][at].kept_exact, std::move(kept_exact));
            }
        }
        std::ranges::stable_sort(shown, std::greater<>(), [this](const Levels& levels) { return saving_of(levels); });
        return shown;
    }

    /// Returns the work that runs below FP32, each place's times the number of its precision.
    double saving_of(const Levels& levels) const {
        double saving = 0;
        for (std::size_t place = 0; place < levels.size(); ++place)
            if (is_lowered_at(measured_, place, levels[place]))
                saving += measured_.places[place].work * static_cast<double>(levels[place]);
        return saving;
    }

    /// Runs a policy, and makes it the found one if its output is within the tolerance.
    bool take_if_within(const Levels& levels) {
        const Measured measured = measure(levels);
        if (!measured.was_lowered || !(measured.error <= tolerance_)) return false;
        result_.levels = levels;
        result_.measured = measured;
        result_.is_found = true;
        return true;
    }

    bool has_lowered() const {
        for (std::size_t place = 0; place < result_.levels.size(); ++place)
            if (is_lowered_at(measured_, place, result_.levels[place])) return true;
        return false;
    }

    Measured measure(const Levels& levels) {
        tried_.insert(levels);
        result_.tried = tried_.size();
        const auto exact = static_cast<std::size_t>(std::ranges::count(levels, std::size_t{0}));
        return measurements_
            .measure({{{policy_at(measured_, groups_, levels, settings_, nullptr, &texts_),
                        requested_precision(settings_.precision)},
                       fmt::format("a policy with {} of {} exact", exact, counted(levels.size(), "place"))}},
                     1)
            .front();
    }

    bool is_within() {
        if (!has_lowered()) return true;
        result_.measured = measure(result_.levels);
        return result_.measured.error <= tolerance_;
    }

    /// Takes the lowered place with the largest error one step back. Returns false if no place is lowered.
    bool step_back() {
        std::size_t worst = measured_.places.size();
        for (std::size_t place = 0; place < measured_.places.size(); ++place) {
            const std::size_t level = result_.levels[place];
            if (!is_lowered_at(measured_, place, level)) continue;
            if (worst == measured_.places.size() ||
                alone(place, level).error > alone(worst, result_.levels[worst]).error)
                worst = place;
        }
        if (worst == measured_.places.size()) return false;
        --result_.levels[worst];
        return true;
    }

    /// Tries each place one step cheaper, and takes what is within the tolerance. Returns false if nothing was: then
    /// all refusals are of the final policy with one place changed.
    bool has_cheaper() {
        bool has_changed = false;
        result_.refused = 0;
        for (std::size_t place = 0; place < measured_.places.size(); ++place)
            if (result_.levels[place] < measured_.precisions.size() &&
                is_lowered_at(measured_, place, result_.levels[place] + 1) && try_cheaper(place))
                has_changed = true;
        return has_changed;
    }

    bool try_cheaper(std::size_t place) {
        Levels levels = result_.levels;
        ++levels[place];
        const Measured measured = measure(levels);
        if (!(measured.error <= tolerance_)) {
            ++result_.refused;
            return false;
        }
        result_.levels = std::move(levels);
        result_.measured = measured;
        return true;
    }

    const Sensitivity& measured_;
    const Groups& groups_;
    const LineTexts& texts_;
    const PolicySettings& settings_;
    double tolerance_;
    Measurements& measurements_;
    CheapestPolicy result_;
    std::set<Levels> tried_;
};

}  // namespace

std::string requested_precision(const std::string& precision) {
    return policy::parse_word(policy::default_precision_words, precision) ? precision : "highest";
}

bool is_lowered_at(const Sensitivity& measured, std::size_t place, std::size_t level) {
    return level > 0 && measured.errors[place][level - 1].alone.was_lowered;
}

std::string policy_at(const Sensitivity& measured, const Groups& groups, const Levels& levels,
                      const PolicySettings& settings, const CommentOn& comment_on, const LineTexts* texts) {
    std::vector<AssignedGroups> assigned;
    for (std::size_t level = 0; level < measured.precisions.size(); ++level) {
        Subset members;
        for (std::size_t place = 0; place < measured.places.size(); ++place)
            if (levels[place] == level) members = union_of(members, measured.places[place].groups);
        if (!members.empty())
            assigned.push_back({std::move(members), level == 0 ? "highest" : measured.precisions[level - 1]});
    }
    return policy_assigning(groups, assigned, settings, comment_on, texts);
}

CheapestPolicy find_cheapest_policy(const Sensitivity& measured, const Groups& groups, const LineTexts& texts,
                                    const PolicySettings& settings, double tolerance, Measurements& measurements) {
    return PolicySearch(measured, groups, texts, settings, tolerance, measurements).find();
}

}  // namespace fp32shim::cli
