#include "cli/product_groups/policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "cli/output/terminal.hpp"
#include "cli/recordings/location_text.hpp"
#include "cli/report/source_lines.hpp"
#include "policy/conditions.hpp"
#include "policy/words.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

/// A rule of a policy, before it is written as text.
struct PolicyRule {
    std::vector<std::string> scopes;  ///< scopes to which the rule applies; empty for any scope
    /// The globs for the locations to which the rule applies; empty for any location.
    std::vector<std::string> locations;
    std::string text;                        ///< glob for the source text of the line in `locations`; empty: any text
    bool are_call_sites = false;             ///< true if `locations` are call sites in compiled code
    std::vector<std::string> unless_scopes;  ///< inner scopes of `scopes` to which the rule does not apply
    const GroupKey* product = nullptr;       ///< function and sizes to which the rule applies; null for any product
    Subset groups;                           ///< known groups to which the rule applies
    /// The only calls of its group to which the rule applies; if its `last` is 0, the rule applies to all calls.
    CallRange calls;
};

/// Returns the text as a basic string of TOML. Control characters and others that a terminal may not show are written
/// as \uNNNN, because print() would turn them into \xNN, which is no escape of TOML.
std::string quoted_toml(std::string_view text) {
    std::string quoted = "\"";
    while (!text.empty()) {
        const system::Character character = system::first_character(text);
        const auto code = static_cast<std::uint32_t>(character.code);
        if (!character.is_utf8)
            quoted += system::utf8_replacement;
        else if (!character.is_plain)
            quoted += code <= 0xffff ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
        else
            quoted.append(text[0] == '"' || text[0] == '\\' ? "\\" : "").append(text.substr(0, character.length));
        text.remove_prefix(character.length);
    }
    return quoted + '"';
}

/// Returns an entry of TOML: `key = "glob"` for one glob, or `key = ["glob", "glob"]` for several.
std::string globs_entry(std::string_view key, const std::vector<std::string>& globs) {
    std::string list;
    for (const std::string& glob : globs) list += (list.empty() ? "" : ", ") + quoted_toml(glob);
    return globs.size() == 1 ? fmt::format("{} = {}", key, list) : fmt::format("{} = [{}]", key, list);
}

std::string texts_entry(std::string_view key, std::vector<std::string> texts) {
    for (std::string& text : texts) text = literal_glob(text);
    return globs_entry(key, texts);
}

/// Returns the TOML entry by which a rule selects a size; empty if the size is unknown. With `is_folded`, the size
/// was rounded up to a power of two, so the entry selects all sizes from above half of it up to it.
std::string size_entry(std::string_view key, std::int64_t size, bool is_folded) {
    if (size < 0) return {};
    if (is_folded && size > 1) return fmt::format(", {} = \">{} <={}\"", key, size / 2, size);
    return fmt::format(", {} = {}", key, size);
}

constexpr std::string_view float64_condition = R"(dtype = ["float64", "complex128"])";

/// Returns the precision word with which products of the given types run as they are called.
std::string_view exact_word(TriedTypes types) { return types == TriedTypes::float64 ? "fp64" : "highest"; }

/// Returns the rule for all products to which no earlier rule applies.
std::string last_rule(std::string_view precision, TriedTypes types) {
    std::string text = fmt::format("\n[[rule]]\nname = \"all others\"\nprecision = {}\n", quoted_toml(precision));
    return types == TriedTypes::float64 ? text + fmt::format("when = {{ {} }}\n", float64_condition) : text;
}

std::string conditions_text(const PolicyRule& rule, TriedTypes types) {
    std::string text;
    const auto add = [&text](const std::string& entry) { text += (text.empty() ? "" : ", ") + entry; };
    if (!rule.scopes.empty()) add(texts_entry("scope", rule.scopes));
    if (!rule.locations.empty()) add(globs_entry(rule.are_call_sites ? "call_site" : "where", rule.locations));
    if (!rule.text.empty()) add(globs_entry("text", {rule.text}));
    if (const GroupKey* product = rule.product) {
        add(texts_entry("function", {product->function}));
        text += size_entry("m", product->m, product->is_folded) + size_entry("n", product->n, product->is_folded) +
                size_entry("k", product->k, product->is_folded) +
                size_entry("batch", product->batch, product->is_folded);
    }
    if (types == TriedTypes::float64) add(std::string(float64_condition));
    if (rule.calls.last != 0) add(fmt::format("call_number = \">={} <={}\"", rule.calls.first, rule.calls.last));
    return text;
}

