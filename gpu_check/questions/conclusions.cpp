// Experiments with their decision rules: the expected result, the measured result, and the consequence for the shim.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "gpu_check/questions/questions.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr const char* nothing = "nothing: as assumed";
constexpr const char* ask_again = "ask again: this was not measured";

std::string three_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", value);
    return text;
}

/// Returns a text such as "198 of 200 same bits". all_same: becomes false if some bits differ.
std::string same_bits(const Findings& findings, const char* name, bool& all_same) {
    const auto& all = findings.all(name);
    const auto same = std::count(all.begin(), all.end(), "same bits");
    all_same = static_cast<std::size_t>(same) == all.size();
    return std::to_string(same) + " of " + std::to_string(all.size()) + " with the same bits";
}

/// Returns a text such as "time 1.001, at most 1.020".
std::string times(const std::vector<double>& ratios) {
    if (ratios.empty()) return "no product took long enough to be timed";
    return "times as long: median " + three_digits(median(ratios)) + ", at most " + three_digits(ratios.back());
}

/// Judges if two calls give the same product.
Conclusion same_product(const Findings& findings, const char* experiment, const char* expected, const char* bits,
                        const char* time, const char* otherwise) {
    if (findings.all(bits).empty()) return {experiment, expected, not_measured, ask_again};
    bool all_same = false;
    const std::string seen = same_bits(findings, bits, all_same);
    const auto ratios = findings.numbers(time);
    const bool as_fast = median(ratios) <= 1.02;
    return {experiment, expected, seen + "; " + times(ratios), all_same && as_fast ? nothing : otherwise};
}

std::vector<Conclusion> conclude_from_shapes(const Findings& findings) {
    const auto pedantic = findings.numbers("time_pedantic");
    return {
        same_product(findings, "Sgemm and GemmEx 32F in DEFAULT mode", "same bits, at most 1.02 times as long",
                     "bits_ex", "time_ex", "a pin forwards with the program's own function"),
        same_product(findings, "GemmEx 32F with algorithm 99", "from 8.0 on, same bits", "bits_99", "time_99",
                     "the algorithm has an effect: pass -1 wherever a pin or floor applies"),
        {"GemmEx PEDANTIC against 32F", "at most 1.2 times as long", times(pedantic),
         pedantic.empty()          ? ask_again
         : median(pedantic) <= 1.2 ? "document the ratio"
                                   : "document the ratio, and warn where a policy asks for PEDANTIC"},
        same_product(findings, "Sgemm in TF32 mode and GemmEx FAST_TF32", "same bits, at most 1.02 times as long",
                     "bits_fast", "time_fast", "`high` sets the mode instead of the compute type"),
    };
}

std::vector<Conclusion> conclude_from_override(const Findings& findings) {
    const std::string pedantic = findings.lowest("NVIDIA_TF32_OVERRIDE=1/32f_pedantic");
    const std::string mode = findings.lowest("NVIDIA_TF32_OVERRIDE=1/sgemm_pedantic");
    const bool measured = pedantic != not_measured && mode != not_measured;
    return {{"NVIDIA_TF32_OVERRIDE=1", "PEDANTIC stays FP32",
             "PEDANTIC type " + pedantic + ", PEDANTIC mode " + mode + ", 32F " +
                 findings.lowest("NVIDIA_TF32_OVERRIDE=1/32f") + ", Sgemm in DEFAULT mode " +
                 findings.lowest("NVIDIA_TF32_OVERRIDE=1/sgemm"),
             !measured                              ? ask_again
             : pedantic == "fp32" && mode == "fp32" ? nothing
                                                    : "refuse pins and floors under this variable"}};
}

std::vector<Conclusion> conclude_from_ties(const Findings& findings) {
    const std::string rules = findings.distinct("tf32_ties");
    return {{"How TF32 rounds", "one rule, whatever the size, transposition and alignment", rules,
             rules == not_measured                  ? ask_again
             : rules.find('+') == std::string::npos ? "that rule is `tf32_rounding` for this architecture"
                                                    : "a row of semantics.def for each class of kernels; `kept` is "
                                                      "a product that was not lowered"}};
}

std::vector<Conclusion> conclude_from_lt_alignment(const Findings& findings) {
    const std::string seen = findings.distinct("lt_misaligned_fast_tf32_null");
    return {{"cublasLtMatmul with algorithm NULL, FAST_TF32, operands at 4 bytes", "a format or a status, no fault",
             seen == not_measured ? "a fault, or not measured: see the table" : seen,
             is_format(seen)        ? nothing
             : seen == not_measured ? "never change such calls"
                                    : "the call is retried as called: nothing"}};
}

std::vector<Conclusion> conclude_from_workspace(const Findings& findings) {
    const std::string plain = findings.distinct("workspace_32f");
    const std::string fast = findings.distinct("workspace_fast");
    return {{"Workspaces of 0, 16 KiB and 32 MiB", "FAST runs wherever 32F does", "32F " + plain + "; FAST " + fast,
             plain == not_measured || fast == not_measured ? ask_again
             : plain == fast                               ? nothing
                             : "retry as called (status 3 is), and a row of semantics.def for the status"}};
}

std::vector<Conclusion> conclude_from_capability(const Findings& findings) {
    const std::string first = findings.distinct("high/first");
    return {{"cublasLtCreate before any context", "the first product under `high` runs in TF32",
             "native " + findings.distinct("native/first") + ", high " + first + ", second product " +
                 findings.distinct("high/second"),
             first == "tf32"                              ? nothing
             : findings.all("native/refused").size() == 1 ? "this library refuses it: the question does not arise"
             : first == not_measured                      ? ask_again
                                                          : "ask for the capability again at the product"}};
}

