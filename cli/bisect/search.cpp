#include "cli/bisect/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

/// A function that tests candidates, each a list of parts, and returns the index of the first candidate that makes
/// the command fail, or nullopt if none does.
using FirstFailing = std::function<std::optional<std::size_t>(const std::vector<Parts>& candidates)>;

constexpr std::size_t max_sizes =
    500;  ///< if a source line has more matrix sizes than this, the search does not test them one by one
constexpr std::size_t max_culprit_sizes =
    8;  ///< if more sizes at a source line than this must stay exact, the whole line stays exact
constexpr std::uint64_t max_pairs = 8;  ///< largest number of tests that each lower a pair of culprits together
constexpr std::uint64_t exact_runs_of_numbers = 5;  ///< number of exact runs that show the noise of compared numbers
constexpr std::uint64_t max_runs_for_coverage = 3;  ///< largest number of exact runs, and of runs under the policy,
                                                    ///< that are made to see whether all groups run again

constexpr std::uint64_t runs_against_chance = 5;  ///< number of runs of each set, if the outcomes of two sets
                                                  ///< contradict each other and chance may be the reason

/// Thrown when evidence contradicts the conclusions of the search so far.
struct Doubt {
    std::string why;
    bool is_chance_excluded =
        false;  ///< runs of the same set agreed with each other, so more runs would not resolve the contradiction
};

/// Cuts `parts` into `count` consecutive pieces whose lengths differ by at most one.
std::vector<Parts> split_evenly(const Parts& parts, std::size_t count) {
    std::vector<Parts> pieces;
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = [&](std::size_t piece) {
            return parts.begin() + static_cast<std::ptrdiff_t>(parts.size() * piece / count);
        };
        pieces.emplace_back(at(i), at(i + 1));
    }
    return pieces;
}

/// Returns, for each piece, the union of all other pieces.
std::vector<Parts> complements_of(const std::vector<Parts>& pieces) {
    std::vector<Parts> result(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i)
        for (std::size_t j = 0; j < pieces.size(); ++j)
            if (i != j) result[i].insert(result[i].end(), pieces[j].begin(), pieces[j].end());
    return result;
}

/// Returns a 1-minimal set of parts: the command fails with this set, but not if any single part is removed from it.
/// The command must fail with all `parts`, and pass with none. The algorithm is ddmin (Zeller and Hildebrandt,
/// "Simplifying and isolating failure-inducing input", 2002).
Parts minimal_failing(Parts parts, const FirstFailing& first_failing) {
    std::size_t count = 2;
    while (parts.size() > 1) {
        count = std::min(count, parts.size());
        const std::vector<Parts> pieces = split_evenly(parts, count);
        if (const auto piece = first_failing(pieces)) {
            parts = pieces[*piece];
            count = 2;
            continue;
        }
        // If there are only two pieces, each is the complement of the other, so the complements need no tests.
        if (count > 2) {
            const std::vector<Parts> rests = complements_of(pieces);
            if (const auto rest = first_failing(rests)) {
                parts = rests[*rest];
                --count;
                continue;
            }
        }
        if (count == parts.size()) break;
        count *= 2;
    }
    return parts;
}

Subset with_partners(const Culprit& culprit) { return union_of(culprit.groups, union_of_parts(culprit.partners)); }

std::vector<Culprit> all_but_index(std::vector<Culprit> culprits, std::size_t index) {
    culprits.erase(culprits.begin() + static_cast<std::ptrdiff_t>(index));
    return culprits;
}

/// The search for culprits. The outcomes of tested sets decide which set is tested next.
class CulpritSearch {
  public:
    CulpritSearch(const BisectSettings& settings, SetTester& tester, const GroupList& groups)
        : settings_(settings), tester_(tester), groups_(groups) {}

