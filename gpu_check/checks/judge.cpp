#include "gpu_check/checks/judge.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "gpu_check/workers/ask.hpp"

namespace gpu {

namespace {

constexpr std::size_t audited_products = 6;  // number of products in sections/audits.cpp

std::string digits(const char* format, double number) {
    char text[48];
    std::snprintf(text, sizeof text, format, number);
    return text;
}

std::string joined(const std::vector<std::string>& texts) {
    std::string result;
    for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + text;
    return result;
}

/// Returns a line with the reason why one of these variants was not measured. Its text is empty if all were measured.
Line unmeasured(const Findings& findings, const char* name, std::initializer_list<const char*> variants) {
    for (const char* variant : variants) {
        const auto& failures = findings.all(std::string(variant) + "/failure");
        if (failures.empty()) continue;
        const bool no_time = failures.front() == no_time_left;
        return {name, no_time ? Verdict::not_tried : Verdict::failed, std::string(variant) + ": " + failures.front()};
    }
    return {name, Verdict::shown, ""};
}

/// Returns a line about a variant with a missing finding: the reason as in unmeasured(), or just "not measured".
Line why_unmeasured(const Findings& findings, const char* name, const char* variant) {
    Line line = unmeasured(findings, name, {variant});
    if (line.text.empty()) line = {name, Verdict::failed, std::string(variant) + ": " + not_measured};
    return line;
}

bool is_lower(const std::string& left, const std::string& right) {
    return left != right && lower_format(left, right) == left;
}

Line judge_loading(const Findings& findings) {
    const auto& decided = findings.all("high/decided");
    if (!decided.empty())
        return {"library", Verdict::shown,
                "loaded; it decides and records: cublasSgemm at high is " + decided.front()};
    Line line = why_unmeasured(findings, "library", "high");
    if (line.text.ends_with(nothing_recorded))
        line = {"library", Verdict::wrong, "it was preloaded, but recorded no product"};
    if (line.text.find(not_preloaded) != std::string::npos) line.verdict = Verdict::wrong;
    return line;
}

Line judge_unconfigured(const Findings& findings) {
    Line line = unmeasured(findings, "as called", {"native", "preloaded"});
    if (!line.text.empty()) return line;
    for (const char* variant : {"native", "preloaded"})
        if (findings.all(std::string(variant) + "/bits").empty())
            return why_unmeasured(findings, "as called", variant);
    const std::string without = findings.distinct("native/bits");
    const std::string with = findings.distinct("preloaded/bits");
    const std::string format = findings.lowest("native/format");
    if (format != "fp32")
        return {"as called", Verdict::wrong,
                "a program that asks for nothing gets " + format + " even without the library"};
    if (findings.all("high/decided").empty())
        return {"as called", Verdict::not_tried, "no product shows that the library is loaded here"};
    if (without == with)
        return {"as called", Verdict::shown, "unconfigured, the library changes no bit: fp32, " + with};
    return {"as called", Verdict::wrong,
            "the library changes bits: " + without + " without it, " + with + " with it"};
}

/// Describes the result of a precision: `tf32 (error 2.9e-04)`, with the reason if it is not what was requested.
std::string outcome(const Findings& findings, const std::string& word) {
    const std::string reason = findings.distinct(word + "/reason");
    return findings.lowest(word + "/format") + (reason == not_measured ? "" : " (" + reason + ")");
}

/// Returns true if a product is better than it was decided, but still lowered: FAST_16BF and FAST_16F also permit
/// TF32, and nothing else. If it is FP32, the decision had no effect, which is a fault.
bool is_better(const std::string& format, const std::string& decided) {
    return format == "tf32" && is_format(decided) && is_lower(decided, format);
}

/// Returns true if a format agrees with the decision. BF16x9 is as accurate as FP32.
bool is_as_decided(const std::string& format, const std::string& decided) {
    return format == (decided == "bf16x9" ? "fp32" : decided) || is_better(format, decided);
}

/// Returns a description of the fault in one precision; empty: there is no fault.
std::string fault_of(const Findings& findings, const std::string& word, const std::string& expected) {
    const std::string format = findings.lowest(word + "/format");
    const std::string decided = findings.distinct(word + "/decided");
    if (!expected.empty() && decided != expected) {
        const std::string reason = findings.distinct(word + "/reason");
        return word + " was decided as " + decided + (reason == not_measured ? "" : " (" + reason + ")") + ", not " +
               expected;
    }
    if (is_as_decided(format, decided)) return {};
    return word + ": decided " + decided + ", measured " + format;
}

bool is_refusal(const std::string& answer) { return !is_format(answer) && answer != "wrong"; }

Line judge_precision(const Findings& findings, const char* word, const std::string& expected) {
    Line line = unmeasured(findings, word, {word});
    if (!line.text.empty()) return line;
    if (findings.all(std::string(word) + "/format").empty()) return why_unmeasured(findings, word, word);
    const std::string format = findings.lowest(std::string(word) + "/format");
    if (is_refusal(format)) return {word, Verdict::failed, "the product was refused: " + format};
    // These variants set no floor themselves, so a floor can only come from this machine's policy.
    if (findings.distinct(std::string(word) + "/reason") == "floor" && fault_of(findings, word, "").empty())
        return {word, Verdict::measured,
                "decided " + findings.distinct(std::string(word) + "/decided") + ", measured " + format +
                    ": this machine's own policy, /etc/fp32shim/policy.toml, has a floor"};
    const std::string fault = fault_of(findings, word, expected);
    if (!fault.empty()) return {word, Verdict::wrong, fault};
    const std::string decided = findings.distinct(std::string(word) + "/decided");
    std::string text = "decided " + decided + ", measured " + outcome(findings, word) + ", error " +
                       findings.distinct(std::string(word) + "/error");
    if (is_better(format, decided)) text += ": " + decided + " permits " + format + ", and this cuBLAS used it";
    return {word, Verdict::shown, text};
}

Line judge_other_precisions(const Findings& findings) {
    constexpr const char* name = "other formats";
    const std::initializer_list<const char*> words = {
#define RULE_PRECISION(number, name, format) #name,
#define FLOAT64_RULE_PRECISION(...)  // the product is of float32
#include "policy/formats.def"
    };
    Line line = unmeasured(findings, name, words);
    if (!line.text.empty()) return line;
    std::vector<std::string> outcomes;
    bool is_each_as_decided = true;
    for (const char* word : words) {
        if (findings.all(std::string(word) + "/format").empty()) return why_unmeasured(findings, name, word);
        const std::string format = findings.lowest(std::string(word) + "/format");
        if (is_refusal(format))
            return {name, Verdict::failed, std::string(word) + ": the product was refused: " + format};
        const std::string fault = fault_of(findings, word, "");
        if (!fault.empty()) return {name, Verdict::wrong, fault};
        const std::string decided = findings.distinct(std::string(word) + "/decided");
        outcomes.push_back(std::string(word) + ": " + decided);
        if (is_better(format, decided)) {
            outcomes.back() += ", which permits " + format;
            is_each_as_decided = false;
        }
    }
    return {name, Verdict::shown,
            (is_each_as_decided ? "each measured as decided: " : "each measured as decided, or as it permits: ") +
                joined(outcomes)};
}

/// Ways to ask for less than FP32, as one line of the verdict covers them.
struct OptIns {
    const char* name;
    const char* what;
    std::vector<const char*> names;
    const char* without;  // name of the variant without a floor
    const char* with;
};

/// Returns true if an answer means that this cuBLAS or device does not have the product.
bool is_lacking(const std::string& answer) {
    constexpr const char* words[] = {"absent", "NOT_SUPPORTED", "INVALID_VALUE", "ARCH_MISMATCH"};
    return std::ranges::find(words, answer) != std::end(words);
}

Line judge_group(const Findings& findings, const OptIns& group) {
    for (const char* name : group.names) {
        for (const char* variant : {group.without, group.with})
            if (findings.all(std::string(variant) + "/" + name).empty())
                return why_unmeasured(findings, group.name, variant);
    }
    std::vector<std::string> winning, refused, lowered;
    int held_up = 0;
    for (const char* name : group.names) {
        const std::string native = findings.lowest(std::string(group.without) + "/" + name);
        const std::string held = findings.lowest(std::string(group.with) + "/" + name);
        if (held == native && is_lacking(native)) continue;
        if (is_lower(native, "fp32") && is_format(native)) lowered.push_back(std::string(name) + " " + native);
        if (held == "fp32")
            ++held_up;
        else
            (is_refusal(held) ? refused : winning).push_back(std::string(name) + " " + held);
    }
    if (!winning.empty())
        return {group.name, Verdict::wrong,
                std::string(group.what) + " go" + (group.names.size() == 1 ? "es" : "") +
                    " below a floor of fp32: " + joined(winning)};
    if (!refused.empty()) return {group.name, Verdict::failed, "refused under a floor: " + joined(refused)};
    if (lowered.empty())
        return {group.name, Verdict::measured,
                std::string(group.what) + (held_up == 0
                                               ? ": this cuBLAS refuses them"
                                               : ": fp32 under a floor, and without it too, so this proves nothing")};
    const std::string count = std::to_string(held_up);
    return {group.name, Verdict::shown,
            count + " of " + count + " fp32 under a floor; without it " + joined(lowered)};
}

// ---- float64

constexpr const char* emulated = "fp64_emulated";

/// Returns the names of the products of float64 that a variant measured.
std::vector<std::string> products_of(const Findings& findings, const std::string& variant) {
    constexpr std::string_view end = "_bits";
    std::vector<std::string> names;
    for (const auto& [name, values] : findings.values())
        if (name.starts_with(variant + "/") && name.ends_with(end))
            names.push_back(name.substr(variant.size() + 1, name.size() - variant.size() - 1 - end.size()));
    return names;
}

Line judge_float64_as_called(const Findings& findings) {
    constexpr const char* name = "float64: as called";
    Line line = unmeasured(findings, name, {"native", "recorded"});
    if (!line.text.empty()) return line;
    if (findings.all("recorded/decided").empty())
        return {name, Verdict::not_tried, "no product shows that the library is loaded here"};
    std::vector<std::string> changed;
    const auto names = products_of(findings, "native");
    for (const std::string& each : names) {
        const std::string bits = each + "_bits";
        if (findings.distinct("native/" + bits) != findings.distinct("recorded/" + bits)) changed.push_back(each);
    }
    if (!changed.empty()) return {name, Verdict::wrong, "the library changes bits of " + joined(changed)};
    if (const std::string format = findings.lowest("native/dgemm"); format != "fp64")
        return {name, Verdict::wrong, "a program that asks for nothing gets " + format + " even without the library"};
    return {name, Verdict::shown,
            "recorded, the library changes no bit of " + std::to_string(names.size()) + " products"};
}

Line judge_float64_pin(const Findings& findings) {
    constexpr const char* name = "float64: fp64";
    Line line = unmeasured(findings, name, {"native", "environment", "fp64", "environment, fp64"});
    if (!line.text.empty()) return line;
    std::vector<std::string> winning, refused, lowered;
    for (const auto& [without, with] : {std::pair{"native/", "fp64/"}, {"environment/", "environment, fp64/"}}) {
        if (findings.all(std::string(with) + "decided").empty())
            return {name, Verdict::not_tried, "no product shows that the library is loaded here"};
        for (const std::string& each : products_of(findings, "native")) {
            const std::string before = findings.lowest(without + each);
            const std::string held = findings.lowest(with + each);
            if (held == before && is_lacking(before)) continue;
            if (before == emulated) lowered.push_back(each);
            if (held != "fp64")
                (held == emulated || held == "wrong" ? winning : refused).push_back(with + each + " " + held);
        }
    }
    if (!winning.empty()) return {name, Verdict::wrong, "under a rule of fp64: " + joined(winning)};
    if (!refused.empty()) return {name, Verdict::failed, "refused under a rule of fp64: " + joined(refused)};
    if (lowered.empty())
        return {name, Verdict::measured, "fp64 under a rule, and without it too, so this proves nothing"};
    return {
        name, Verdict::shown,
        "none is emulated under a rule; without it, " + std::to_string(lowered.size()) + " were: " + joined(lowered)};
}

Line judge_float64_emulation(const Findings& findings, const Judging& judging) {
    constexpr const char* name = "float64: emulated";
    Line line = unmeasured(findings, name, {"native", emulated});
    if (!line.text.empty()) return line;
    const std::string begin = std::string(emulated) + "/";
    const std::string reasons = findings.distinct(begin + "reason");
    if (findings.all(begin + "decided").empty())
        return {name, Verdict::not_tried, "no product shows that the library is loaded here"};
    if (judging.is_floored) return {name, Verdict::measured, "the floor of this machine's policy forbids it"};
    if (reasons.find("fp64_emulation_unavailable") != std::string::npos)
        return {name, Verdict::measured, "this GPU or this cuBLAS has no emulated FP64"};
    std::vector<std::string> kept, pedantic;
    for (const char* each : {"dgemm", "ex_64f", "lt_64f"})
        if (const std::string seen = findings.lowest(begin + each); seen != emulated)
            kept.push_back(std::string(each) + " " + seen);
    for (const char* each : {"dgemm_pedantic", "ex_pedantic", "lt_pedantic"})
        if (findings.lowest(begin + each) == emulated) pedantic.emplace_back(each);
    if (!pedantic.empty())
        return {name, Verdict::wrong, "PEDANTIC, which no rule lowers here, is emulated: " + joined(pedantic)};
    // What a rule allows, cuBLAS may leave unused.
    if (!kept.empty()) return {name, Verdict::measured, "allowed by a rule, but not done: " + joined(kept)};
    return {name, Verdict::shown, "dgemm, ex_64f and lt_64f are emulated under a rule; PEDANTIC ones are not"};
}

std::string milliseconds_text(double milliseconds) {
    return milliseconds < 1 ? digits("%.1f us", milliseconds * 1000) : digits("%.2f ms", milliseconds);
}

Line judge_time(const Findings& findings, const Judging& judging, int n) {
    const std::string name = "time at " + std::to_string(n);
    const std::string end = "_ms_" + std::to_string(n);
    const auto middle = [&](const std::string& what) { return median(findings.numbers(what + end)); };
    const double fp32 = middle("native/fp32");
    const double tf32 = middle("native/tf32");
    const double forced = middle("high/forced");
    if (fp32 <= 0 || tf32 <= 0 || forced <= 0) {
        Line line = unmeasured(findings, name.c_str(), {"native", "high"});
        if (line.text.empty()) line = {name, Verdict::failed, "no time was measured"};
        return line;
    }
    const double flops = 2.0 * n * n * n;
    const std::string word = judging.has_tf32() ? "TF32 " : "TF32, which this device does not have, ";
    return {name, Verdict::measured,
            "FP32 " + milliseconds_text(fp32) + ", " + word + milliseconds_text(tf32) + ": " +
                digits("%.2f times as fast", fp32 / tf32) + digits(" (%.1f TFLOP/s)", flops / tf32 / 1e9) +
                digits("; forced takes %.3f of native", forced / tf32)};
}

}  // namespace

const char* to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::shown:
            return "shown";
        case Verdict::wrong:
            return "WRONG";
        case Verdict::failed:
            return "FAILED";
        case Verdict::measured:
            return "measured";
        case Verdict::not_tried:
            return "not tried";
    }
    return "";
}

