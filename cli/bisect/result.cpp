#include "cli/bisect/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/output/moment.hpp"
#include "cli/output/terminal.hpp"
#include "cli/product_groups/line_texts.hpp"

namespace fp32shim::cli {
namespace {

std::string work_share_text(const Subset& set, const Groups& groups) {
    double all = 0;
    for (const Group& group : groups.all()) all += group.work;
    if (all == 0) return "?";
    constexpr double whole = 1e6;
    return share_text(static_cast<std::uint64_t>(groups.work_of(set) / all * whole),
                      static_cast<std::uint64_t>(whole));
}

/// Returns `sgemm_ 64x64x64`; for several products, `sgemm_, ssymm_: 5 sizes`.
std::string product_text(const Subset& set, const Groups& groups) {
    std::set<std::string> functions;
    std::set<std::string> sizes;
    for (const std::size_t member : set) {
        functions.insert(groups[member].key.function);
        sizes.insert(groups[member].key.size_text());
    }
    const std::string names = listed({functions.begin(), functions.end()}, 3);
    return sizes.size() == 1 ? names + ' ' + *sizes.begin() : fmt::format("{}: {} sizes", names, sizes.size());
}

std::vector<std::string> locations_of(const std::vector<Subset>& sets, const Groups& groups) {
    std::vector<std::string> locations;
    locations.reserve(sets.size());
    for (const Subset& set : sets) locations.push_back(groups[set.front()].location_text());
    return locations;
}

std::string reason_text(const Culprit& culprit, const Groups& groups) {
    const std::string effect = culprit.tells_nothing ? "is undecided (status 125)" : "fails";
    std::string text = culprit.partners.empty()
                           ? effect + " alone"
                           : effect + " together with " + listed(locations_of(culprit.partners, groups), 5);
    if (culprit.calls.last != 0)
        text +=
            fmt::format(", even with only {} of {}", calls_text(culprit.calls), groups[culprit.calls.group].calls);
    return text;
}

const Culprit& culprit_of(std::size_t group, const std::vector<Culprit>& culprits) {
    return *std::ranges::find_if(culprits, [group](const Culprit& one) { return contains(one.groups, group); });
}

std::string command_text(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return printable(text);
}

/// Returns the number of groups that first occurred after the first run.
std::uint64_t new_groups_in(const SearchResult& result) {
    std::uint64_t most = 0;
    for (const TestedSet& tested : result.state.tested()) most = std::max(most, tested.outcome.new_groups);
    return most;
}

std::string tried_text(const SearchResult& result) {
    std::uint64_t counts[3] = {};
    std::uint64_t flaky = 0;
    for (const TestedSet& tested : result.state.tested()) {
        ++counts[static_cast<std::size_t>(tested.outcome.verdict)];
        flaky += tested.outcome.is_flaky ? 1 : 0;
    }
    std::string text = fmt::format(
        "{} tried {}: {} acceptable, {} not acceptable, {} undecided.\n", counted(result.state.runs(), "run"),
        counted(result.state.tested().size(), "set") + " of groups", counts[0], counts[1], counts[2]);
    if (flaky > 0)
        text += fmt::format(
            "Flaky: equal runs gave different results for {}. A set counts as not acceptable if one of its runs "
            "fails.\n",
            counted(flaky, "set"));
    if (const std::uint64_t met = new_groups_in(result); met > 0)
        text += fmt::format(
            "Not in the first run: {} that a later run met. {} exact unless everything else was lowered.\n",
            counted(met, "group"), met == 1 ? "It stayed" : "They stayed");
    return text;
}

}  // namespace

std::string policy_of(const SearchResult& result) {
    const Groups& groups = result.groups;
    const LineTexts lines(groups, now_ns());
    const auto comment_on = [&](const Subset& set) {
        const Culprit& culprit = culprit_of(set.front(), result.culprits);
        const Group& group = groups[set.front()];
        const std::string text = lines.of(group);
        std::vector<std::string> comment = {group.location_text() + (text.empty() ? "" : ": " + text)};
        comment.push_back(fmt::format("{}, {} of the work; {}", product_text(set, groups),
                                      work_share_text(set, groups), reason_text(culprit, groups)));
        return comment;
    };
    return fmt::format(
               "# Found by fp32shim bisect {} for: {}\n"
               "# With these products exact and all others at {}, run {} was acceptable.\n\n",
               FP32SHIM_VERSION, command_text(result.command), result.settings.policy.precision, result.verified_by) +
           policy_lowering_all_but(groups, exact_groups(result.culprits), result.settings.policy, comment_on, &lines);
}

std::string text_of(const SearchResult& result) {
    const Groups& groups = result.groups;
    const std::string& precision = result.settings.policy.precision;
    if (result.culprits.empty())
        return fmt::format("The command already passes at {}, so nothing needs to stay exact ({}).\n", precision,
                           counted(groups.all().size(), "group"));
    const Subset exact = exact_groups(result.culprits);
    std::string text = fmt::format(
        "{} of {} must stay exact ({} of the work). All others may run at {}, as run {} showed.\n\n", exact.size(),
        counted(groups.all().size(), "group"), work_share_text(exact, groups), precision, result.verified_by);
    const LineTexts lines(groups, now_ns());
    Table table({{.title = "where", .shrinks_to = 24},
                 {.title = "product", .shrinks_to = 20},
                 {.title = "work", .is_number = true},
                 {.title = "reason", .shrinks_to = 11},
                 {.title = "line", .shrinks_to = 24}});
    for (const Culprit& culprit : result.culprits) {
        const Group& group = groups[culprit.groups.front()];
        table.add({group.location_text(), product_text(culprit.groups, groups),
                   work_share_text(culprit.groups, groups), reason_text(culprit, groups), lines.of(group)});
    }
    text += table.text() + '\n' + tried_text(result);
    return text + fmt::format("Policy: {}, for fp32shim run --policy {} -- {}\n", printable(result.policy_path),
                              printable(result.policy_path), command_text(result.command));
}

Json to_json(const SearchResult& result) {
    const Groups& groups = result.groups;
    const LineTexts lines(groups, now_ns());
    double work = 0;
    for (const Group& group : groups.all()) work += group.work;
    const auto share = [work](double part) { return work == 0 ? Json() : Json(part / work); };
    Json json = {{"schema", 1},
                 {"outcome", result.culprits.empty() ? "acceptable" : "found"},
                 {"command", result.command},
                 {"precision", result.settings.policy.precision},
                 {"cpu", text_or_null(result.settings.policy.cpu)},
                 {"runs", result.state.runs()},
                 {"verified_by", result.verified_by},
                 {"policy", text_or_null(result.policy_path)},
                 {"new_groups", new_groups_in(result)},
                 {"groups", Json::array()},
                 {"culprits", Json::array()},
                 {"tried", Json::array()}};
    for (const Group& group : groups.all()) {
        const GroupKey& key = group.key;
        const auto size = [](std::int64_t value) { return value < 0 ? Json() : Json(value); };
        json["groups"].push_back({{"where", group.where},
                                  {"call_site", key.location.is_call_site ? text_or_null(key.location.text) : Json()},
                                  {"scope", text_or_null(key.scope)},
                                  {"function", key.function},
                                  {"m", size(key.m)},
                                  {"n", size(key.n)},
                                  {"k", size(key.k)},
                                  {"batch", size(key.batch)},
                                  {"calls", group.calls},
                                  {"work_share", share(group.work)},
                                  {"file", text_or_null(group.file)},
                                  {"line", group.line == 0 ? Json() : Json(group.line)},
                                  {"text", text_or_null(lines.of(group))}});
    }
    const auto json_of_calls = [](const CallRange& calls) {
        return calls.last == 0 ? Json() : Json{{"first", calls.first}, {"last", calls.last}};
    };
    for (const Culprit& culprit : result.culprits)
        json["culprits"].push_back({{"groups", culprit.groups},
                                    {"calls", json_of_calls(culprit.calls)},
                                    {"work_share", share(groups.work_of(culprit.groups))},
                                    {"fails_with", culprit.partners},
                                    {"tells_nothing", culprit.tells_nothing}});
    for (const TestedSet& tested : result.state.tested())
        json["tried"].push_back({{"run", tested.outcome.last_run},
                                 {"lowered", to_string(tested.lowered)},
                                 {"groups", tested.set},
                                 {"calls", json_of_calls(tested.calls)},
                                 {"verdict", to_string(tested.outcome.verdict)},
                                 {"how", tested.outcome.how},
                                 {"is_flaky", tested.outcome.is_flaky}});
    return json;
}

}  // namespace fp32shim::cli