    SearchConclusion run() {
        std::uint64_t exact_runs = exact_runs_wanted();
        if (tester_.test(Lowered::all_but, {}).verdict != Verdict::acceptable)
            while (exact_runs-- > 0 && tester_.run_again(Lowered::only, {})) continue;
        if (exact_outcome().is_flaky && !tester_.expects_random_failures()) tester_.expect_random_failures();
        SearchConclusion found = search_until_certain();
        if (found.doubt.empty() && tester_.depends_on_the_previous_run())
            found.doubt =
                "with everything exact, the command failed right after a lowered run, and else never: a run may read "
                "what "
                "the last one has left (a cache, a checkpoint); remove it before each run";
        return found;
    }

  private:
    bool is_failure(Verdict verdict) const {
        return verdict == (seeks_unresolved_ ? Verdict::unresolved : Verdict::not_acceptable);
    }

    SetOutcome test(Lowered lowered, const Subset& set) {
        SetOutcome outcome = tester_.test(lowered, set);
        ever_lowered_ = union_of(ever_lowered_, outcome.lowered);
        return outcome;
    }

    /// Returns true if the command is acceptable with the groups in `exact` exact and all others lowered.
    bool is_enough(const Subset& exact) {
        const SetOutcome outcome = test(Lowered::all_but, exact);
        if (SetTester::has_stayed_undecided(outcome))
            throw Doubt{
                fmt::format("{} of {} runs with {} of {} groups exact failed, which is neither often nor seldom",
                            outcome.failures, outcome.runs, exact.size(), groups_.all().size())};
        return outcome.verdict == Verdict::acceptable;
    }

    /// Returns the index of the first candidate with which the command fails if only the candidate and `fixed` are
    /// lowered. Up to `jobs` candidates without a known outcome run at the same time.
    std::optional<std::size_t> first_failing(const std::vector<Parts>& candidates, const Subset& fixed) {
        std::vector<Subset> sets;
        sets.reserve(candidates.size());
        for (const Parts& parts : candidates) sets.push_back(union_of(union_of_parts(parts), fixed));
        for (std::size_t i = 0; i < sets.size(); ++i) {
            std::vector<Subset> next;
            for (std::size_t j = i; j < sets.size() && next.size() < settings_.jobs; ++j) {
                const SetOutcome* known = tester_.known_outcome(Lowered::only, sets[j]);
                if (known == nullptr) next.push_back(sets[j]);
                if (known != nullptr && is_failure(known->verdict)) break;
            }
            if (tester_.known_outcome(Lowered::only, sets[i]) == nullptr) tester_.test_all(Lowered::only, next);
            if (is_failure(tester_.test(Lowered::only, sets[i]).verdict)) return i;
        }
        return std::nullopt;
    }

    Parts minimal(const Parts& parts, const Subset& fixed) {
        return minimal_failing(
            parts, [&](const std::vector<Parts>& candidates) { return first_failing(candidates, fixed); });
    }

    /// Returns all groups that belong to the same source lines as the groups of `set`.
    Subset whole_lines(const Subset& set) const {
        std::set<std::pair<std::string, GroupLocation>> lines;
        for (const std::size_t member : set) lines.insert(line_key(groups_[member]));
        Subset result;
        for (std::size_t i = 0; i < groups_.all().size(); ++i)
            if (lines.contains(line_key(groups_[i]))) result.push_back(i);
        return result;
    }

    /// Returns a culprit that consists of the part with the least work. Its partners are `partners` and all other
    /// parts.
    Culprit culprit_with_least_work(Parts parts, const std::vector<Subset>& partners) const {
        const auto least =
            std::ranges::min_element(parts, {}, [this](const Subset& part) { return groups_.work_of(part); });
        Culprit culprit{*least, partners, seeks_unresolved_};
        parts.erase(least);
        culprit.partners.insert(culprit.partners.end(), parts.begin(), parts.end());
        return culprit;
    }