bool is_floored(const Findings& findings) {
    return findings.distinct("high/decided") != "tf32" && findings.distinct("high/reason") == "floor";
}

std::vector<Line> judge_products(const Findings& findings, const Judging& judging) {
    return {judge_loading(findings),
            judge_unconfigured(findings),
            judge_precision(findings, "highest", "fp32"),
            judge_precision(findings, "high", judging.has_tf32() ? "tf32" : "fp32"),
            judge_precision(findings, "medium", judging.has_tf32() ? "bf16" : "fp32"),
            judge_other_precisions(findings)};
}

std::vector<Line> judge_opt_ins(const Findings& findings, const Judging&) {
    const OptIns groups[] = {
        {"floor: math mode", "math modes", {"mode_tf32", "mode_tensor_op"}, "native", "floor"},
        {"floor: compute type", "compute types", {"fast_tf32", "fast_16bf", "fast_16f"}, "native", "floor"},
        {"floor: algorithm", "algorithm 99", {"algorithm_99"}, "native", "floor"},
        {"floor: override",
         "NVIDIA_TF32_OVERRIDE=1",
         {"nothing", "mode_tf32", "fast_tf32", "pedantic", "lt_fast_tf32"},
         "override",
         "override and floor"},
        {"floor: cublasLt", "cublasLt's compute type", {"lt_fast_tf32"}, "native", "floor"},
    };
    std::vector<Line> lines;
    for (const OptIns& group : groups) lines.push_back(judge_group(findings, group));
    return lines;
}

