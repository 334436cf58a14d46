#include "record/process_facts.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "policy/exceptions.hpp"
#include "record/log_path.hpp"
#include "record/pinned_variables.hpp"
#include "system/raw_syscall.hpp"
#include "system/small_files.hpp"

namespace fp32shim::record {

namespace {

using policy::value_of;

std::optional<std::int32_t> parse_rank(std::string_view text) {
    std::int32_t rank = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error != std::errc{} || end != text.data() + text.size() || rank < 0) return std::nullopt;
    return rank;
}

std::string read_executable() {
    std::string path(path_capacity, '\0');  // the kernel returns an error for a longer path
    path.resize(
        static_cast<std::size_t>(std::max(0L, system::raw::readlink("/proc/self/exe", path.data(), path.size()))));
    return path;
}

/// An environment variable that may hold the rank of a process.
struct RankVariable {
    std::string_view name;
    std::string_view beside;  ///< name of another variable that must also be set; empty: none
};

/// Innermost launcher first. In a batch script Slurm sets SLURM_PROCID=0, which the ranks of mpirun and torchrun
/// inherit. RANK belongs to torchrun only if torchrun's own variable is set too.
constexpr RankVariable rank_variables[] = {
    {"PMIX_RANK", {}},    {"OMPI_COMM_WORLD_RANK", {}},
    {"PMI_RANK", {}},     {"RANK", "TORCHELASTIC_RUN_ID"},
    {"SLURM_PROCID", {}}, {"RANK", {}},
};

}  // namespace

ProcessFacts gather_process_facts(std::span<const std::string_view> environment) {
    ProcessFacts facts;
    facts.pid = system::raw::getpid();
    facts.start_ns = system::raw::realtime_ns();
    utsname names{};
    if (system::raw::uname(names) == 0) facts.host = names.nodename;
    if (const policy::JobVariables* job = policy::job_variables_in(environment)) {
        facts.job_id = value_of(environment, job->id);
        facts.job_id_from = job->id;
    }
    for (const RankVariable& variable : rank_variables) {
        if (!variable.beside.empty() && value_of(environment, variable.beside).empty()) continue;
        const auto rank = parse_rank(value_of(environment, variable.name));
        if (!rank) continue;
        facts.rank = *rank;
        facts.rank_from = variable.name;
        break;
    }
    facts.pins = pins_set([&](std::string_view name) { return value_of(environment, name); });
    const RunNote run = parse_run_note(value_of(environment, run_variable));
    facts.run = run.number;
    facts.run_is_awaited = run.is_awaited;
    facts.executable = read_executable();
    facts.command = system::read_command_line();
    return facts;
}

RunNote parse_run_note(std::string_view value) {
    constexpr std::size_t digits = 16;
    RunNote note;
    if (value.size() < digits + 2 || value[digits + 1] != '/') return {};
    if (value[digits] != ' ' && value[digits] != '+') return {};
    const auto [end, error] = std::from_chars(value.data(), value.data() + digits, note.number, 16);
    if (error != std::errc{} || end != value.data() + digits) return {};
    note.children_path = value.substr(digits + 1);
    note.is_awaited = value[digits] == '+';
    return note;
}

}  // namespace fp32shim::record