    /// Finds a culprit among groups that make the command fail together. First finds the scopes without which the
    /// command does not fail, and then the lines in these scopes without which it does not fail.
    Culprit find_culprit_in(const Subset& suspects) {
        const Parts scopes =
            minimal(groups_.split(suspects, [](const ProductGroup& group) { return group.key.scope; }), {});
        return culprit_with_least_work(minimal(groups_.split(union_of_parts(scopes), line_key), {}), {});
    }

    /// Checks that the command fails with only `suspects` lowered. `suspects` are all groups that ran at the lower
    /// precision when the command failed with all groups except `exact` lowered. If the command does not fail, tests
    /// both sets several times, to see whether chance is the reason, and throws a Doubt.
    void check_suspects(const Subset& exact, const Subset& suspects) {
        if (!suspects.empty() && is_failure(test(Lowered::only, suspects).verdict)) return;
        const auto run_often = [this](Lowered lowered, const Subset& set) {
            while (tester_.test(lowered, set).runs < runs_against_chance) tester_.run_again(lowered, set);
            return tester_.test(lowered, set);
        };
        const SetOutcome all = run_often(Lowered::all_but, exact), alone = run_often(Lowered::only, suspects);
        const std::string& precision = settings_.policy.precision;
        const std::string contrast =
            suspects.empty()
                ? "although no product that was seen ran so, and not with everything exact"
                : fmt::format("and not with only the {} lowered that ran so", counted(suspects.size(), "group"));
        const bool agree = !all.is_flaky && !alone.is_flaky;
        const std::string_view why =
            !agree ? "it fails by chance or for another reason"
            : !all.new_groups.empty()
                ? "names, lines or sizes of products differ from run to run"
                : "products that were not seen are the reason, or the command itself asks for a precision (by "
                  "FP32_MATMUL_PRECISION, or a scope)";
        throw Doubt{
            fmt::format("with {} at {}, the command fails in {} of {} runs {} ({} of {} failed): {}",
                        exact.empty() ? "everything" : fmt::format("all but {}", counted(exact.size(), "group")),
                        precision, all.runs - all.acceptable_runs(), all.runs, contrast,
                        alone.runs - alone.acceptable_runs(), alone.runs, why),
            agree};
    }

    /// Finds source lines such that the command is acceptable if only the products of these lines stay exact.
    std::vector<Culprit> find_lines() {
        std::vector<Culprit> culprits;
        for (;;) {
            for (Culprit& culprit : culprits) culprit.groups = whole_lines(culprit.groups);
            const Subset exact = groups_of_culprits(culprits);
            if (is_enough(exact)) return culprits;
            const SetOutcome outcome = test(Lowered::all_but, exact);
            seeks_unresolved_ = outcome.verdict == Verdict::unresolved;
            const Subset suspects = without(whole_lines(outcome.lowered), exact);
            tester_.seek_failure_rate_of(outcome);
            if (suspects.empty()) check_suspects(exact, suspects);
            culprits.push_back(find_culprit_in(suspects));
            // If no smaller set fails, the set of all suspects may be untested, because the search tests only parts
            // of it.
            if (with_partners(culprits.back()) == suspects) check_suspects(exact, suspects);
        }
    }

    /// Finds functions and sizes at a source line that must stay exact so that the other products of the line may be
    /// lowered. Returns nothing if the whole line should stay exact, because most of its sizes must stay exact or
    /// because the runs do not distinguish the sizes.
    std::vector<Culprit> find_sizes(const Culprit& line, const Subset& other_exact) {
        Subset rest;
        std::ranges::set_intersection(line.groups, ever_lowered_, std::back_inserter(rest));
        if (line.groups.size() < 2 || rest.empty() || rest.size() > max_sizes) return {};
        const std::size_t most = std::min(std::max<std::size_t>(rest.size() / 2, 2), max_culprit_sizes);
        const Subset partners = union_of_parts(line.partners);
        seeks_unresolved_ = line.tells_nothing;
        std::vector<Culprit> found;
        while (found.size() < most && !rest.empty()) {
            tester_.seek_any_failure_rate();
            const SetOutcome outcome = test(Lowered::only, union_of(rest, partners));
            if (!is_failure(outcome.verdict)) return {};
            tester_.seek_failure_rate_of(outcome);
            Parts parts;
            for (const std::size_t size : rest) parts.push_back({size});
            std::ranges::stable_sort(parts, std::ranges::greater(),
                                     [this](const Subset& part) { return groups_.work_of(part); });
            found.push_back(culprit_with_least_work(minimal(parts, partners), line.partners));
            rest = without(rest, found.back().groups);
            const Subset exact = groups_of_culprits(found);
            if (exact != line.groups && is_enough(union_of(other_exact, exact))) return found;
        }
        return {};
    }