std::vector<Line> judge_float64(const Findings& findings, const Judging& judging) {
    return {judge_float64_as_called(findings), judge_float64_pin(findings),
            judge_float64_emulation(findings, judging)};
}

std::vector<Line> judge_times(const Findings& findings, const Judging& judging) {
    std::vector<Line> lines;
    for (const int n : judging.sizes) lines.push_back(judge_time(findings, judging, n));
    return lines;
}

std::vector<Line> judge_cost(const Findings& findings, const Judging&) {
    Line line = unmeasured(findings, "cost of a call", {"turns"});
    if (!line.text.empty()) return {line};
    const auto of = [&](const std::string& name) { return median(findings.numbers("turns/" + name)); };
    const double launch = of("launch");
    if (launch <= 0) return {why_unmeasured(findings, "cost of a call", "turns")};
    std::string text = "a launch takes the host " + digits("%.2f us", launch / 1000);
    for (const std::string cost : {"off", "summary", "calls"}) {
        const double low = of(cost + "_low"), high = of(cost + "_high");
        text += ", " + cost;
        if (low <= 0 && high >= 0)
            text += digits(" below what this machine can show (%.0f ns)", std::max(-low, high));
        else
            text += digits(" %+.0f ns", of(cost)) + digits(" (%+.1f%%)", 100 * of(cost) / launch);
    }
    return {{"cost of a call", Verdict::measured, text}};
}

