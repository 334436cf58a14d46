#include "cli/product_groups/policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "cli/output/terminal.hpp"
#include "policy/conditions.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

/// A rule of a policy to write.
struct Rule {
    std::vector<std::string> scopes;         ///< empty: any
    std::vector<std::string> places;         ///< empty: any
    bool are_call_sites = false;             ///< `places` are calling places
    std::vector<std::string> unless_scopes;  ///< scopes within one of `scopes` that the rule is not about
    const GroupKey* product = nullptr;       ///< function and sizes; nullptr: any
    Subset groups;                           ///< known groups that the rule is about
    CallRange calls;                         ///< of the one group, the calls that the rule is about
};

std::string quoted_toml(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

/// Returns `key = "glob"` or `key = ["glob", "glob"]`.
std::string globs_entry(std::string_view key, const std::vector<std::string>& texts) {
    std::string list;
    for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + quoted_toml(glob_for(text));
    return texts.size() == 1 ? fmt::format("{} = {}", key, list) : fmt::format("{} = [{}]", key, list);
}

/// Returns the entry for a size; empty if the size is not known. Folded sizes stand for those above half of them.
std::string size_entry(std::string_view key, std::int64_t size, bool is_folded) {
    if (size < 0) return {};
    if (is_folded && size > 1) return fmt::format(", {} = \">{} <={}\"", key, size / 2, size);
    return fmt::format(", {} = {}", key, size);
}

std::string conditions_text(const Rule& rule) {
    std::string text;
    const auto add = [&text](const std::string& entry) { text += (text.empty() ? "" : ", ") + entry; };
    if (!rule.scopes.empty()) add(globs_entry("scope", rule.scopes));
    if (!rule.places.empty()) add(globs_entry(rule.are_call_sites ? "call_site" : "where", rule.places));
    if (const GroupKey* product = rule.product) {
        add(globs_entry("function", {product->function}));
        text += size_entry("m", product->m, product->is_folded) + size_entry("n", product->n, product->is_folded) +
                size_entry("k", product->k, product->is_folded) +
                size_entry("batch", product->batch, product->is_folded);
    }
    if (rule.calls.last != 0) add(fmt::format("call_number = \">={} <={}\"", rule.calls.first, rule.calls.last));
    return text;
}

std::string rule_text(const Rule& rule, std::string_view name, std::string_view precision) {
    std::string text = fmt::format("[[rule]]\nname = {}\nprecision = {}\nwhen = {{ {} }}\n", quoted_toml(name),
                                   quoted_toml(precision), conditions_text(rule));
    if (!rule.unless_scopes.empty())
        text += fmt::format("unless = {{ {} }}\n", globs_entry("scope", rule.unless_scopes));
    return text;
}

/// Finds the rules that name some groups, and no other known ones.
class RuleFinder {
  public:
    RuleFinder(const Groups& groups, const Subset& chosen) : groups_(groups), chosen_(chosen) {
        for (std::size_t i = 0; i < groups.all().size(); ++i) {
            const GroupKey& key = groups[i].key;
            of_place_[key.place].push_back(i);
            of_scope_[key.scope].push_back(i);
            of_both_[{key.scope, key.place}].push_back(i);
        }
    }

    /// Returns rules by place where they do, else by scope, else by both, else also by function and sizes.
    std::vector<Rule> rules() {
        std::vector<Rule> rules;
        Subset rest = chosen_;
        while (!rest.empty()) {
            Rule rule = broadest_rule(rest.front());
            rest = without(rest, rule.groups);
            rules.push_back(std::move(rule));
        }
        return rules;
    }

  private:
    bool are_chosen(const Subset& set) const {
        return std::ranges::all_of(set, [this](std::size_t member) { return contains(chosen_, member); });
    }

    Rule broadest_rule(std::size_t group) {
        const GroupKey& key = groups_[group].key;
        Rule rule;
        rule.are_call_sites = key.place.is_call_site;
        const Subset& at_place = of_place_[key.place];
        const Subset& in_both = of_both_[{key.scope, key.place}];
        if (are_chosen(at_place)) {
            rule.places = {key.place.text};
            rule.groups = at_place;
            return rule;
        }
        const bool names_scope = in_both.size() < at_place.size();
        if (names_scope) name_scope(key.scope, rule);
        if (names_scope && are_chosen(of_scope_[key.scope])) {
            rule.groups = of_scope_[key.scope];
            return rule;
        }
        rule.places = {key.place.text};
        rule.groups = in_both;
        if (!are_chosen(in_both)) {
            rule.product = &key;
            rule.groups = {group};
        }
        return rule;
    }

    /// Has a rule ask for a scope. A condition on a scope also holds within its inner scopes, so that those of them
    /// that are not chosen are excepted.
    void name_scope(const std::string& scope, Rule& rule) const {
        rule.scopes = {scope};
        for (const auto& [other, members] : of_scope_) {
            if (other != scope && policy::any_scope({glob_for(scope)}, other) && !are_chosen(members))
                rule.unless_scopes.push_back(other);
        }
    }

    const Groups& groups_;
    const Subset& chosen_;
    std::map<GroupPlace, Subset> of_place_;
    std::map<std::string, Subset> of_scope_;
    std::map<std::pair<std::string, GroupPlace>, Subset> of_both_;
};

/// Merges rules that differ in their places or in their scopes only: a policy has at most 1000.
std::vector<Rule> merged(const std::vector<Rule>& rules) {
    using Key = std::tuple<std::vector<std::string>, bool, bool, std::vector<std::string>, const GroupKey*>;
    std::map<Key, std::size_t> known;
    std::vector<Rule> result;
    for (const Rule& rule : rules) {
        const bool has_places = !rule.places.empty();
        const bool is_scope_only = !has_places && rule.unless_scopes.empty();
        const Key key = {is_scope_only ? std::vector<std::string>() : rule.scopes, has_places,
                         rule.are_call_sites && has_places, rule.unless_scopes, rule.product};
        const auto [entry, is_new] = known.try_emplace(key, result.size());
        if (is_new) {
            result.push_back(rule);
            continue;
        }
        Rule& earlier = result[entry->second];
        earlier.places.insert(earlier.places.end(), rule.places.begin(), rule.places.end());
        if (is_scope_only) earlier.scopes.insert(earlier.scopes.end(), rule.scopes.begin(), rule.scopes.end());
    }
    return result;
}

std::string head(std::string_view default_precision, const PolicySettings& settings) {
    std::string text = fmt::format("schema = 1\nname = {}\ndefault = {}\n", quoted_toml(settings.name),
                                   quoted_toml(default_precision));
    if (!settings.cpu.empty()) text += fmt::format("\n[cpu]\nmode = {}\n", quoted_toml(settings.cpu));
    return text;
}

}  // namespace

