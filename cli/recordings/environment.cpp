#include "cli/recordings/environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

using record::EnvironmentFact;

/// Returns a fact in words, such as `2 or 4 threads`.
std::string fact_text(EnvironmentFact fact, const std::set<std::string>& values) {
    const std::string text = fmt::format("{}", fmt::join(values, " or "));
    const std::string_view plural = text == "1" ? "" : "s";
    switch (fact) {
        case EnvironmentFact::cpus:
            return fmt::format("{} CPU{}", text, plural);
        case EnvironmentFact::python:
            return "Python " + text;
        case EnvironmentFact::torch:
            return "torch " + text;
        case EnvironmentFact::driver:
            return "NVIDIA driver " + text;
        case EnvironmentFact::kernel:
            return "kernel " + text;
        case EnvironmentFact::threads:
            return fmt::format("{} thread{}", text, plural);
        case EnvironmentFact::features:
            return text == "none" ? "no instructions for BF16 or FP16" : "with " + text;
        case EnvironmentFact::amx:
            return fmt::format("AMX {} at its end", text);
        default:
            return text;
    }
}

}  // namespace

void EnvironmentFacts::add(const std::vector<record::RecordedEnvironmentFact>& facts) {
    for (const record::RecordedEnvironmentFact& fact : facts)
        facts_by_subject_[fact.subject][fact.fact].insert(fact.value);
}

const EnvironmentFacts::Values& EnvironmentFacts::values_about(std::string_view subject) const {
    static const Values none;
    const auto found = facts_by_subject_.find(subject);
    return found == facts_by_subject_.end() ? none : found->second;
}

std::string EnvironmentFacts::library_identity(std::string_view library) const {
    const Values& values = values_about(library);
    for (const EnvironmentFact fact : {EnvironmentFact::version, EnvironmentFact::file})
        if (const auto found = values.find(fact); found != values.end()) return fact_text(fact, found->second);
    return {};
}

std::set<std::string> EnvironmentFacts::names_of_gpu(std::int32_t device) const {
    const Values& values = values_about("cuda:" + std::to_string(device));
    const auto found = values.find(EnvironmentFact::gpu);
    return found == values.end() ? std::set<std::string>() : found->second;
}

/// Returns the values of facts as text. Without `with_files`, the text names a library's file only if no other fact
/// tells which library it is.
std::string EnvironmentFacts::text_of(const Values& values, bool with_files) {
    std::vector<std::string> texts;
    std::string file;
    for (const auto& [fact, all] : values)
        if (fact == EnvironmentFact::file)
            file = fact_text(fact, all);
        else
            texts.push_back(fact_text(fact, all));
    if (!file.empty() && (with_files || !values.contains(EnvironmentFact::version))) texts.push_back(file);
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::string> EnvironmentFacts::text_lines() const {
    std::vector<std::string> lines;
    for (const auto& [subject, values] : facts_by_subject_)
        lines.push_back(subject + (subject.empty() ? "" : ": ") + text_of(values, true));
    return lines;
}

std::string EnvironmentFacts::process_difference_text(const Values& a, const Values& b) {
    const auto text = [](const Values& values, EnvironmentFact fact) {
        const auto found = values.find(fact);
        return found == values.end() ? std::string("none") : fact_text(fact, found->second);
    };
    Values facts = a;
    facts.insert(b.begin(), b.end());
    std::vector<std::string> texts;
    for (const auto& [fact, values] : facts) {
        // Recordings of older versions have no features. Whether a process was permitted to use AMX is found out when
        // it ends, so recordings of killed processes do not tell it.
        const bool may_be_unknown = fact == EnvironmentFact::features || fact == EnvironmentFact::amx;
        if (may_be_unknown && !(a.contains(fact) && b.contains(fact))) continue;
        if (text(a, fact) != text(b, fact)) texts.push_back(fmt::format("{} -> {}", text(a, fact), text(b, fact)));
    }
    return fmt::format("{}", fmt::join(texts, "; "));
}

std::string environment_difference_text(const EnvironmentFacts& a, const EnvironmentFacts& b) {
    auto subjects = a.facts_by_subject_;
    subjects.insert(b.facts_by_subject_.begin(), b.facts_by_subject_.end());
    std::vector<std::string> texts;
    for (const auto& [subject, values] : subjects) {
        const EnvironmentFacts::Values &in_a = a.values_about(subject), &in_b = b.values_about(subject);
        if (in_a == in_b) continue;
        if (subject.empty()) {
            if (std::string text = EnvironmentFacts::process_difference_text(in_a, in_b); !text.empty())
                texts.push_back(std::move(text));
            continue;
        }
        const bool needs_files = EnvironmentFacts::text_of(in_a, false) == EnvironmentFacts::text_of(in_b, false);
        const std::string absent = subject == "fp32shim" ? "not noted" : "not used";
        const auto text = [&](const EnvironmentFacts::Values& side) {
            return side.empty() ? absent : EnvironmentFacts::text_of(side, needs_files);
        };
        texts.push_back(fmt::format("{}: {} -> {}", subject, text(in_a), text(in_b)));
    }
    return fmt::format("{}", fmt::join(texts, "; "));
}

Json environment_json(const EnvironmentFacts& environment) {
    if (environment.is_empty()) return {};
    Json json = {{"libraries", Json::array()}, {"devices", Json::array()}};
    const auto word = [](EnvironmentFact fact) {
        return std::string(record::environment_words[static_cast<std::size_t>(fact)]);
    };
    const auto add_facts = [&](Json& object, const EnvironmentFacts::Values& values, EnvironmentFact first,
                               EnvironmentFact last) {
        for (auto fact = first; fact <= last; fact = static_cast<EnvironmentFact>(static_cast<int>(fact) + 1)) {
            const auto found = values.find(fact);
            object[word(fact)] =
                found == values.end() ? Json() : Json(fmt::format("{}", fmt::join(found->second, " or ")));
        }
    };
    const EnvironmentFacts::Values& facts = environment.values_about("");
    add_facts(json, facts, EnvironmentFact::processor, EnvironmentFact::driver);
    add_facts(json, facts, EnvironmentFact::features, EnvironmentFact::amx);
    for (const auto& [subject, values] : environment.facts_by_subject_) {
        if (subject.empty()) continue;
        const bool is_device = values.contains(EnvironmentFact::gpu);
        Json object = {{"name", subject}};
        if (is_device)
            add_facts(object, values, EnvironmentFact::gpu, EnvironmentFact::gpu);
        else
            add_facts(object, values, EnvironmentFact::file, EnvironmentFact::threads);
        json[is_device ? "devices" : "libraries"].push_back(std::move(object));
    }
    return json;
}

}  // namespace fp32shim::cli