std::vector<Line> judge_graph(const Findings& findings, const Judging& judging) {
    constexpr const char* name = "graph";
    Line line = unmeasured(findings, name, {"native", "high"});
    if (!line.text.empty()) return {line};
    const std::string expected = judging.expects_tf32() ? "tf32" : "fp32";
    bool is_as_native = true;
    for (const std::string product : {"graph_sgemm", "graph_ex"}) {
        for (const char* variant : {"native", "high"})
            if (findings.all(std::string(variant) + "/" + product).empty())
                return {why_unmeasured(findings, name, variant)};
        const std::string what = product + ", captured at high and replayed, ";
        const std::string format = findings.distinct("high/" + product + "_format");
        if (format != expected) return {{name, Verdict::wrong, what + "is " + format + ", not " + expected}};
        // During a capture, a library may choose another kernel. Such a difference is no fault if it also occurs
        // without the shim.
        const std::string bits = findings.distinct("high/" + product + "_bits");
        if (bits != findings.distinct("native/" + product + "_bits"))
            return {{name, Verdict::wrong, what + "has bits " + bits}};
        is_as_native = is_as_native && findings.distinct("high/" + product) == findings.distinct("native/" + product);
    }
    return {{name, Verdict::shown,
             "2 of 2 products, captured at high and replayed, are " + expected + "; nodes and bits " +
                 (is_as_native ? "as" : "differ from those") + " where the program asks for TF32 itself"}};
}

