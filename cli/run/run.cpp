// fp32shim run: a program under the shim. Settings become its environment; the rest of this file's work is to be no
// different from having started the program without us.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/binaries/program_file.hpp"
#include "cli/binaries/shim_library.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output/terminal.hpp"
#include "cli/run/child.hpp"
#include "cli/run/children.hpp"
#include "cli/run/compilation_cache.hpp"
#include "cli/run/log_destination.hpp"
#include "cli/run/process_environment.hpp"
#include "cli/run/summary.hpp"
#include "policy/load.hpp"
#include "policy/messages.hpp"
#include "record/log_path.hpp"
#include "record/process_facts.hpp"
#include "record/write/writer.hpp"

namespace fp32shim::cli {
namespace {

struct RunOptions {
    std::string precision, floor, cpu, policy, log, level;
    bool pin = false;
    bool quiet = false;
    std::vector<std::string> words;  ///< the program and its arguments
};

void say_run(const std::string& message) { say("run", message); }

int fail(const std::string& message) {
    say_run(message);
    return exit_code::own_failure;
}

/// Floors add up: one that is given here cannot loosen one that the environment has. What that has and cannot be
/// read, a misspelt fp32 perhaps, stays to be complained of; but for the strictest, which is no looser than any.
void raise_floor(ProcessEnvironment& environment, const std::string& floor) {
    const std::string known = environment.get("FP32_MATMUL_FLOOR");
    const auto current = policy::parse_floor(known);
    const policy::Floor wanted = policy::parse_floor(floor).value_or(policy::Floor::none);
    const bool is_broken = !known.empty() && !current;
    if (wanted != policy::Floor::fp32 && (is_broken || current > wanted)) return;
    environment.set("FP32_MATMUL_FLOOR", floor);
}

void preload(ProcessEnvironment& environment, const std::string& library) {
    const std::string others = environment.get("LD_PRELOAD");
    for (std::size_t begin = 0; begin < others.size();) {
        const std::size_t end = std::min(others.find_first_of(" :", begin), others.size());
        if (others.substr(begin, end - begin) == library) return;
        begin = end + 1;
    }
    environment.set("LD_PRELOAD", others.empty() ? library : library + ':' + others);
}

/// The name that --log gives means this folder, also where the program goes to another one before its first product.
/// What is no valid name, or too long, stays as it is: others complain of it.
std::string log_variable(const std::string& name) {
    if (name.empty() || name == "stderr" || policy::problem_of_log_path(name)) return name;
    std::array<char, record::path_capacity> absolute;
    std::array<char, record::path_capacity> scratch;
    const std::string_view made = record::make_absolute(name, absolute, scratch);
    return made.empty() ? name : std::string(made);
}

/// Likewise of --policy, which the shim reads at the first product, and again at each reload.
std::string policy_variable(const std::string& name) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(name, error);
    return error ? name : absolute.string();
}

/// What the options ask for, as variables. `--pin` also governs the libraries that the shim does not.
void apply(const RunOptions& options, ProcessEnvironment& environment) {
    const std::string log = log_variable(options.log);
    const std::string policy = policy_variable(options.policy);
    const std::pair<const char*, const std::string&> variables[] = {{"FP32_MATMUL_PRECISION", options.precision},
                                                                    {"FP32_MATMUL_CPU", options.cpu},
                                                                    {"FP32_MATMUL_POLICY", policy},
                                                                    {"FP32_MATMUL_LOG", log},
                                                                    {"FP32_MATMUL_LOG_LEVEL", options.level}};
    for (const auto& [name, value] : variables) {
        if (!value.empty()) environment.set(name, value);
    }
    if (!options.floor.empty()) raise_floor(environment, options.floor);
    if (options.pin) {
        raise_floor(environment, "fp32");
        environment.set("FP32_MATMUL_ON_ERROR", "abort");
        for (const record::Pin& pin : record::all_pins) {
            const std::size_t equals = pin.entry.find('=');
            environment.set(pin.entry.substr(0, equals), pin.entry.substr(equals + 1));
        }
    }
}

std::string name_of_log(const RunOptions& options) { return options.log.empty() ? "FP32_MATMUL_LOG" : "--log"; }

/// As this process sees it; empty: none.
std::string log_path_here(const RunOptions& options, const policy::Policy& policy) {
    return options.log.empty() ? policy.log_path : options.log;
}

/// A name that is taken keeps no program from starting, since one that is started again and again would stay down;
/// but who wants a proof must not be answered by an earlier run's.
std::string problem_of_taken_log(const RunOptions& options, const record::ProcessFacts& facts) {
    const std::string taken = taken_by(options.log, facts);
    if (taken.empty()) return {};
    if (options.pin) {
        return fmt::format(
            "--log: {} is there already, and with --pin the recording must be a new one; remove it, or name another: "
            "with %p (process id) or %t (start time) in it each run has its own",
            policy::quoted_path(taken));
    }
    say_run(fmt::format(
        "--log: {} is there already and is kept; this run records under the next free number, {} or higher",
        policy::quoted_path(taken), policy::quoted_path(numbered(taken))));
    return {};
}

/// What is wrong with the log, so that the program should not start: that is for --log and --pin to ask. What the
/// environment names is warned of; what a policy names, for a whole fleet perhaps, is left to the shim, which says
/// what it cannot write.
std::string problem_of_log(const RunOptions& options, const policy::Policy& policy,
                           const ProcessEnvironment& environment, const record::ProcessFacts& facts) {
    if (policy.log_path == "stderr" && options.level == "calls")
        return "--level calls has no effect on the log stderr, which has each distinct decision once; leave it out, "
               "or name a file: --log NAME.jsonl";
    if (environment.get("FP32_MATMUL_LOG").empty()) return {};
    if (std::string problem = problem_of_destination(log_path_here(options, policy), facts); !problem.empty()) {
        problem = name_of_log(options) + ": " + problem;
        if (!options.log.empty() || options.pin) return problem;
        say_run(problem);
    }
    return problem_of_taken_log(options, facts);
}

/// The first error, and how many more there are; empty where all is well. Warnings are left to the shim.
std::string problem_of_settings(const policy::Loaded& loaded, const RunOptions& options,
                                const ProcessEnvironment& environment, const record::ProcessFacts& facts) {
    if (!loaded.errors.empty()) {
        policy::Diagnostic first = loaded.errors.front();
        if (first.where == "FP32_MATMUL_LOG") first.where = name_of_log(options);
        const std::size_t others = loaded.errors.size() - 1;
        return first.text() +
               (others == 0 ? "" : fmt::format(" (and {} more; fp32shim check shows all of a policy)", others));
    }
    if (loaded.policy.disabled) {
        if (options.pin || !options.floor.empty())
            return "FP32_MATMUL_DISABLE=1 switches off what --pin and --floor ask for; unset it";
        say_run("FP32_MATMUL_DISABLE=1 is set: the shim is switched off");
        return {};
    }
    return problem_of_log(options, loaded.policy, environment, facts);
}

/// Where JAX keeps what it compiles: a folder for these settings, where there is a cache at all.
void choose_compilation_cache(const policy::Policy& policy, const record::ProcessFacts& facts, bool says_so,
                              ProcessEnvironment& environment) {
    const std::string folder = environment.get(cache_variable);
    if (folder.empty()) return;
    const std::string chosen = cache_folder_for(policy, facts.pins, folder);
    if (chosen == folder) return;
    environment.set(cache_variable, chosen);
    if (says_so)
        say_run(fmt::format("{} is {} for the program: what JAX compiles depends on these settings", cache_variable,
                            policy::quoted_path(chosen)));
}

/// `recorded in run.fp32rec`: one file per process, so that there may be more than the one that was asked for.
std::string recorded_text(const std::vector<std::string>& paths) {
    if (paths.size() == 1) return "recorded in " + paths.front();
    constexpr std::size_t most = 10;
    std::string text = fmt::format("recorded in {} files, one per process: ", paths.size());
    for (std::size_t i = 0; i < std::min(most, paths.size()); ++i) (text += i == 0 ? "" : ", ") += paths[i];
    if (paths.size() > most) text += fmt::format(" and {} more", paths.size() - most);
    return text + "; name all of them to report and verify";
}

/// `roads`: that were loaded and multiply past the shim, as bypasses_text() has them.
std::string nothing_seen(const std::string& roads) {
    const std::string why = roads.empty() ? "float64 ones, numpy's default, do not count"
                                          : "the program had loaded what multiplies past the shim: " + roads;
    return fmt::format(
        "no float32 matrix product was recorded ({}); "
        "fp32shim doctor -- PROGRAM says what of a program goes past the shim",
        why);
}

std::string nothing_found(const std::string& log_path) {
    return fmt::format(
        "no recording was found under {}: the program may have made one in another folder, or could make none, or no "
        "float32 matrix product was seen",
        policy::quoted_path(log_path));
}

/// Of a program that ended before it could leave one: what it had loaded is not known.
void leave_empty_recording(const std::string& path, const policy::Policy& policy, const record::ProcessFacts& facts) {
    record::Recording::open(path, facts, record::make_start_event(FP32SHIM_VERSION, policy),
                            {.mode = policy.log_mode, .group = policy.log_group});
}

int failed_to_start(const std::string& program, int error) {
    // The file itself was found.
    say_run(fmt::format(
        "{}: {}", program,
        error == ENOENT ? "the interpreter or loader that it asks for is not there" : std::strerror(error)));
    return exit_code::not_executable;
}

int run(const RunOptions& options) {
    const ShimLibrary library = find_shim_library();
    if (!library.problem.empty()) return fail(library.problem);

    ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    apply(options, environment);
    const policy::Loaded loaded = policy::load(environment.views(), {});
    const record::ProcessFacts facts = record::gather_process_facts(environment.views());
    const std::string problem = problem_of_settings(loaded, options, environment, facts);
    if (!problem.empty()) return fail(problem);

    const std::string path_variable = environment.get("PATH");
    const ProgramFile program =
        find_program(options.words.front(), path_variable.empty() ? nullptr : path_variable.c_str());
    if (program.lookup != Lookup::found) {
        say_run(fmt::format("{}: {}", program.path, program.cause));
        return program.lookup == Lookup::not_found ? exit_code::not_found : exit_code::not_executable;
    }
    const Unseen unseen = why_unseen(program.path);
    const bool ends_under_preload = unseen.why == record::WhyUnseen::musl;
    if (!unseen.text.empty()) {
        if (options.pin)
            return fail(fmt::format("--pin: {} {}; start a program that the shim can be preloaded into", program.path,
                                    unseen.text));
        say_run(fmt::format(
            "{} {}: what it multiplies will not be seen, nor governed{}", program.path, unseen.text,
            ends_under_preload ? "; it is started without a preload, which would end it with status 127" : ""));
    }
    if (!ends_under_preload) preload(environment, library.path);

    // Of several ranks the first speaks.
    const bool has_summary = !loaded.policy.disabled && !options.quiet && facts.rank <= 0;
    choose_compilation_cache(loaded.policy, facts, has_summary, environment);
    const std::string log = loaded.policy.disabled ? std::string() : log_path_here(options, loaded.policy);
    if (!has_summary) {
        const RunChildren children(log, !options.log.empty(), environment, facts);
        if (!unseen.text.empty()) children.note(program.path, unseen.why);
        // Nothing is left to do here afterwards, so nothing stands between the program and whoever started it.
        return failed_to_start(program.path, replace_by_program(program.path, options.words, environment.entries()));
    }

    RunSummary summary(log, environment, facts);
    const bool is_own_log = summary.is_temporary() || !options.log.empty();
    const RunChildren children(summary.log_path(), is_own_log, environment, facts);
    if (!unseen.text.empty()) children.note(program.path, unseen.why);
    if (!summary.problem().empty()) {
        say_run(summary.problem());
        return failed_to_start(program.path, replace_by_program(program.path, options.words, environment.entries()));
    }
    const Ended ended = run_program(program.path, options.words, environment.entries());
    if (ended.exec_error != 0) return failed_to_start(program.path, ended.exec_error);
    std::signal(SIGPIPE, SIG_IGN);  // the program's exit status counts, whether or not anybody reads what follows
    const std::vector<std::string> recordings = summary.recordings(children.path());
    const std::string text = summary.read(recordings);
    std::fwrite(text.data(), 1, text.size(), stderr);
    if (!recordings.empty() && !summary.is_temporary()) say_run(recorded_text(recordings));
    if (!recordings.empty()) {
        if (!summary.has_calls()) say_run(nothing_seen(summary.bypasses()));
    } else if (unseen.text.empty()) {
        const std::string& path = loaded.policy.log_path;
        const bool is_certain =
            summary.is_temporary() || (is_folder_known(path, facts) && problem_of_destination(path, facts).empty());
        if (is_certain && !options.log.empty()) leave_empty_recording(path, loaded.policy, facts);
        say_run(is_certain ? nothing_seen({}) : nothing_found(path));
    }
    // Of the program itself one line has said so already.
    const std::string line = unseen.text.empty() ? children_line(children.all()) : std::string();
    if (!line.empty()) say_run(line);
    summary.remove_temporary_recordings();
    if (ended.signal != 0) end_by_signal(ended.signal);
    return ended.exit_status;
}

}  // namespace

