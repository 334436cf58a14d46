#include "cli/trials/assumptions.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>

#include "cli/command_line/commands.hpp"
#include "cli/output/terminal.hpp"
#include "cli/run/process_environment.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

namespace fs = std::filesystem;

/// Returns true if the stdout or stderr of this process goes to the file `path`.
bool is_own_output(const fs::path& path) {
    struct stat file {
    }, output{};
    if (stat(path.c_str(), &file) != 0) return false;
    return std::ranges::any_of(std::array{STDOUT_FILENO, STDERR_FILENO}, [&](int descriptor) {
        return fstat(descriptor, &output) == 0 && output.st_ino == file.st_ino && output.st_dev == file.st_dev;
    });
}

/// Returns a text such as `3 products by oneDNN or XLA (train.py:8 forward)`, or an empty text if there are no
/// products of these libraries.
std::string onednn_text(const RecordedProducts& products) {
    std::uint64_t all = 0;
    std::vector<std::string> lines;
    for (const auto& [line, calls] : products.by_onednn) {
        all += calls;
        lines.push_back(line);
    }
    return all == 0 ? "" : fmt::format("{} by oneDNN or XLA ({})", counted(all, "product"), listed(lines, 3));
}

}  // namespace

WorkingFolderSnapshot::WorkingFolderSnapshot() {
    std::error_code error;
    constexpr std::size_t most = 10'000;
    for (fs::directory_iterator at(".", error), end; at != end && !error && before_.size() < most;
         at.increment(error)) {
        std::error_code unknown;
        if (!at->is_regular_file(unknown) || is_own_output(at->path())) continue;
        const std::uintmax_t size = at->file_size(unknown);
        before_[at->path().filename().string()] = {size, at->last_write_time(unknown)};
    }
}

std::vector<std::string> WorkingFolderSnapshot::changed_files(const std::string& except) const {
    std::vector<std::string> changed;
    for (const auto& [name, file] : WorkingFolderSnapshot().before_) {
        const auto before = before_.find(name);
        if (name != except && (before == before_.end() || before->second != file)) changed.push_back(name);
    }
    return changed;
}

std::string fresh_start_assumption(const std::vector<std::string>& left_files) {
    return fmt::format("Assumed: each run starts afresh{}. Products that occurred in no run are not judged.\n",
                       left_files.empty() ? ""
                                          : fmt::format(", though {} changed meanwhile (--runner can restore files)",
                                                        printable(listed(left_files, 3))));
}

std::string floor_variable_text() {
    const ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    const std::string floor(environment.get("FP32_MATMUL_FLOOR"));
    if (floor.empty()) return {};
    return fmt::format(
        "FP32_MATMUL_FLOOR={} is set, so products run at that or above, unless the command changes it.\n",
        printable(floor));
}

std::string other_precision_text(const PlacesAtOtherPrecision& places, std::string_view precision) {
    std::string text;
    if (!places.never.empty()) text += fmt::format("Never lowered in these runs: {}.\n", listed(places.never, 5));
    for (const auto& [format, names] : places.other)
        text += fmt::format("Asked to run at {}, but ran at {}: {}.\n", precision, format, listed(names, 5));
    return text;
}

std::vector<std::string> formats_other_than(const std::set<std::string>& formats, std::string_view precision) {
    const auto asked = policy::parse_precision(precision);
    const auto format = asked ? policy::format_of(*asked) : std::nullopt;
    std::vector<std::string> others;
    std::ranges::copy_if(formats, std::back_inserter(others),
                         [&](const std::string& word) { return !format || word != to_string(*format); });
    return others;
}

bool ran_at_coarsest(const RecordedProducts& products) {
    return std::ranges::any_of(products.groups, [](const RecordedProducts::RecordedGroup& met) {
        return met.formats.contains(std::string(coarsest_precision));
    });
}

std::string unproven_dependence_text(bool is_equal) {
    return fmt::format(
        "the output {} in all runs, even at {}: nothing shows that it depends on the products of these runs. The "
        "command may use what an earlier run has left (a cache, a checkpoint): remove it before each run. Otherwise "
        "let it print a number that depends on them",
        is_equal ? "was the same" : "changed by no more than chance", coarsest_precision);
}

std::string proven_dependence_text(std::string_view effect, bool is_equal) {
    return fmt::format("{}It depends on the lowered products: at {} it {}.\n",
                       is_equal ? "The runs did not change the output. " : "", coarsest_precision, effect);
}

std::string other_libraries_text(const RecordedProducts& first_run) {
    constexpr std::string_view lowered = "Policies lower products of BLAS and cuBLAS only";
    const std::string by_onednn = onednn_text(first_run);
    if (by_onednn.empty()) return fmt::format("{}; what other libraries multiply was not tried.\n", lowered);
    return fmt::format("{}. Not tried: {}, and what other libraries multiply.\n", lowered, by_onednn);
}

std::string last_lines_of(const std::string& output) {
    constexpr std::size_t most = 10;
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < output.size();) {
        const std::size_t end = std::min(output.find('\n', begin), output.size());
        lines.push_back(printable(output.substr(begin, end - begin)));
        begin = end + 1;
    }
    std::string text;
    for (std::size_t i = lines.size() > most ? lines.size() - most : 0; i < lines.size(); ++i)
        text += "  | " + lines[i] + '\n';
    return text;
}

SearchAborted no_product_seen_error(const RecordedProducts& products, TriedTypes types) {
    const bool is_float64 = types == TriedTypes::float64;
    const std::uint64_t others = products.calls_of_other_types;
    const std::string next =
        others == 0 && !products.by_onednn.empty() ? onednn_text(products) + " cannot be lowered"
        : others == 0
            ? "fp32shim doctor -- COMMAND lists what cannot be seen"
            : fmt::format("{} of {} {} seen; fp32shim bisect {}--cpu emulate -- COMMAND tries {}",
                          counted(others, "call"), to_string(is_float64 ? TriedTypes::float32 : TriedTypes::float64),
                          others == 1 ? "was" : "were", is_float64 ? "" : "--dtype float64 ",
                          others == 1 ? "it" : "them");
    return {fmt::format("no {} matrix product of the command was seen{}; {}", to_string(types),
                        products.calls > 0 ? " with a location" : "", next),
            exit_code::no_product};
}

SearchAborted nothing_lowered_error(const RecordedProducts& products, std::string_view precision) {
    if (products.calls == 0)
        return {
            fmt::format("a run with everything at {} multiplied nothing, though a run with everything exact did: "
                        "nothing is known about its products. If the command keeps results between runs (a cache, "
                        "a checkpoint), remove them before each run",
                        precision),
            exit_code::inconclusive};
    std::string reason;
    std::uint64_t most = 0;
    for (const auto& [name, calls] : products.reasons) {
        if (calls <= most) continue;
        reason = name;
        most = calls;
    }
    return {fmt::format("everything was asked to run at {}, but nothing did{}{}", precision,
                        reason.empty() ? "" : " (" + reason + ")",
                        reason == "cpu_mode_off" ? "; on a CPU, --cpu emulate shows what it would do" : ""),
            exit_code::inconclusive};
}

}  // namespace fp32shim::cli