std::vector<Line> judge_audits(const Findings& findings, const Judging& judging) {
    Line line = unmeasured(findings, "audits", {"high"});
    if (!line.text.empty()) return {line};
    const auto& audits = findings.all("high/audit");
    if (audits.size() != audited_products || findings.all("high/captured").empty())
        return {why_unmeasured(findings, "audits", "high")};
    if (judging.is_floored)
        return {{"audits", Verdict::measured,
                 "under the floor of this machine's policy they preview TF32: not compared"}};
    const auto count = [&](const char* word) { return std::ranges::count(audits, word); };
    const std::string of = " of " + std::to_string(audits.size());
    const std::string captured = findings.distinct("high/captured");
    if (count("WRONG") != 0 || captured == "WRONG")
        return {{"audits", Verdict::wrong,
                 "audited errors that differ from those of the result: " + std::to_string(count("WRONG")) + of +
                     "; in a graph: " + captured}};
    const auto skipped = count("skipped");
    if (skipped != 0)
        return {{"audits", judging.expects_tf32() ? Verdict::wrong : Verdict::measured,
                 std::to_string(skipped) + of + " products ran at FP32, which is not audited"}};
    return {{"audits", Verdict::shown,
             std::to_string(count("as measured")) + of +
                 " errors match those that the host computes in float64, to 2%; a captured product is left alone"}};
}

}  // namespace gpu