std::vector<Conclusion> conclude_from_gains(const Findings& findings) {
    std::string seen, useless;
    for (const char* name : {"sgemm", "strsm", "ssyrk", "ssymm", "strmm", "ssyr2k"}) {
        const auto gains = findings.numbers(std::string("gain_") + name);
        if (gains.empty()) continue;
        seen += (seen.empty() ? "" : ", ") + std::string(name) + " " + three_digits(gains.front());
        if (gains.front() < 1.1) useless += (useless.empty() ? "" : ", ") + std::string(name);
    }
    return {{"What TF32 mode gains", "more than 1.1 times as fast", seen.empty() ? not_measured : seen,
             seen.empty()      ? ask_again
             : useless.empty() ? nothing
                               : "`high` leaves these alone: " + useless}};
}

std::vector<Conclusion> conclude_from_times(const Findings& findings) {
    std::string seen;
    double worst = 0;
    for (const auto& [name, values] : findings.values()) {
        constexpr std::string_view begin = "native/tf32_ms_";
        if (!name.starts_with(begin)) continue;
        const std::string end = "_ms_" + name.substr(begin.size());
        const double native = median(findings.numbers(name));
        const double forced = median(findings.numbers("high/forced" + end)) / native;
        const double gain = median(findings.numbers("native/fp32" + end)) / native;
        worst = std::max(worst, forced);
        seen.append(seen.empty() ? "" : "; ").append(name.substr(begin.size())).append(": gain ");
        seen.append(three_digits(gain)).append(", forced over native ").append(three_digits(forced));
    }
    return {{"Forced TF32 against native TF32", "at most 1.02 times as long", seen.empty() ? not_measured : seen,
             seen.empty()    ? ask_again
             : worst <= 1.02 ? nothing
                             : "forcing costs time: compare the kernels of both"}};
}

std::vector<Conclusion> conclude_from_audits(const Findings& findings) {
    const std::string audits = findings.distinct("high/audit");
    const std::string captured = findings.distinct("high/captured");
    const bool is_right = audits.find("WRONG") == std::string::npos && captured.find("WRONG") == std::string::npos;
    return {{"Audited errors", "those of the result in float64, to 2%", audits + "; captured: " + captured,
             audits == not_measured ? ask_again
             : is_right             ? nothing
                                    : "audits on a GPU cannot be trusted"}};
}

std::vector<Conclusion> conclude_from_graph(const Findings& findings) {
    std::string seen;
    bool same = true;
    bool measured = true;
    for (const std::string name : {"graph_sgemm", "graph_ex"}) {
        const std::string native = findings.distinct("native/" + name);
        const std::string high = findings.distinct("high/" + name);
        seen += (seen.empty() ? "" : "; ") + name + ": native " + native + ", high " + high;
        same = same && native == high;
        measured = measured && native != not_measured && high != not_measured;
    }
    return {{"Capture into a graph", "same nodes and bits, whether the program or `high` asks for TF32", seen,
             !measured ? ask_again
             : same    ? nothing
                       : "compare the nodes: where only the bits differ, another kernel was chosen"}};
}

std::vector<Conclusion> conclude_from_threads(const Findings& findings) {
    const std::string native = findings.distinct("native/different");
    const std::string pinned = findings.distinct("highest/different");
    return {{"HGEMM beside a pinned SSYRK on one handle", "HGEMM's bits do not change",
             "products that differ: native " + native + ", highest " + pinned + "; SSYRK " +
                 findings.distinct("highest/ssyrk"),
             pinned == not_measured ? ask_again
             : pinned == "0"        ? nothing
             : native != "0"        ? "the library itself differs here: ask with one stream per thread"
                                    : "a pin must not set the mode of a handle that another thread uses"}};
}

std::vector<Conclusion> conclude_from_latency(const Findings& findings) {
    const auto of = [&](const std::string& name) {
        const auto all = findings.numbers(name);
        return all.empty() ? 0 : all.front();
    };
    std::string seen;
    double worst = 0;
    for (const std::string call : {"sgemm", "ssyrk", "lt", "lt_heuristic", "lt_many"}) {
        const double native = of("native/" + call);
        if (native == 0) continue;
        seen += (seen.empty() ? "" : "; ") + call + " " + std::to_string(static_cast<int>(native)) + " ns";
        for (const std::string setting : {"preloaded", "summary", "calls", "highest", "high"}) {
            const double time = of(setting + "/" + call);
            if (time == 0) continue;
            const double percent = 100 * (time / native - 1);
            worst = std::max(worst, percent);
            char text[48];
            std::snprintf(text, sizeof text, ", %s %+.1f%%", setting.c_str(), percent);
            seen += text;
        }
    }
    return {{"What the shim costs a call", "at most 5% of a launch", seen.empty() ? not_measured : seen,
             seen.empty() ? ask_again
             : worst <= 5 ? nothing
                          : "worth improving, the largest first"}};
}

struct FromSection {
    const char* section;
    std::vector<Conclusion> (*draw)(const Findings& findings);
};
constexpr FromSection conclusions_of_sections[] = {
    {"shapes", conclude_from_shapes},       {"override", conclude_from_override},
    {"ties", conclude_from_ties},           {"lt_alignment", conclude_from_lt_alignment},
    {"workspace", conclude_from_workspace}, {"capability", conclude_from_capability},
    {"gains", conclude_from_gains},         {"graph", conclude_from_graph},
    {"threads", conclude_from_threads},     {"latency", conclude_from_latency},
    {"times", conclude_from_times},         {"audits", conclude_from_audits}};

}  // namespace

std::vector<Conclusion> conclusions(const Findings& findings, const std::string& section) {
    for (const FromSection& each : conclusions_of_sections) {
        if (section == each.section) return each.draw(findings);
    }
    return {};
}

}  // namespace gpu