    /// Replaces each culprit that is a whole source line by only those functions and sizes at the line that must stay
    /// exact, if the command is then acceptable.
    void narrow_down_sizes(std::vector<Culprit>& culprits) {
        tester_.set_takes_new_groups(false);
        for (std::size_t i = 0; i < culprits.size();) {
            const Subset others = groups_of_culprits(all_but_index(culprits, i));
            const std::vector<Culprit> sizes = find_sizes(culprits[i], others);
            const auto line = culprits.begin() + static_cast<std::ptrdiff_t>(i);
            i += std::max<std::size_t>(sizes.size(), 1);
            if (sizes.empty()) continue;
            culprits.insert(culprits.erase(line), sizes.begin(), sizes.end());
        }
        tester_.set_takes_new_groups(true);
    }

    /// Removes the first culprit (the one with the most work) that may be lowered while the others stay exact.
    /// Returns false if there is none.
    bool lower_one(std::vector<Culprit>& culprits) {
        for (std::size_t i = 0; i < culprits.size() && culprits.size() > 1; ++i) {
            std::vector<Culprit> others = all_but_index(culprits, i);
            if (!is_enough(groups_of_culprits(others))) continue;
            culprits = std::move(others);
            return true;
        }
        return false;
    }

    /// Removes the first pair of culprits (those with the most work) that may be lowered together because their
    /// effects cancel. Returns false if no such pair is found within the tests that are left.
    bool lower_two(SearchConclusion& found, std::uint64_t& tests_left) {
        std::vector<Culprit>& culprits = found.culprits;
        if (culprits.size() < 3) return false;  // lowering both of two culprits lowers all, which is known to fail
        for (std::size_t second = 1; second < culprits.size(); ++second) {
            for (std::size_t first = 0; first < second; ++first) {
                if (tests_left == 0) return false;
                --tests_left;
                std::vector<Culprit> others = all_but_index(all_but_index(culprits, second), first);
                if (!is_enough(groups_of_culprits(others))) continue;
                found.lowered_together.push_back({culprits[first].groups, culprits[second].groups});
                culprits = std::move(others);
                return true;
            }
        }
        return false;
    }

    /// Removes each culprit that may be lowered while the others stay exact, and then pairs of culprits whose effects
    /// cancel. Afterwards, the command fails if any single one of the remaining culprits is lowered, too.
    void lower_superfluous_culprits(SearchConclusion& found) {
        std::ranges::stable_sort(found.culprits, std::ranges::greater(),
                                 [this](const Culprit& culprit) { return groups_.work_of(culprit.groups); });
        std::uint64_t tests_left = max_pairs;
        while (lower_one(found.culprits) || lower_two(found, tests_left)) continue;
    }

    /// Returns true if the command fails with the groups of `set` lowered. Of the group `calls.group`, only the calls
    /// in the range `calls` are lowered.
    bool calls_fail(const Subset& set, const CallRange& calls) {
        return is_failure(tester_.test(Lowered::only, set, calls).verdict);
    }

