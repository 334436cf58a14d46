#include "record/process_facts.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "record/log_path.hpp"
#include "record/pinned_variables.hpp"
#include "system/small_files.hpp"

namespace fp32shim::record {

namespace {

using policy::value_of;

std::string read_executable() {
    std::string path(path_capacity, '\0');  // the kernel returns an error if the path is longer
    path.resize(
        static_cast<std::size_t>(std::max(0L, system::raw::readlink("/proc/self/exe", path.data(), path.size()))));
    return path;
}

}  // namespace

std::int32_t parse_rank(std::string_view text) {
    std::int32_t rank = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    return error != std::errc{} || end != text.data() + text.size() ? -1 : std::max(rank, -1);
}

ProcessFacts gather_process_facts(std::span<const std::string_view> environment) {
    const auto value_in_environment = [&](std::string_view name) { return value_of(environment, name); };
    utsname names{};
    const LogNameFacts found = find_log_name_facts(value_in_environment, names);
    ProcessFacts facts;
    facts.pid = found.pid;
    facts.start_ns = found.start_ns;
    facts.host = found.host;
    facts.job_id = found.job_id;
    facts.job_id_from = found.job_id_from;
    facts.rank = found.rank;
    facts.rank_from = found.rank_from;
    if (facts.job_id.empty()) facts.job_id = policy::job_in_cgroups(system::read_small_file("/proc/self/cgroup"));
    facts.pins = pins_in_environment(value_in_environment);
    const RunVariableValue run = parse_run_variable(value_of(environment, run_variable));
    facts.run = run.number;
    facts.run_is_awaited = run.is_awaited;
    facts.executable = read_executable();
    facts.command = system::read_command_line();
    return facts;
}

RunVariableValue parse_run_variable(std::string_view value) {
    constexpr std::size_t digits = 16;
    RunVariableValue note;
    if (value.size() < digits + 2 || value[digits + 1] != '/') return {};
    if (value[digits] != ' ' && value[digits] != '+') return {};
    const auto [end, error] = std::from_chars(value.data(), value.data() + digits, note.number, 16);
    if (error != std::errc{} || end != value.data() + digits) return {};
    note.children_path = value.substr(digits + 1);
    note.is_awaited = value[digits] == '+';
    return note;
}

}  // namespace fp32shim::record