Action define_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    add_word(
        app, "--precision", options->precision, policy::default_precision_words,
        "What products are asked to run at, where no rule of a policy says more; ieee and fp32 are highest, tf32 is "
        "high, bf16 is medium (FP32_MATMUL_PRECISION)");
    auto* floor = add_word(app, "--floor", options->floor, policy::floor_words,
                           "Nothing runs below this, whatever else is set; cannot loosen another floor");
    app.add_flag("--pin", options->pin,
                 "Strict: floor fp32; TF32, BF16x9 and oneDNN's BF16 off where the shim does not govern; a "
                 "policy with errors ends the program; one that cannot be preloaded into is not started; --log "
                 "NAME.fp32rec must be new")
        ->excludes(floor);
    add_name(app, "--policy", options->policy, "FILE", "A policy file (FP32_MATMUL_POLICY)");
    add_word(app, "--cpu", options->cpu, policy::cpu_mode_words,
             "What lower precisions do on the CPU (FP32_MATMUL_CPU)");
    add_name(app, "--log", options->log, "NAME",
             "Keep a log: NAME.fp32rec (NAME.1.fp32rec and so on where taken, and for children; %p in it is the "
             "process id), NAME.jsonl, or stderr (FP32_MATMUL_LOG)");
    add_word(app, "--level", options->level, policy::log_level_words,
             "What the log holds: distinct decisions, or every call (FP32_MATMUL_LOG_LEVEL)");
    app.add_flag("--quiet,-q", options->quiet, "No summary at the end");
    app.add_option("PROGRAM", options->words, "The program and its arguments")->required();
    return [options] { return run(*options); };
}

}  // namespace fp32shim::cli