std::string glob_for(std::string_view text) {
    const bool is_utf8 = system::with_valid_utf8(text) == text;
    std::string glob;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f || (!is_utf8 && byte >= 0x80))
            glob += '?';
        else if (c == '*' || c == '?' || c == '[')
            glob += fmt::format("[{}]", c);
        else
            glob += c;
    }
    return glob;
}

std::string policy_lowering_only(const Groups& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls) {
    std::string text = head("highest", settings);
    std::size_t number = 0;
    const Subset limited = calls.last == 0 ? Subset() : Subset{calls.group};
    const Subset whole = without(lowered, limited);
    std::vector<Rule> rules = merged(RuleFinder(groups, whole).rules());
    for (Rule& rule : RuleFinder(groups, limited).rules()) {
        rule.calls = calls;
        rules.push_back(std::move(rule));
    }
    for (const Rule& rule : rules)
        text += '\n' + rule_text(rule, fmt::format("lowered {}", ++number), settings.precision);
    return text + "\n[[rule]]\nname = \"all others\"\nprecision = \"highest\"\n";
}

std::string policy_lowering_all_but(const Groups& groups, const Subset& exact, const PolicySettings& settings,
                                    const CommentOn& comment_on) {
    const std::vector<Rule> rules = RuleFinder(groups, exact).rules();
    std::string text = head(settings.precision, settings);
    if (std::ranges::any_of(rules, [](const Rule& rule) { return !rule.scopes.empty(); }))
        text +=
            "\n# The scopes in rules come from here; those of torch also need fp32shim run.\n"
            "[log]\nwhere = [\"python\", \"nvtx\", \"itt\", \"torch\"]\n";
    std::size_t number = 0;
    for (const Rule& rule : rules) {
        text += '\n';
        if (comment_on) {
            for (const std::string& line : comment_on(rule.groups)) text += fmt::format("# {}\n", printable(line));
        }
        text += rule_text(rule, fmt::format("{} {}", settings.name, ++number), "highest");
    }
    return text;
}

}  // namespace fp32shim::cli