std::string rule_text(const PolicyRule& rule, std::string_view name, std::string_view precision, TriedTypes types) {
    std::string text = fmt::format("[[rule]]\nname = {}\nprecision = {}\nwhen = {{ {} }}\n", quoted_toml(name),
                                   quoted_toml(precision), conditions_text(rule, types));
    if (!rule.unless_scopes.empty())
        text += fmt::format("unless = {{ {} }}\n", texts_entry("scope", rule.unless_scopes));
    return text;
}

/// The forms in which a rule can name the location of a product, the broadest first: the function, the source text of
/// the line, or the exact location as it was recorded. The first two forms still match after an edit of the program.
enum class LocationForm : std::uint8_t { function, text, exact };

/// Returns a glob for a location's function: `train.py:* forward`, `libphysics.so!solve`; empty if the function is
/// unknown.
std::string function_glob(const GroupLocation& location) {
    if (!location.is_call_site) {
        const SplitLocation cut = split_location(location.text);
        return cut.file.empty() ? std::string()
                                : fmt::format("{}:*{}", literal_glob(cut.file), literal_glob(cut.rest));
    }
    return location.text.find('!') == std::string::npos ? std::string() : literal_glob(without_offset(location.text));
}

/// Finds rules that apply to the chosen groups and to no other known groups.
class PolicyRuleFinder {
  public:
    /// Prepares the rules. With `survives_edits`, rules that still match after an edit of the program are preferred;
    /// they may name source lines of `texts`, which may be null.
    PolicyRuleFinder(const GroupList& groups, const Subset& chosen, bool survives_edits, const SourceLineTexts* texts)
        : groups_(groups), chosen_(chosen) {
        for (std::size_t i = 0; i < groups.all().size(); ++i) {
            of_scope_[groups[i].key.scope].push_back(i);
            const GroupLocation& location = groups[i].key.location;
            globs_.push_back({survives_edits ? function_glob(location) : "",
                              survives_edits && texts != nullptr ? texts->glob_of(groups[i]) : "",
                              literal_glob(location.text)});
            for (const LocationForm form : forms)
                if (const LocationKey key = key_of(i, form); !std::get<2>(key).empty() || form == LocationForm::exact)
                    by_location_[key].push_back(i);
        }
    }

    /// Returns the rules. A rule names only locations if that is enough to select its groups. Otherwise it names the
    /// scope, or the location and the scope, or also the function and the sizes.
    std::vector<PolicyRule> rules() {
        std::vector<PolicyRule> rules;
        Subset rest = chosen_;
        while (!rest.empty()) {
            PolicyRule rule = broadest_rule(rest.front());
            rest = without(rest, rule.groups);
            rules.push_back(std::move(rule));
        }
        return rules;
    }

  private:
    static constexpr LocationForm forms[] = {LocationForm::function, LocationForm::text, LocationForm::exact};
    /// The key of a location: its form, whether it is a call site, its glob, and, only for the form `text`, the glob
    /// of the function.
    using LocationKey = std::tuple<LocationForm, bool, std::string, std::string>;
    struct LocationGlobs {
        std::string function, text, exact;
    };

    /// Returns the key of a group. Two groups have equal keys if a rule of this form cannot tell them apart.
    LocationKey key_of(std::size_t group, LocationForm form) const {
        const LocationGlobs& globs = globs_[group];
        const bool is_call_site = groups_[group].key.location.is_call_site;
        if (form == LocationForm::function) return {form, is_call_site, globs.function, {}};
        if (form == LocationForm::text) return {form, is_call_site, globs.text, globs.function};
        return {form, is_call_site, globs.exact, {}};
    }

    bool are_chosen(const Subset& set) const {
        return std::ranges::all_of(set, [this](std::size_t member) { return contains(chosen_, member); });
    }

    /// Returns those groups of `set` that are like `group`: with `with_scope` they must have its scope, and with
    /// `with_product` they must have its function and its sizes.
    Subset similar_groups(const Subset& set, std::size_t group, bool with_scope, bool with_product) const {
        const GroupKey& key = groups_[group].key;
        const auto product_of = [](const GroupKey& k) {
            return std::tie(k.function, k.m, k.n, k.k, k.batch, k.is_folded);
        };
        Subset result;
        std::ranges::copy_if(set, std::back_inserter(result), [&](std::size_t member) {
            const GroupKey& other = groups_[member].key;
            return (!with_scope || other.scope == key.scope) &&
                   (!with_product || product_of(other) == product_of(key));
        });
        return result;
    }

