#include "cli/bisect/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/product_groups/policy_text.hpp"
#include "cli/trials/assumptions.hpp"

namespace fp32shim::cli {
namespace {

std::string share_of_work(const Subset& set, const GroupList& groups) {
    return work_share_text(groups.work_of(set), groups.total_work());
}

/// Returns a text such as `sgemm_ 64x64x64` or, if the products have several sizes, `sgemm_, ssymm_: 5 sizes`.
std::string product_text(const Subset& set, const GroupList& groups) {
    std::set<std::string> functions;
    std::set<std::string> sizes;
    for (const std::size_t member : set) {
        functions.insert(groups[member].key.function);
        sizes.insert(groups[member].key.size_text());
    }
    const std::string names = listed({functions.begin(), functions.end()}, 3);
    return sizes.size() == 1 ? names + ' ' + *sizes.begin() : fmt::format("{}: {} sizes", names, sizes.size());
}

std::vector<std::string> locations_of(const std::vector<Subset>& sets, const GroupList& groups) {
    std::vector<std::string> locations;
    locations.reserve(sets.size());
    for (const Subset& set : sets) locations.push_back(groups[set.front()].location_text());
    return locations;
}

/// Returns the outcome of the tested set, or an outcome without runs if the set was not tested.
SetOutcome outcome_of(const BisectResult& result, Lowered lowered, const Subset& set) {
    const SetOutcome* const outcome = result.tester.find_outcome(lowered, set);
    return outcome == nullptr ? SetOutcome() : *outcome;
}

/// Returns the outcome of runs under the found policy, which keeps the products of all culprits exact.
SetOutcome policy_outcome(const BisectResult& result) {
    return outcome_of(result, Lowered::all_but, groups_of_culprits(result.findings.culprits));
}

/// Returns the outcome of runs in which the products of `culprit` were lowered in addition to those that the found
/// policy lowers.
SetOutcome outcome_with_lowered(const BisectResult& result, const Culprit& culprit) {
    return outcome_of(result, Lowered::all_but,
                      without(groups_of_culprits(result.findings.culprits), culprit.groups));
}

SetOutcome outcome_lowered_together(const BisectResult& result, const Culprit& culprit) {
    return outcome_of(result, Lowered::only, union_of(culprit.groups, union_of_parts(culprit.partners)));
}

std::string share_of_runs(std::uint64_t count, std::uint64_t runs) {
    return fmt::format("{} of {}", count, counted(runs, "run"));
}

/// Returns the reason why a culprit stays exact, such as `fails alone (2 of 2 runs)`, or `fails together with
/// train.py:9 f (2 of 2 runs), but not alone (0 of 1 run)`. Says `not tried` about a set that the search did not run.
std::string reason_text(const Culprit& culprit, const BisectResult& result) {
    if (culprit.is_untried) return "not tried with all its calls";
    const auto count_in = [&culprit](const SetOutcome& outcome) {
        return culprit.tells_nothing ? outcome.undecided : outcome.failures;
    };
    const auto with_count = [&count_in](std::string_view effect, const SetOutcome& outcome) {
        return outcome.runs == 0 ? "not tried"
                                 : fmt::format("{} ({})", effect, share_of_runs(count_in(outcome), outcome.runs));
    };
    const SetOutcome together = outcome_lowered_together(result, culprit);
    const bool has_occurred = count_in(together) > 0;
    const std::string effect = culprit.tells_nothing
                                   ? has_occurred ? "is undecided (status 125)" : "was not undecided"
                               : has_occurred ? "fails"
                                              : "did not fail";
    std::string text = with_count(effect + " alone", together);
    if (together.runs == 0) {
        text += " by itself";
    } else if (!culprit.partners.empty()) {
        const SetOutcome alone = outcome_of(result, Lowered::only, culprit.groups);
        const std::string partners = listed(locations_of(culprit.partners, result.groups), 5);
        text = with_count(fmt::format("{} together with {}", effect, partners), together) +
               (alone.runs == 0 ? ", not tried alone" : ", but not " + with_count("alone", alone));
    }
    if (culprit.calls.last != 0)
        text += fmt::format(", even with only {} of {}", calls_text(culprit.calls),
                            result.groups[culprit.calls.group].calls);
    return text;
}

/// Returns the culprits that contain at least one of `groups`.
std::vector<const Culprit*> culprits_of(const Subset& groups, const std::vector<Culprit>& culprits) {
    std::vector<const Culprit*> found;
    for (const Culprit& culprit : culprits)
        if (without(culprit.groups, groups).size() < culprit.groups.size()) found.push_back(&culprit);
    return found;
}

/// Returns the number of groups of products that occurred only after the first run.
std::size_t count_new_groups(const BisectResult& result) {
    std::set<GroupKey> met;
    for (const TestedSet& tested : result.tester.tested_sets())
        met.insert(tested.outcome.new_groups.begin(), tested.outcome.new_groups.end());
    return met.size();
}

std::string tried_text(const BisectResult& result) {
    std::uint64_t counts[3] = {};
    for (const TestedSet& tested : result.tester.tested_sets())
        ++counts[static_cast<std::size_t>(tested.outcome.verdict)];
    std::string text = fmt::format(
        "{} tried {}: {} acceptable, {} not acceptable, {} undecided.\n", counted(result.tester.run_count(), "run"),
        counted(result.tester.tested_sets().size(), "set") + " of groups", counts[0], counts[1], counts[2]);
    if (const std::size_t met = count_new_groups(result); met > 0)
        text += fmt::format(
            "{0} occurred only after the first run. Until the search knew {1}, {2} stayed exact unless "
            "everything else was lowered.\n",
            counted(met, "group"), met == 1 ? "it" : "them", met == 1 ? "it" : "they");
    return text;
}

/// Returns a sentence about the runs in which the products of one culprit were lowered in addition to those that the
/// found policy lowers. Returns an empty text if such a run was acceptable or missing.
std::string need_text(const BisectResult& result) {
    const std::vector<Culprit>& culprits = result.findings.culprits;
    std::uint64_t runs = 0;
    std::uint64_t bad = 0;
    std::size_t tried = 0;
    for (const Culprit& culprit : culprits) {
        if (culprit.is_untried) continue;
        const SetOutcome outcome = outcome_with_lowered(result, culprit);
        if (outcome.runs == 0 || outcome.verdict == Verdict::acceptable) return {};
        ++tried;
        runs += outcome.runs;
        bad += outcome.runs - outcome.acceptable_runs();
    }
    if (tried == 0) return {};
    const std::string_view which = culprits.size() == 1 ? "it"
                                   : tried == 1         ? "the one that was tried"
                                                        : "any one of them";
    return fmt::format("Lowering {} as well was not acceptable in {}.\n",
                       tried > 1 && tried < culprits.size() ? "any one of those that were tried" : which,
                       share_of_runs(bad, runs));
}

/// Returns a sentence for each set of culprits that may be lowered together, although the command fails if only one
/// of them is lowered.
std::string lowered_together_text(const BisectResult& result) {
    std::string text;
    for (const std::vector<Subset>& sets : result.findings.lowered_together)
        text += fmt::format("Lowered together, though they were found one by one: {}.\n",
                            listed(locations_of(sets, result.groups), 5));
    return text;
}

/// Returns the assumption under which the result is valid, and the evidence for the assumption.
std::string certainty_text(const BisectResult& result) {
    if (!result.findings.doubt.empty()) return fmt::format("Not certain: {}.\n", result.findings.doubt);
    if (!result.tester.failure_rates()) {
        const auto repeated = std::ranges::count_if(result.tester.tested_sets(),
                                                    [](const TestedSet& tested) { return tested.outcome.runs > 1; });
        return fmt::format("Assumed: equal runs end alike{}. If the command may fail at random, use --repeat 20.\n",
                           repeated == 0 ? ""
                                         : fmt::format(", as they did for {}",
                                                       counted(static_cast<std::uint64_t>(repeated), "set")));
    }
    const SetOutcome exact = outcome_of(result, Lowered::only, {});
    return fmt::format(
        "Random failures: {} with everything exact, so at most {:.0f}% (95% confidence). If runs are independent, at "
        "most\n{:.0f}% of such searches miss a product that makes at least {:.0f}% of its runs fail, and at most "
        "{:.0f}% "
        "blame an innocent one.\nA product that fails more seldom may have been missed.\n",
        share_of_runs(exact.failures, exact.runs),
        100 * upper_bound_of_failure_rate({exact.failures, exact.acceptable_runs()}), 100 * error_of_a_search,
        std::ceil(100 * result.tester.failure_rates()->by_cause), 100 * error_of_a_search);
}

/// Returns a sentence about groups of products that ran when all products were exact, but never under the found
/// policy. Returns an empty text if there are none.
std::string only_exact_text(const BisectResult& result) {
    const Subset exact = groups_of_culprits(result.findings.culprits);
    const Subset missing =
        without(without(outcome_of(result, Lowered::only, {}).ran, policy_outcome(result).ran), exact);
    if (missing.empty()) return {};
    return fmt::format("These products did not run when all others were lowered: {}.\n",
                       listed(locations_of(result.groups.split(missing, line_key), result.groups), 5));
}

/// Returns a caveat on the way in which float64 products were tried, or an empty text if float32 products were tried.
std::string float64_trial_caveat(const BisectResult& result) {
    if (result.settings.policy.types != TriedTypes::float64) return {};
    if (result.settings.policy.precision == policy::to_string(policy::Precision::sgemm))
        return "Tried on float32 copies, by the library's routine for float32. Between products, the program's "
               "numbers "
               "stayed float64.\n";
    return "Tried by rounding operands: the library multiplied and added in float64. In float32 itself, sums are "
           "rounded, too; --precision sgemm tries that.\n";
}

/// Returns `at`, or `asked to run at` if some groups of products ran in another format than the requested one.
std::string_view at_text(const SetOutcome& outcome) {
    return outcome.other_formats.empty() ? "at" : "asked to run at";
}

/// Returns a text such as `with all others at high, 2 of 2 runs were acceptable`.
std::string enough_text(const BisectResult& result) {
    const SetOutcome outcome = policy_outcome(result);
    return fmt::format("with all others {} {}, {} {} acceptable", at_text(outcome), result.settings.policy.precision,
                       share_of_runs(outcome.acceptable_runs(), outcome.runs), outcome.runs == 1 ? "was" : "were");
}

Json run_counts(const SetOutcome& outcome) {
    if (outcome.runs == 0) return {};
    return {{"runs", outcome.runs}, {"failures", outcome.failures}, {"undecided", outcome.undecided}};
}

Json json_of_calls(const CallRange& calls) {
    return calls.last == 0 ? Json() : Json{{"first", calls.first}, {"last", calls.last}};
}

Json json_of_culprit(const Culprit& culprit, const BisectResult& result, const Json& work_share) {
    return {{"groups", culprit.groups},
            {"calls", json_of_calls(culprit.calls)},
            {"work_share", work_share},
            {"fails_with", culprit.partners},
            {"tells_nothing", culprit.tells_nothing},
            {"untried", culprit.is_untried},
            {"alone", run_counts(outcome_of(result, Lowered::only, culprit.groups))},
            {"together", run_counts(outcome_lowered_together(result, culprit))},
            {"lowered_too", run_counts(outcome_with_lowered(result, culprit))}};
}

Json json_of_tried(const TestedSet& tested) {
    const SetOutcome& outcome = tested.outcome;
    return {{"run", outcome.last_run},
            {"lowered", tested.lowered == Lowered::only ? "only" : "all but"},
            {"groups", tested.set},
            {"calls", json_of_calls(tested.calls)},
            {"verdict", to_string(outcome.verdict)},
            {"how", outcome.how},
            {"is_flaky", outcome.is_flaky},
            {"runs", outcome.runs},
            {"failures", outcome.failures},
            {"undecided", outcome.undecided}};
}

Json json_of_group(const ProductGroup& group, const Json& work_share, const std::string& text) {
    const GroupKey& key = group.key;
    const auto size = [](std::int64_t value) { return value < 0 ? Json() : Json(value); };
    return {{"where", group.where},
            {"call_site", key.location.is_call_site ? text_or_null(key.location.text) : Json()},
            {"scope", text_or_null(key.scope)},
            {"function", key.function},
            {"m", size(key.m)},
            {"n", size(key.n)},
            {"k", size(key.k)},
            {"batch", size(key.batch)},
            {"calls", group.calls},
            {"work_share", work_share},
            {"file", text_or_null(group.file)},
            {"line", group.line == 0 ? Json() : Json(group.line)},
            {"text", text_or_null(text)}};
}

std::string_view outcome_word(const SearchConclusion& findings) {
    if (!findings.doubt.empty()) return "not certain";
    return findings.culprits.empty() ? "acceptable" : "found";
}

/// Returns sentences about the variable FP32_MATMUL_FLOOR, and about groups of products that did not run at the
/// precision that the found policy requests.
std::string not_lowered_text(const BisectResult& result) {
    const auto places = [&](const Subset& set) {
        return locations_of(result.groups.split(without(set, groups_of_culprits(result.findings.culprits)), line_key),
                            result.groups);
    };
    const SetOutcome outcome = policy_outcome(result);
    PlacesAtOtherPrecision found{places(without(outcome.ran, outcome.lowered)), {}};
    for (const auto& [format, groups] : outcome.other_formats) found.other[format] = places(groups);
    return (result.settings.policy.types == TriedTypes::float64 ? "" : floor_variable_text()) +
           other_precision_text(found, result.settings.policy.precision);
}

}  // namespace

std::string policy_text_of(const BisectResult& result) {
    const GroupList& groups = result.groups;
    const auto comment_on = [&](const Subset& set) {
        std::vector<std::string> comment = {comment_on_line(groups[set.front()], result.lines)};
        for (const Culprit* culprit : culprits_of(set, result.findings.culprits))
            comment.push_back(fmt::format("{}, {} of the work; {}", product_text(culprit->groups, groups),
                                          share_of_work(culprit->groups, groups), reason_text(*culprit, result)));
        return comment;
    };
    return policy_lowering_all_but(groups, groups_of_culprits(result.findings.culprits), result.settings.policy,
                                   comment_on, &result.lines);
}

std::string policy_comment(const BisectResult& result) {
    const std::string& doubt = result.findings.doubt;
    return fmt::format("# Keeping these products exact was enough: {}.\n", enough_text(result)) +
           (doubt.empty() ? "" : fmt::format("# Not certain: {}.\n", printable(doubt)));
}

std::string result_text(const BisectResult& result) {
    const GroupList& groups = result.groups;
    const std::vector<Culprit>& culprits = result.findings.culprits;
    const Subset exact = groups_of_culprits(culprits);
    const std::string certainty = not_lowered_text(result) + only_exact_text(result) + float64_trial_caveat(result) +
                                  certainty_text(result) + result.findings.dependence + result.caveats +
                                  fresh_start_assumption(result.left_files);
    if (exact.empty()) {
        const SetOutcome outcome = policy_outcome(result);
        return fmt::format("Nothing had to stay exact: with {} {} {}, {} {} acceptable.\n",
                           counted(outcome.lowered.size(), "group"), at_text(outcome),
                           result.settings.policy.precision, share_of_runs(outcome.acceptable_runs(), outcome.runs),
                           outcome.runs == 1 ? "was" : "were") +
               certainty;
    }
    const bool is_enough = policy_outcome(result).verdict == Verdict::acceptable;
    std::string text = fmt::format("Keeping {} of {} exact {} enough ({} of the work): {}.\n\n", exact.size(),
                                   counted(groups.all().size(), "group"), is_enough ? "was" : "may not be",
                                   share_of_work(exact, groups), enough_text(result));
    TextTable table({{.title = "where", .shrinks_to = 20},
                     {.title = "product"},
                     {.title = "work", .is_number = true},
                     {.title = "reason", .shrinks_to = 20},
                     {.title = "line", .shrinks_to = 16, .rank = 1}});
    for (const Culprit& culprit : culprits) {
        const ProductGroup& group = groups[culprit.groups.front()];
        table.add({group.location_text(), product_text(culprit.groups, groups), share_of_work(culprit.groups, groups),
                   reason_text(culprit, result), result.lines.text_of(group)});
    }
    return text + table.text() + '\n' + need_text(result) + lowered_together_text(result) + certainty +
           tried_text(result) + result.policy.usage_text(result.options, result.settings.policy);
}

Json to_json(const BisectResult& result) {
    const GroupList& groups = result.groups;
    const SearchConclusion& findings = result.findings;
    const double work = groups.total_work();
    const auto share = [work](double part) { return work == 0 ? Json() : Json(part / work); };
    Json rates;
    if (result.tester.failure_rates()) {
        rates = run_counts(outcome_of(result, Lowered::only, {}));
        rates["at_random"] = result.tester.failure_rates()->at_random;
        rates["by_cause"] = result.tester.failure_rates()->by_cause;
    }
    return {{"schema", 1},
            {"outcome", outcome_word(findings)},
            {"doubt", text_or_null(findings.doubt)},
            {"command", result.options.words},
            {"dtype", to_string(result.settings.policy.types)},
            {"precision", result.settings.policy.precision},
            {"cpu", text_or_null(result.settings.policy.cpu)},
            {"runs", result.tester.run_count()},
            {"verified_by", policy_outcome(result).last_run},
            {"verified", run_counts(policy_outcome(result))},
            {"random_failures", rates},
            {"policy", text_or_null(result.policy.path)},
            {"new_groups", count_new_groups(result)},
            {"clock_left_out", result.leaves_out_clock},
            {"lowered_together", findings.lowered_together},
            {"groups", json_list(groups.all(),
                                 [&](const ProductGroup& group) {
                                     return json_of_group(group, share(group.work), result.lines.text_of(group));
                                 })},
            {"culprits", json_list(findings.culprits,
                                   [&](const Culprit& culprit) {
                                       return json_of_culprit(culprit, result, share(groups.work_of(culprit.groups)));
                                   })},
            {"tried", json_list(result.tester.tested_sets(), json_of_tried)}};
}

}  // namespace fp32shim::cli
