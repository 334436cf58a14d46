// Experiments with their decision rules: the expected result, the measured result, and the consequence for the shim.
// Things that the verdict measures are judged in checks/judge.cpp.
#include <algorithm>

#include "gpu_check/sections/findings.hpp"
#include "tests/cublas/gpu/questions/questions.hpp"

namespace gpu {

namespace {

/// An observation, and its consequence.
struct Outcome {
    std::string seen, follows;
};

Outcome outcome(const std::string& seen, bool is_measured, bool is_as_expected, const std::string& otherwise) {
    return {seen, !is_measured     ? "ask again: this was not measured"
                  : is_as_expected ? "nothing: as assumed"
                                   : otherwise};
}

/// Adds to a list of texts.
void append(std::string& list, const std::string& text) { list.append(list.empty() ? "" : ", ").append(text); }

/// Returns a text such as "times as long: median 1.001, at most 1.020".
std::string times(const std::vector<double>& ratios) {
    if (ratios.empty()) return "no product took long enough to be timed";
    return "times as long: median " + format_number("%.3f", median(ratios)) + ", at most " +
           format_number("%.3f", ratios.back());
}

/// Judges if two calls give the same product.
Outcome same_product(const FindingMap& findings, const std::string& pair, const char* otherwise) {
    const auto& bits = findings.values_of("bits_" + pair);
    if (bits.empty()) return outcome(not_measured, false, false, otherwise);
    const auto same = static_cast<std::size_t>(std::ranges::count(bits, "same bits"));
    const auto ratios = findings.sorted_numbers("time_" + pair);
    return outcome(
        std::to_string(same) + " of " + std::to_string(bits.size()) + " with the same bits; " + times(ratios), true,
        same == bits.size() && median(ratios) <= 1.02, otherwise);
}
Outcome outcome_of_ex(const FindingMap& findings) {
    return same_product(findings, "ex", "a pin forwards with the program's own function");
}
Outcome outcome_of_algorithm_99(const FindingMap& findings) {
    return same_product(findings, "99", "the algorithm has an effect: pass -1 wherever a pin or floor applies");
}
Outcome outcome_of_fast(const FindingMap& findings) {
    return same_product(findings, "fast", "`high` sets the mode instead of the compute type");
}

Outcome outcome_of_pedantic(const FindingMap& findings) {
    const auto ratios = findings.sorted_numbers("time_pedantic");
    if (!ratios.empty() && median(ratios) <= 1.2) return {times(ratios), "document the ratio"};
    return outcome(times(ratios), !ratios.empty(), false,
                   "document the ratio, and warn where a policy asks for PEDANTIC");
}

Outcome outcome_of_override(const FindingMap& findings) {
    const auto of = [&](const char* name) {
        return findings.lowest_format(std::string("NVIDIA_TF32_OVERRIDE=1/") + name);
    };
    const std::string type = of("pedantic");
    const std::string mode = of("mode_pedantic");
    return outcome("PEDANTIC type " + type + ", PEDANTIC mode " + mode + ", 32F " + of("32f") +
                       ", Sgemm in DEFAULT mode " + of("nothing"),
                   type != not_measured && mode != not_measured, type == "fp32" && mode == "fp32",
                   "refuse pins and floors under this variable");
}

Outcome outcome_of_ties(const FindingMap& findings) {
    const std::string rules = findings.joined_values("tf32_ties");
    if (rules != not_measured && rules.find('+') == std::string::npos)
        return {rules, "that rule is `tf32_rounding` for this architecture"};
    return outcome(rules, rules != not_measured, false,
                   "a row of semantics.def for each class of kernels; `kept` is a product that was not lowered");
}

Outcome outcome_of_lt_alignment(const FindingMap& findings) {
    const std::string seen = findings.joined_values("lt_null_offset4_fast_tf32");
    if (seen == not_measured) return {"a fault, or not measured: see the table", "never change such calls"};
    return outcome(seen, true, is_format_name(seen), "the call is retried as called: nothing");
}

Outcome outcome_of_workspace(const FindingMap& findings) {
    const std::string plain = findings.joined_values("workspace_32f");
    const std::string fast = findings.joined_values("workspace_fast");
    return outcome("32F " + plain + "; FAST " + fast, plain != not_measured && fast != not_measured, plain == fast,
                   "retry as called (status 3 is), and a row of semantics.def for the status");
}

Outcome outcome_of_capability(const FindingMap& findings) {
    const std::string first = findings.joined_values("high/first");
    const std::string seen = "native " + findings.joined_values("native/first") + ", high " + first +
                             ", second product " + findings.joined_values("high/second");
    if (!findings.values_of("native/refused").empty())
        return {seen, "this library refuses it: the question does not arise"};
    return outcome(seen, first != not_measured, first == "tf32", "ask for the capability again at the product");
}

Outcome outcome_of_gains(const FindingMap& findings) {
    std::string seen, useless;
    for (const std::string name : {"sgemm", "strsm", "ssyrk", "ssymm", "strmm", "ssyr2k"}) {
        const auto gains = findings.sorted_numbers("gain_" + name);
        if (gains.empty()) continue;
        append(seen, name + " " + format_number("%.3f", gains.front()));
        if (gains.front() < 1.1) append(useless, name);
    }
    return outcome(seen.empty() ? not_measured : seen, !seen.empty(), useless.empty(),
                   "`high` leaves these alone: " + useless);
}

Outcome outcome_of_threads(const FindingMap& findings) {
    const std::string native = findings.joined_values("native/different");
    const std::string pinned = findings.joined_values("highest/different");
    return outcome("products that differ: native " + native + ", highest " + pinned + "; SSYRK " +
                       findings.joined_values("highest/ssyrk"),
                   pinned != not_measured, pinned == "0",
                   native != "0" ? "the library itself differs here: ask with one stream per thread"
                                 : "a pin must not set the mode of a handle that another thread uses");
}

struct Experiment {
    const char* section;
    const char* name;
    const char* expected;
    Outcome (*judge)(const FindingMap& findings);
};
constexpr Experiment experiments[] = {
    {"shapes", "Sgemm and GemmEx 32F in DEFAULT mode", "same bits, at most 1.02 times as long", outcome_of_ex},
    {"shapes", "GemmEx 32F with algorithm 99", "from 8.0 on, same bits", outcome_of_algorithm_99},
    {"shapes", "GemmEx PEDANTIC against 32F", "at most 1.2 times as long", outcome_of_pedantic},
    {"shapes", "Sgemm in TF32 mode and GemmEx FAST_TF32", "same bits, at most 1.02 times as long", outcome_of_fast},
    {"override", "NVIDIA_TF32_OVERRIDE=1", "PEDANTIC stays FP32", outcome_of_override},
    {"ties", "How TF32 rounds", "one rule, whatever the size, transposition and alignment", outcome_of_ties},
    {"alignment", "cublasLtMatmul with algorithm NULL, FAST_TF32, operands at 4 bytes",
     "a format or a status, no fault", outcome_of_lt_alignment},
    {"workspace", "Workspaces of 0, 16 KiB and 32 MiB", "FAST runs wherever 32F does", outcome_of_workspace},
    {"capability", "cublasLtCreate before any context", "the first product under `high` runs in TF32",
     outcome_of_capability},
    {"gains", "What TF32 mode gains", "more than 1.1 times as fast", outcome_of_gains},
    {"threads", "HGEMM beside a pinned SSYRK on one handle", "HGEMM's bits do not change", outcome_of_threads},
};

}  // namespace

std::vector<Conclusion> conclusions(const FindingMap& findings, const std::string& section) {
    std::vector<Conclusion> drawn;
    for (const auto& [measured_by, name, expected, judge] : experiments) {
        if (section != measured_by) continue;
        const auto [seen, follows] = judge(findings);
        drawn.push_back({name, expected, seen, follows});
    }
    return drawn;
}

}  // namespace gpu