    /// Finds by bisection the last and then the first call of a culprit's single group that must be lowered to make
    /// the command fail. Assumes that a range of calls fails if a part of the range fails.
    void narrow_down_calls(Culprit& culprit) {
        const std::uint64_t all = groups_[culprit.groups.front()].calls;
        if (culprit.groups.size() != 1 || all < 2) return;
        seeks_unresolved_ = culprit.tells_nothing;
        const Subset set = with_partners(culprit);
        CallRange found{culprit.groups.front(), 1, all};
        if (!calls_fail(set, found)) return;  // the number or the order of calls may differ between runs
        for (std::uint64_t passes = 0; found.last - passes > 1;) {
            const std::uint64_t middle = passes + (found.last - passes) / 2;
            if (calls_fail(set, {found.group, 1, middle}))
                found.last = middle;
            else
                passes = middle;
        }
        for (std::uint64_t passes = found.last + 1; passes - found.first > 1;) {
            const std::uint64_t middle = found.first + (passes - found.first) / 2;
            if (calls_fail(set, {found.group, middle, found.last}))
                found.first = middle;
            else
                passes = middle;
        }
        if (tester_.confirm_verdict(Lowered::only, set, found)) culprit.calls = found;
    }

    /// Tests again the sets whose failures made the groups of `culprit` a culprit. `exact` holds the groups of all
    /// culprits. Returns false if a verdict has changed.
    bool confirm_culprit(Culprit& culprit, const Subset& exact) {
        seeks_unresolved_ = culprit.tells_nothing;
        if (!culprit.partners.empty() && is_failure(test(Lowered::only, culprit.groups).verdict))
            culprit.partners.clear();
        if (!is_failure(test(Lowered::only, with_partners(culprit)).verdict)) return false;
        if (!tester_.confirm_verdict(Lowered::only, with_partners(culprit))) return false;
        if (!tester_.expects_random_failures()) return true;
        return (culprit.partners.empty() || tester_.confirm_verdict(Lowered::only, culprit.groups)) &&
               tester_.confirm_verdict(Lowered::all_but, without(exact, culprit.groups));
    }

    /// Tests again the sets on which the findings rest. Returns the reason why the findings are not certain, or an
    /// empty text if they are certain.
    std::string doubt_about(SearchConclusion& found) {
        const Subset exact = groups_of_culprits(found.culprits);
        tester_.seek_any_failure_rate();
        for (Culprit& culprit : found.culprits)
            if (!confirm_culprit(culprit, exact))
                return fmt::format("equal runs gave different answers about {}",
                                   groups_[culprit.groups.front()].location_text());
        if (!tester_.confirm_verdict(Lowered::all_but, exact))
            return "equal runs gave different answers about the policy";
        return {};
    }

    SearchConclusion search_once() {
        SearchConclusion found;
        try {
            found.culprits = find_lines();
            if (!found.culprits.empty()) {
                narrow_down_sizes(found.culprits);
                lower_superfluous_culprits(found);
            }
            // The sets on which the conclusion rests run again, unless all products may be lowered and a sequential
            // test with many runs has already shown that.
            if (!found.culprits.empty() || !tester_.expects_random_failures()) found.doubt = doubt_about(found);
            if (found.doubt.empty()) keep_untried_exact(found);
            if (settings_.narrows_calls && found.doubt.empty())
                for (Culprit& culprit : found.culprits) narrow_down_calls(culprit);
        } catch (const Doubt& doubt) {
            tester_.set_takes_new_groups(true);
            found.doubt = doubt.why;
            found.is_chance_excluded = doubt.is_chance_excluded;
        }
        return found;
    }

    SearchConclusion search_until_certain() {
        for (;;) {
            SearchConclusion found = search_once();
            if (found.doubt.empty() || found.is_chance_excluded ||
                std::ranges::any_of(found.culprits, &Culprit::is_untried))
                return found;
            if (!tester_.expects_random_failures())
                tester_.expect_random_failures();
            else if (!tester_.reduce_error_rate())
                return found;
        }
    }