    /// Adds the location of `group` to `rule`, in the broadest form that matches only chosen groups. Returns false if
    /// there is no such form.
    bool name_location(std::size_t group, bool with_scope, bool with_product, PolicyRule& rule) const {
        for (const LocationForm form : forms) {
            const auto found = by_location_.find(key_of(group, form));
            if (found == by_location_.end()) continue;
            Subset members = similar_groups(found->second, group, with_scope, with_product);
            if (!are_chosen(members)) continue;
            const LocationGlobs& globs = globs_[group];
            rule.locations = {form == LocationForm::function ? globs.function : globs.exact};
            if (form == LocationForm::text) rule.text = globs.text;
            rule.groups = std::move(members);
            return true;
        }
        return false;
    }

    PolicyRule broadest_rule(std::size_t group) {
        const GroupKey& key = groups_[group].key;
        PolicyRule rule;
        rule.are_call_sites = key.location.is_call_site;
        if (name_location(group, false, false, rule)) return rule;
        const Subset& at_location = by_location_.at(key_of(group, LocationForm::exact));
        const bool names_scope = similar_groups(at_location, group, true, false).size() < at_location.size();
        if (names_scope) name_scope(key.scope, rule);
        if (names_scope && are_chosen(of_scope_[key.scope])) {
            rule.groups = of_scope_[key.scope];
            return rule;
        }
        if (name_location(group, names_scope, false, rule)) return rule;
        rule.product = &key;
        name_location(group, names_scope, true, rule);
        return rule;
    }

    /// Adds a scope to a rule. A condition on a scope also holds within its inner scopes, so the inner scopes that
    /// are not chosen are excluded.
    void name_scope(const std::string& scope, PolicyRule& rule) const {
        rule.scopes = {scope};
        for (const auto& [other, members] : of_scope_)
            if (other != scope && policy::matches_scope({literal_glob(scope)}, other) && !are_chosen(members))
                rule.unless_scopes.push_back(other);
    }

    const GroupList& groups_;
    const Subset& chosen_;
    std::vector<LocationGlobs> globs_;  ///< globs by index of the group
    std::map<LocationKey, Subset> by_location_;
    std::map<std::string, Subset> of_scope_;
};

/// Merges rules that differ only in their locations or only in their scopes, since a policy may have at most 1000
/// rules.
std::vector<PolicyRule> merged_rules(const std::vector<PolicyRule>& rules) {
    using Key =
        std::tuple<std::vector<std::string>, std::string, bool, bool, std::vector<std::string>, const GroupKey*>;
    std::map<Key, std::size_t> known;
    std::vector<PolicyRule> result;
    for (const PolicyRule& rule : rules) {
        const bool has_locations = !rule.locations.empty();
        const bool is_scope_only = !has_locations && rule.unless_scopes.empty();
        const Key key = {is_scope_only ? std::vector<std::string>() : rule.scopes,
                         rule.text,
                         has_locations,
                         rule.are_call_sites && has_locations,
                         rule.unless_scopes,
                         rule.product};
        const auto [entry, is_new] = known.try_emplace(key, result.size());
        if (is_new) {
            result.push_back(rule);
            continue;
        }
        PolicyRule& earlier = result[entry->second];
        earlier.locations.insert(earlier.locations.end(), rule.locations.begin(), rule.locations.end());
        if (is_scope_only) earlier.scopes.insert(earlier.scopes.end(), rule.scopes.begin(), rule.scopes.end());
    }
    return result;
}

/// Returns the beginning of a policy. If `is_for_users` is true and the policy makes a CPU imitate the lower formats
/// of a GPU, a comment in the policy says so.
std::string policy_head(std::string_view default_precision, const PolicySettings& settings, bool is_for_users) {
    if (settings.types == TriedTypes::float64) default_precision = "native";
    std::string text = fmt::format("schema = 1\nname = {}\ndefault = {}\n", quoted_toml(settings.name),
                                   quoted_toml(default_precision));
    if (is_for_users && policy::parse_word(policy::cpu_mode_words, settings.cpu) == policy::CpuMode::emulate)
        text += "\n# The preview on a CPU, without effect on products of GPUs: delete this table for normal runs.";
    if (!settings.cpu.empty() || settings.seed) text += "\n[cpu]\n";
    if (!settings.cpu.empty()) text += fmt::format("mode = {}\n", quoted_toml(settings.cpu));
    if (settings.seed) text += fmt::format("stochastic_seed = {}\n", *settings.seed);
    return text;
}

}  // namespace

