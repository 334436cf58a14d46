#include "gpu_check/checks/judge.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "gpu_check/workers/ask.hpp"

namespace gpu {
namespace {

/// The verdict and the text of a line. Functions that judge a line throw a Judgement if a finding is missing.
struct Judgement {
    Verdict verdict;
    std::string text;
};

/// The evidence for one line of the verdict: the line's name, the findings of its section, and facts about the
/// machine.
struct Evidence {
    const std::string& name;
    const FindingMap& findings;
    const JudgementFacts& facts;

    /// If one of `variants` was not measured, throws a Judgement with the failure of that variant.
    void need_variants(std::initializer_list<const char*> variants) const {
        for (const char* variant : variants) {
            const auto& failures = findings.values_of(std::string(variant) + "/failure");
            if (failures.empty()) continue;
            throw Judgement{failures.front() == no_time_left ? Verdict::not_tried : Verdict::failed,
                            std::string(variant) + ": " + failures.front()};
        }
    }
    /// Throws a Judgement if a variant has no finding of this name. The reason in it is the variant's failure, if
    /// there is one.
    void need_finding(const std::string& variant, const std::string& finding) const {
        if (!findings.values_of(variant + "/" + finding).empty()) return;
        need_variants({variant.c_str()});
        throw Judgement{Verdict::failed, variant + ": " + not_measured};
    }
    void need_decisions(const std::string& variant) const {
        if (findings.values_of(variant + "/decided").empty())
            throw Judgement{Verdict::not_tried, "no product shows that the library is loaded here"};
    }
    std::string lowest_format(const std::string& variant, const std::string& finding) const {
        return findings.lowest_format(variant + "/" + finding);
    }
    std::string joined_values(const std::string& variant, const std::string& finding) const {
        return findings.joined_values(variant + "/" + finding);
    }
};

bool is_lower(const std::string& left, const std::string& right) {
    return left != right && less_precise_format(left, right) == left;
}

// ---- The section `product`

Judgement judge_loading(const Evidence& evidence) {
    try {
        evidence.need_finding("high", "decided");
    } catch (const Judgement& why) {
        if (why.text.ends_with(nothing_recorded))
            return {Verdict::wrong, "it was preloaded, but recorded no product"};
        if (why.text.find(not_preloaded) != std::string::npos) return {Verdict::wrong, why.text};
        throw;
    }
    return {Verdict::shown, "loaded; it decides and records: cublasSgemm at high is " +
                                evidence.findings.values_of("high/decided").front()};
}

Judgement judge_unconfigured(const Evidence& evidence) {
    evidence.need_variants({"native", "preloaded"});
    for (const char* variant : {"native", "preloaded"}) evidence.need_finding(variant, "bits");
    const std::string without = evidence.joined_values("native", "bits");
    const std::string with = evidence.joined_values("preloaded", "bits");
    const std::string format = evidence.lowest_format("native", "format");
    if (format != "fp32")
        return {Verdict::wrong, "a program that asks for nothing gets " + format + " even without the library"};
    evidence.need_decisions("high");
    if (without == with) return {Verdict::shown, "unconfigured, the library changes no bit: fp32, " + with};
    return {Verdict::wrong, "the library changes bits: " + without + " without it, " + with + " with it"};
}

/// Returns the reason for the decision about the product at the precision `word`, in brackets. Returns an empty text
/// if the product was decided as requested.
std::string reason_of(const Evidence& evidence, const std::string& word) {
    const std::string reason = evidence.joined_values(word, "reason");
    return reason == not_measured ? "" : " (" + reason + ")";
}

/// Returns true if a product is more accurate than was decided, but still below FP32. This is no fault: the compute
/// types FAST_16BF and FAST_16F also permit TF32. If the product is FP32, the decision had no effect, which is a
/// fault.
bool is_more_accurate(const std::string& format, const std::string& decided) {
    return format == "tf32" && is_format_name(decided) && is_lower(decided, format);
}

/// Returns a description of the fault in the product at the precision `word`; empty if there is no fault. `expected`
/// is the format that the shim had to decide; empty if any format is right. A product in BF16x9 is as accurate as
/// FP32.
std::string fault_of(const Evidence& evidence, const std::string& word, const std::string& expected) {
    const std::string format = evidence.lowest_format(word, "format");
    const std::string decided = evidence.joined_values(word, "decided");
    if (!expected.empty() && decided != expected)
        return word + " was decided as " + decided + reason_of(evidence, word) + ", not " + expected;
    if (format == (decided == "bf16x9" ? "fp32" : decided) || is_more_accurate(format, decided)) return {};
    return word + ": decided " + decided + ", measured " + format;
}

bool is_refusal(const std::string& answer) { return !is_format_name(answer) && answer != "wrong"; }

Judgement judge_precision(const Evidence& evidence) {
    const std::string& word = evidence.name;
    evidence.need_variants({word.c_str()});
    evidence.need_finding(word, "format");
    const std::string format = evidence.lowest_format(word, "format");
    const std::string decided = evidence.joined_values(word, "decided");
    if (is_refusal(format)) return {Verdict::failed, "the product was refused: " + format};
    // The variants of this section set no floor, so a floor can only come from this machine's policy.
    if (evidence.joined_values(word, "reason") == "floor" && fault_of(evidence, word, "").empty())
        return {Verdict::measured, "decided " + decided + ", measured " + format +
                                       ": this machine's own policy, /etc/fp32shim/policy.toml, has a floor"};
    const char* const lowered = word == "high" ? "tf32" : "bf16";
    const std::string fault =
        fault_of(evidence, word, word == "highest" || !evidence.facts.has_tf32() ? "fp32" : lowered);
    if (!fault.empty()) return {Verdict::wrong, fault};
    std::string text = "decided " + decided + ", measured " + format + reason_of(evidence, word) + ", error " +
                       evidence.joined_values(word, "error");
    if (is_more_accurate(format, decided))
        text += ": " + decided + " permits " + format + ", and this cuBLAS used it";
    return {Verdict::shown, text};
}

Judgement judge_other_precisions(const Evidence& evidence) {
    const std::initializer_list<const char*> words = {
#define RULE_PRECISION(number, name, format) #name,
#define FLOAT64_RULE_PRECISION(...)  // left out, because the product is of float32
#include "policy/formats.def"
    };
    evidence.need_variants(words);
    std::vector<std::string> outcomes;
    bool is_each_as_decided = true;
    for (const char* word : words) {
        evidence.need_finding(word, "format");
        const std::string format = evidence.lowest_format(word, "format");
        if (is_refusal(format)) return {Verdict::failed, std::string(word) + ": the product was refused: " + format};
        const std::string fault = fault_of(evidence, word, "");
        if (!fault.empty()) return {Verdict::wrong, fault};
        const std::string decided = evidence.joined_values(word, "decided");
        outcomes.push_back(std::string(word) + ": " + decided);
        if (is_more_accurate(format, decided)) {
            outcomes.back() += ", which permits " + format;
            is_each_as_decided = false;
        }
    }
    return {Verdict::shown,
            (is_each_as_decided ? "each measured as decided: " : "each measured as decided, or as it permits: ") +
                joined(outcomes, ", ")};
}

// ---- The section `opt_ins`

/// A line of the verdict about a floor. `names` are the findings of products that request less than FP32.
struct FloorCheck {
    const char* line;
    const char* what;
    std::vector<const char*> names;
    const char* without = "native";  // name of the variant without a floor
    const char* with = "floor";
};
const FloorCheck opt_ins[] = {
    {"floor: math mode", "math modes", {"mode_tf32", "mode_tensor_op"}},
    {"floor: compute type", "compute types", {"fast_tf32", "fast_16bf", "fast_16f"}},
    {"floor: algorithm", "algorithm 99", {"algorithm_99"}},
    {"floor: override",
     "NVIDIA_TF32_OVERRIDE=1",
     {"nothing", "mode_tf32", "fast_tf32", "pedantic", "lt_fast_tf32"},
     "override",
     "override and floor"},
    {"floor: cublasLt", "cublasLt's compute type", {"lt_fast_tf32"}},
};

/// Returns true if `answer` means that this cuBLAS or this device does not offer the product.
bool is_unavailable(const std::string& answer) {
    constexpr const char* words[] = {"absent", "NOT_SUPPORTED", "INVALID_VALUE", "ARCH_MISMATCH"};
    return std::ranges::find(words, answer) != std::end(words);
}

Judgement judge_floor(const Evidence& evidence) {
    const FloorCheck& group = *std::ranges::find(opt_ins, evidence.name, &FloorCheck::line);
    for (const char* name : group.names)
        for (const char* variant : {group.without, group.with}) evidence.need_finding(variant, name);
    std::vector<std::string> winning, refused, lowered;
    int held_up = 0;
    for (const char* name : group.names) {
        const std::string native = evidence.lowest_format(group.without, name);
        const std::string held = evidence.lowest_format(group.with, name);
        if (held == native && is_unavailable(native)) continue;
        if (is_lower(native, "fp32") && is_format_name(native)) lowered.push_back(std::string(name) + " " + native);
        if (held == "fp32")
            ++held_up;
        else
            (is_refusal(held) ? refused : winning).push_back(std::string(name) + " " + held);
    }
    const std::string what = group.what;
    if (!winning.empty())
        return {Verdict::wrong, what + (group.names.size() == 1 ? " goes" : " go") +
                                    " below a floor of fp32: " + joined(winning, ", ")};
    if (!refused.empty()) return {Verdict::failed, "refused under a floor: " + joined(refused, ", ")};
    if (lowered.empty())
        return {Verdict::measured,
                what + (held_up == 0 ? ": this cuBLAS refuses them"
                                     : ": fp32 under a floor, and without it too, so this proves nothing")};
    const std::string count = std::to_string(held_up);
    return {Verdict::shown, count + " of " + count + " fp32 under a floor; without it " + joined(lowered, ", ")};
}

// ---- The section `float64_rules`

constexpr const char* emulated_format = "fp64_emulated";

/// Returns the names of the float64 products that were measured.
std::vector<std::string> products_of(const FindingMap& findings) {
    constexpr std::string_view begin = "native/", end = "_bits";
    std::vector<std::string> names;
    for (const auto& [name, values] : findings.values_by_name())
        if (name.starts_with(begin) && name.ends_with(end))
            names.push_back(name.substr(begin.size(), name.size() - begin.size() - end.size()));
    return names;
}

Judgement judge_float64_as_called(const Evidence& evidence) {
    evidence.need_variants({"native", "recorded"});
    evidence.need_decisions("recorded");
    std::vector<std::string> changed;
    const auto names = products_of(evidence.findings);
    for (const std::string& each : names)
        if (evidence.joined_values("native", each + "_bits") != evidence.joined_values("recorded", each + "_bits"))
            changed.push_back(each);
    if (!changed.empty()) return {Verdict::wrong, "the library changes bits of " + joined(changed, ", ")};
    if (const std::string format = evidence.lowest_format("native", "dgemm"); format != "fp64")
        return {Verdict::wrong, "a program that asks for nothing gets " + format + " even without the library"};
    return {Verdict::shown, "recorded, the library changes no bit of " + std::to_string(names.size()) + " products"};
}

Judgement judge_float64_pin(const Evidence& evidence) {
    evidence.need_variants({"native", "environment", "fp64", "environment, fp64"});
    std::vector<std::string> winning, refused, lowered;
    for (const auto& [without, with] : {std::pair{"native", "fp64"}, {"environment", "environment, fp64"}}) {
        evidence.need_decisions(with);
        for (const std::string& each : products_of(evidence.findings)) {
            const std::string before = evidence.lowest_format(without, each);
            const std::string held = evidence.lowest_format(with, each);
            if (held == before && is_unavailable(before)) continue;
            if (before == emulated_format) lowered.push_back(each);
            if (held != "fp64")
                (held == emulated_format || held == "wrong" ? winning : refused)
                    .push_back(std::string(with) + "/" + each + " " + held);
        }
    }
    if (!winning.empty()) return {Verdict::wrong, "under a rule of fp64: " + joined(winning, ", ")};
    if (!refused.empty()) return {Verdict::failed, "refused under a rule of fp64: " + joined(refused, ", ")};
    if (lowered.empty()) return {Verdict::measured, "fp64 under a rule, and without it too, so this proves nothing"};
    return {Verdict::shown, "none is emulated under a rule; without it, " + std::to_string(lowered.size()) +
                                " were: " + joined(lowered, ", ")};
}

Judgement judge_float64_emulation(const Evidence& evidence) {
    evidence.need_variants({"native", emulated_format});
    evidence.need_decisions(emulated_format);
    if (evidence.facts.has_site_floor) return {Verdict::measured, "the floor of this machine's policy forbids it"};
    if (evidence.joined_values(emulated_format, "reason").find("fp64_emulation_unavailable") != std::string::npos)
        return {Verdict::measured, "this GPU or this cuBLAS has no emulated FP64"};
    std::vector<std::string> kept, pedantic;
    for (const char* each : {"dgemm", "ex_64f", "lt_64f"})
        if (const std::string seen = evidence.lowest_format(emulated_format, each); seen != emulated_format)
            kept.push_back(std::string(each) + " " + seen);
    for (const char* each : {"dgemm_pedantic", "ex_pedantic", "lt_pedantic"})
        if (evidence.lowest_format(emulated_format, each) == emulated_format) pedantic.emplace_back(each);
    if (!pedantic.empty())
        return {Verdict::wrong, "PEDANTIC, which no rule lowers here, is emulated: " + joined(pedantic, ", ")};
    // A rule allows emulation, but cuBLAS need not use it.
    if (!kept.empty()) return {Verdict::measured, "allowed by a rule, but not done: " + joined(kept, ", ")};
    return {Verdict::shown, "dgemm, ex_64f and lt_64f are emulated under a rule; PEDANTIC ones are not"};
}

// ---- The sections `times` and `cost`

std::string milliseconds_text(double milliseconds) {
    return milliseconds < 1 ? format_number("%.1f us", milliseconds * 1000) : format_number("%.2f ms", milliseconds);
}

Judgement judge_time(const Evidence& evidence, int n) {
    const auto middle = [&](const std::string& what) {
        return median(evidence.findings.sorted_numbers(what + "_ms_" + std::to_string(n)));
    };
    const double fp32 = middle("native/fp32");
    const double tf32 = middle("native/tf32");
    const double forced = middle("high/forced");
    if (fp32 <= 0 || tf32 <= 0 || forced <= 0) {
        evidence.need_variants({"native", "high"});
        return {Verdict::failed, "no time was measured"};
    }
    const double flops = 2.0 * n * n * n;
    const std::string word = evidence.facts.has_tf32() ? "TF32 " : "TF32, which this device does not have, ";
    return {Verdict::measured, "FP32 " + milliseconds_text(fp32) + ", " + word + milliseconds_text(tf32) + ": " +
                                   format_number("%.2f times as fast", fp32 / tf32) +
                                   format_number(" (%.1f TFLOP/s)", flops / tf32 / 1e9) +
                                   format_number("; forced takes %.3f of native", forced / tf32)};
}

Judgement judge_cost(const Evidence& evidence) {
    evidence.need_variants({"turns"});
    evidence.need_finding("turns", "launch");
    const auto number = [&](const std::string& name) {
        return median(evidence.findings.sorted_numbers("turns/" + name));
    };
    const double launch = number("launch");
    std::string text = "a launch takes the host " + format_number("%.2f us", launch / 1000);
    for (const std::string cost : {"off", "summary", "calls"}) {
        const double low = number(cost + "_low"), high = number(cost + "_high");
        text += ", " + cost;
        if (low <= 0 && high >= 0)
            text += format_number(" below what this machine can show (%.0f ns)", std::max(-low, high));
        else
            text +=
                format_number(" %+.0f ns", number(cost)) + format_number(" (%+.1f%%)", 100 * number(cost) / launch);
    }
    return {Verdict::measured, text};
}

// ---- The sections `graph` and `audits`

Judgement judge_graph(const Evidence& evidence) {
    evidence.need_variants({"native", "high"});
    const std::string expected = evidence.facts.expects_tf32() ? "tf32" : "fp32";
    bool is_as_native = true;
    for (const std::string product : {"graph_sgemm", "graph_ex"}) {
        for (const char* variant : {"native", "high"}) evidence.need_finding(variant, product);
        const std::string what = product + ", captured at high and replayed, ";
        const std::string format = evidence.joined_values("high", product + "_format");
        if (format != expected) return {Verdict::wrong, what + "is " + format + ", not " + expected};
        // During a capture, a library may choose another kernel. Such a difference is no fault if it also occurs
        // without the shim.
        const std::string bits = evidence.joined_values("high", product + "_bits");
        if (bits != evidence.joined_values("native", product + "_bits"))
            return {Verdict::wrong, what + "has bits " + bits};
        is_as_native =
            is_as_native && evidence.joined_values("high", product) == evidence.joined_values("native", product);
    }
    return {Verdict::shown, "2 of 2 products, captured at high and replayed, are " + expected + "; nodes and bits " +
                                (is_as_native ? "as" : "differ from those") +
                                " where the program asks for TF32 itself"};
}

Judgement judge_audits(const Evidence& evidence) {
    evidence.need_variants({"high"});
    evidence.need_finding("high", "captured");
    const auto& audits = evidence.findings.values_of("high/audit");
    if (audits.size() != audited_products) return {Verdict::failed, std::string("high: ") + not_measured};
    if (evidence.facts.has_site_floor)
        return {Verdict::measured, "under the floor of this machine's policy they preview TF32: not compared"};
    const auto count = [&](const char* word) { return std::ranges::count(audits, word); };
    const std::string all = " of " + std::to_string(audits.size());
    const std::string captured = evidence.joined_values("high", "captured");
    if (count("WRONG") != 0 || captured == "WRONG")
        return {Verdict::wrong, "audited errors that differ from those of the result: " +
                                    std::to_string(count("WRONG")) + all + "; in a graph: " + captured};
    if (const auto skipped = count("skipped"); skipped != 0)
        return {evidence.facts.expects_tf32() ? Verdict::wrong : Verdict::measured,
                std::to_string(skipped) + all + " products ran at FP32, which is not audited"};
    return {Verdict::shown,
            std::to_string(count("as measured")) + all +
                " errors match those that the host computes in float64, to 2%; a captured product is left alone"};
}

/// A line of the verdict: its section, its name, and the function that judges it.
struct VerdictCheck {
    const char* section;
    const char* line;
    Judgement (*judge)(const Evidence& evidence);
};
/// The lines of all sections, in the order of the verdict.
constexpr VerdictCheck verdict_checks[] = {
    {"product", "library", judge_loading},
    {"product", "as called", judge_unconfigured},
    {"product", "highest", judge_precision},
    {"product", "high", judge_precision},
    {"product", "medium", judge_precision},
    {"product", "other formats", judge_other_precisions},
    {"opt_ins", "floor: math mode", judge_floor},
    {"opt_ins", "floor: compute type", judge_floor},
    {"opt_ins", "floor: algorithm", judge_floor},
    {"opt_ins", "floor: override", judge_floor},
    {"opt_ins", "floor: cublasLt", judge_floor},
    {"float64_rules", "float64: as called", judge_float64_as_called},
    {"float64_rules", "float64: fp64", judge_float64_pin},
    {"float64_rules", "float64: emulated", judge_float64_emulation},
    {"cost", "cost of a call", judge_cost},
    {"graph", "graph", judge_graph},
    {"audits", "audits", judge_audits},
};

/// Returns the line of this name, with the judgement that `judge` returns or throws.
template <class Judge>
VerdictLine line_of(const std::string& name, const Judge& judge) {
    Judgement answer{};
    try {
        answer = judge();
    } catch (const Judgement& why) {
        answer = why;
    }
    return {name, answer.verdict, answer.text};
}

}  // namespace

const char* to_string(Verdict verdict) {
    constexpr const char* in_order[] = {"shown", "WRONG", "FAILED", "measured", "not tried"};
    return in_order[static_cast<int>(verdict)];
}

bool has_site_floor(const FindingMap& findings) {
    return findings.joined_values("high/decided") != "tf32" && findings.joined_values("high/reason") == "floor";
}

std::vector<VerdictLine> judge_section(const std::string& section, const FindingMap& findings,
                                       const JudgementFacts& facts) {
    std::vector<VerdictLine> lines;
    for (const VerdictCheck& each : verdict_checks)
        if (section == each.section) {
            const std::string name = each.line;
            lines.push_back(line_of(name, [&] { return each.judge({name, findings, facts}); }));
        }
    if (section != "times") return lines;
    for (const int n : facts.sizes) {
        const std::string name = "time at " + std::to_string(n);
        lines.push_back(line_of(name, [&] { return judge_time({name, findings, facts}, n); }));
    }
    return lines;
}

}  // namespace gpu