    const SetOutcome& exact_outcome() const { return *tester_.find_outcome(Lowered::only, {}); }

    /// Returns the number of runs with all products exact that are still to be made. They show whether the command,
    /// which fails when lowered, still passes. More runs are needed if compared numbers may differ by chance.
    std::uint64_t exact_runs_wanted() const {
        std::uint64_t wanted = settings_.repeat + 1;
        if (settings_.compares_numbers)
            wanted = std::max({wanted, exact_runs_of_numbers, std::uint64_t{groups_.line_count()}});
        return wanted - std::min(wanted, exact_outcome().runs);
    }

    /// Returns the groups about which the acceptable runs under the found policy show nothing. All these runs made
    /// fewer calls of a returned group than the first run, and so did some run with all products exact. Leaves out
    /// the groups `policy`, which the found policy keeps exact. Runs the command again if another run may show more.
    Subset groups_not_run_again(const Subset& policy) {
        const auto seems_missing = [&] {
            return without(without(exact_outcome().ran, policy), tester_.test(Lowered::all_but, policy).as_often);
        };
        const auto missing = [&] {
            // Calls that every exact run makes, but no run under the policy, are missing because of the policy, and
            // more runs would not show them.
            return without(seems_missing(), without(exact_outcome().as_often, exact_outcome().less_often));
        };
        while (!without(seems_missing(), exact_outcome().less_often).empty() &&
               exact_outcome().runs <= max_runs_for_coverage)
            tester_.run_again(Lowered::only, {});
        for (std::uint64_t i = 0; i < max_runs_for_coverage && !missing().empty(); ++i)
            if (!tester_.run_again(Lowered::all_but, policy) && !tester_.expects_random_failures())
                throw Doubt{"equal runs gave different answers about the policy"};
        return missing();
    }

    /// Adds the groups about which the runs show nothing to the culprits, so that these groups stay exact.
    void keep_untried_exact(SearchConclusion& found) {
        const Subset untried = groups_not_run_again(groups_of_culprits(found.culprits));
        if (untried.empty()) return;
        std::vector<std::string> locations;
        for (const Subset& line : groups_.split(untried, line_key)) {
            Culprit culprit{line, {}};
            culprit.is_untried = true;
            found.culprits.push_back(std::move(culprit));
            locations.push_back(groups_[line.front()].location_text());
        }
        const Subset exact = groups_of_culprits(found.culprits);
        if (!is_enough(exact) || !tester_.confirm_verdict(Lowered::all_but, exact))
            throw Doubt{"equal runs gave different answers about the policy"};
        found.doubt =
            untried_places_text(listed(locations, 3),
                                "the acceptable runs under the policy made fewer of these calls than a run with "
                                "everything exact, and so did another such run");
    }

    const BisectSettings& settings_;
    SetTester& tester_;
    const GroupList& groups_;
    Subset ever_lowered_;  ///< groups that ran at the lower precision in at least one run
    bool seeks_unresolved_ =
        false;  ///< the search looks for groups that make the outcome unresolved (exit status 125)
};

}  // namespace

Subset union_of_parts(const Parts& parts) {
    Subset result;
    for (const Subset& part : parts) result.insert(result.end(), part.begin(), part.end());
    std::ranges::sort(result);
    return result;
}

std::string calls_text(const CallRange& calls) {
    if (calls.first == calls.last) return fmt::format("call {}", calls.first);
    return fmt::format("calls {} to {}", calls.first, calls.last);
}

Subset groups_of_culprits(const std::vector<Culprit>& culprits) {
    Subset all;
    for (const Culprit& culprit : culprits) all = union_of(all, culprit.groups);
    return all;
}

SearchConclusion find_culprits(const BisectSettings& settings, SetTester& tester, const GroupList& groups) {
    return CulpritSearch(settings, tester, groups).run();
}

}  // namespace fp32shim::cli