SourceLineTexts::SourceLineTexts(const GroupList& groups, std::int64_t recorded_ns) {
    SourceLineReader lines;
    for (const ProductGroup& group : groups.all())
        if (group.line != 0) lines.add_wanted_line(group.file, group.line);
    files_ = lines.read_wanted_lines(recorded_ns);
}

std::string SourceLineTexts::text_of(const ProductGroup& group) const {
    const auto file = files_.find(group.file);
    if (file == files_.end() || !file->contains("lines")) return {};
    return file->at("lines").value(std::to_string(group.line), "");
}

std::string SourceLineTexts::glob_of(const ProductGroup& group) const {
    const auto file = files_.find(group.file);
    if (group.key.location.is_call_site || file == files_.end() || file->contains("changed")) return {};
    std::string text = text_of(group);
    constexpr std::string_view cut = "…";  // end of a shortened line, whose remaining text is unknown
    const bool is_cut = text.ends_with(cut);
    if (is_cut) text.resize(text.size() - cut.size());
    return text.empty() ? text : literal_glob(text) + (is_cut ? "*" : "");
}

std::string literal_glob(std::string_view text) {
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

std::string policy_lowering_only(const GroupList& groups, const Subset& lowered, const PolicySettings& settings,
                                 const CallRange& calls) {
    std::string text = policy_head("highest", settings, false);
    std::size_t number = 0;
    const Subset limited = calls.last == 0 ? Subset() : Subset{calls.group};
    const Subset whole = without(lowered, limited);
    std::vector<PolicyRule> rules = merged_rules(PolicyRuleFinder(groups, whole, false, nullptr).rules());
    for (PolicyRule& rule : PolicyRuleFinder(groups, limited, false, nullptr).rules()) {
        rule.calls = calls;
        rules.push_back(std::move(rule));
    }
    for (const PolicyRule& rule : rules)
        text += '\n' + rule_text(rule, fmt::format("lowered {}", ++number), settings.precision, settings.types);
    return text + last_rule(exact_word(settings.types), settings.types);
}

std::string policy_assigning(const GroupList& groups, const std::vector<PrecisionAssignment>& assigned,
                             const PolicySettings& settings, const CommentOn& comment_on,
                             const SourceLineTexts* texts) {
    const bool is_default = settings.types == TriedTypes::float32 &&
                            policy::parse_word(policy::default_precision_words, settings.precision).has_value();
    std::string text = policy_head(is_default ? settings.precision : "highest", settings, comment_on != nullptr);
    std::string rules_text;
    bool names_scopes = false;
    std::size_t number = 0;
    for (const PrecisionAssignment& part : assigned) {
        // A policy may have at most 1000 rules. Many rules are merged, and then get no comments.
        constexpr std::size_t most_with_comments = 900;
        std::vector<PolicyRule> rules = PolicyRuleFinder(groups, part.groups, true, texts).rules();
        const bool has_comments = comment_on && rules.size() <= most_with_comments;
        if (!has_comments) rules = merged_rules(rules);
        for (const PolicyRule& rule : rules) {
            names_scopes = names_scopes || !rule.scopes.empty();
            rules_text += '\n';
            if (has_comments)
                for (const std::string& line : comment_on(rule.groups))
                    rules_text += fmt::format("# {}\n", printable(line));
            rules_text +=
                rule_text(rule, fmt::format("{} {}", settings.name, ++number), part.precision, settings.types);
        }
    }
    if (names_scopes)
        text +=
            "\n# The scopes in rules come from here; those of torch also need fp32shim run.\n"
            "[log]\nwhere = [\"python\", \"nvtx\", \"torch\"]\n";
    text += rules_text;
    if (is_default) return text;
    return text + last_rule(settings.precision, settings.types);
}

std::string policy_lowering_all_but(const GroupList& groups, const Subset& exact, const PolicySettings& settings,
                                    const CommentOn& comment_on, const SourceLineTexts* texts) {
    return policy_assigning(groups, {{exact, std::string(exact_word(settings.types))}}, settings, comment_on, texts);
}

}  // namespace fp32shim::cli
