// Implements `fp32shim run`, which starts a program with the shim preloaded. Options become environment variables of
// the program. The program's input, output, signals and exit status stay its own.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/binaries/program_file.hpp"
#include "cli/binaries/shim_library.hpp"
#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/terminal.hpp"
#include "cli/run/child.hpp"
#include "cli/run/children.hpp"
#include "cli/run/log_destination.hpp"
#include "cli/run/process_environment.hpp"
#include "cli/run/program_variables.hpp"
#include "cli/run/summary.hpp"
#include "policy/load.hpp"
#include "policy/messages.hpp"
#include "policy/settings.hpp"
#include "record/log_path.hpp"
#include "record/pinned_variables.hpp"
#include "record/process_facts.hpp"
#include "record/write/writer.hpp"

namespace fp32shim::cli {
namespace {

struct RunOptions {
    std::string precision, floor, cpu, policy, log, level, where, audit;
    bool pin = false;
    bool reproducible = false;
    bool quiet = false;
    bool keeps_nothing = false;
    bool requires_rules = false;
    std::vector<std::string> words;  ///< the program and its arguments
};

void print_run_message(const std::string& message) { say("run", message); }

int fail(const std::string& message) {
    print_run_message(message);
    return exit_code::own_failure;
}

/// An option of `run` that has a value, and the environment variable that the option sets.
struct ValueOption {
    const char* name;
    const char* variable;
    std::string RunOptions::*value;
};
constexpr ValueOption value_options[] = {{"--precision", "FP32_MATMUL_PRECISION", &RunOptions::precision},
                                         {"--floor", nullptr, &RunOptions::floor},
                                         {"--cpu", "FP32_MATMUL_CPU", &RunOptions::cpu},
                                         {"--policy", "FP32_MATMUL_POLICY", &RunOptions::policy},
                                         {"--log", "FP32_MATMUL_LOG", &RunOptions::log},
                                         {"--level", "FP32_MATMUL_LOG_LEVEL", &RunOptions::level},
                                         {"--where", "FP32_MATMUL_WHERE", &RunOptions::where},
                                         {"--audit", "FP32_MATMUL_AUDIT", &RunOptions::audit}};

/// Returns the options that were given to `run`, as words of a command. Leaves out --log and options about the
/// summary.
std::vector<std::string> option_words(const RunOptions& options) {
    std::vector<std::string> words;
    if (options.pin) words.emplace_back("--pin");
    if (options.reproducible) words.emplace_back("--reproducible");
    for (const auto& [name, variable, value] : value_options)
        if (value != &RunOptions::log && !(options.*value).empty()) words.insert(words.end(), {name, options.*value});
    return words;
}

/// Sets the floor unless the environment has a stricter one. A value that cannot be read, perhaps a misspelt fp32, is
/// kept, so that an error is reported for it. Only the floor fp32 replaces it, because no floor is stricter.
void raise_floor(ProcessEnvironment& environment, const std::string& floor) {
    const std::string known = environment.get("FP32_MATMUL_FLOOR");
    const auto current = policy::parse_floor(known);
    const policy::Floor wanted = policy::parse_floor(floor).value_or(policy::Floor::none);
    const bool is_broken = !known.empty() && !current;
    if (wanted != policy::Floor::fp32 && (is_broken || current > wanted)) return;
    environment.set("FP32_MATMUL_FLOOR", floor);
}

/// Puts the library first in LD_PRELOAD, unless the list has it already.
void preload(ProcessEnvironment& environment, const std::string& library) {
    const std::string others = environment.get("LD_PRELOAD");
    const std::vector<std::string> entries = split_list(others, " :");
    if (std::ranges::count(entries, library) > 0) return;
    environment.set("LD_PRELOAD", others.empty() ? library : library + ':' + others);
}

/// Returns the value of FP32_MATMUL_LOG for a log's name. The name is made absolute, because the program may change
/// its working folder before its first product. An invalid name is returned unchanged; its error is reported later.
std::string log_variable(const std::string& name) {
    if (name.empty() || name == "stderr" || policy::problem_with_log_path(name)) return name;
    std::array<char, record::path_capacity> absolute;
    std::array<char, record::path_capacity> scratch;
    const std::string_view made = record::make_absolute_name(name, absolute, scratch);
    return made.empty() ? name : std::string(made);
}

/// Returns the value of FP32_MATMUL_POLICY for the name of a file. The name is made absolute, because the shim reads
/// the file at the first product and at each reload, and the program may have changed its working folder by then.
std::string policy_variable(const std::string& name) {
    if (name.empty()) return name;  // some C++ libraries turn an empty name into the working folder
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(name, error);
    return error ? name : absolute.string();
}

/// Sets the variables for the options. `--pin` also sets variables of libraries that bypass the shim.
void apply_options(const RunOptions& options, ProcessEnvironment& environment) {
    for (const auto& [name, variable, value] : value_options)
        if (variable != nullptr && !(options.*value).empty()) environment.set(variable, options.*value);
    if (!options.log.empty()) environment.set("FP32_MATMUL_LOG", log_variable(options.log));
    if (!options.policy.empty()) environment.set("FP32_MATMUL_POLICY", policy_variable(options.policy));
    const bool wants_all = options.pin || !options.where.empty();
    if ((wants_all || options.reproducible) && environment.get("FP32_MATMUL_ONEDNN").empty())
        environment.set("FP32_MATMUL_ONEDNN", "1");
    if (wants_all && environment.get("FP32_MATMUL_KERNELS").empty()) environment.set("FP32_MATMUL_KERNELS", "1");
    if (!options.floor.empty()) raise_floor(environment, options.floor);
    if (options.pin) {
        raise_floor(environment, "fp32");
        environment.set("FP32_MATMUL_ON_ERROR", "abort");
        for (const record::PinnedVariable& pin : record::all_pins) {
            const std::size_t equals = pin.entry.find('=');
            environment.set(pin.entry.substr(0, equals), pin.entry.substr(equals + 1));
        }
    }
}

/// Returns the log's name, which is absolute or relative to this process's working folder; empty if there is no log.
std::string log_path_here(const RunOptions& options, const policy::Policy& policy) {
    return options.log.empty() ? policy.log_path : options.log;
}

/// Returns an error for --pin if a recording with the same name exists, because `verify` would read that earlier
/// recording. Without --pin only a note is printed and the program starts, since an old file must not keep a service
/// from restarting.
std::string problem_with_existing_log(const RunOptions& options, const record::ProcessFacts& facts) {
    const std::string taken = existing_recording(options.log, facts);
    if (taken.empty()) return {};
    if (options.pin)
        return fmt::format(
            "--log: {} exists already, and --pin needs a new recording. Remove the file, or choose another name; "
            "with %p (process id) or %t (start time) in it, each run gets its own file.",
            policy::quoted_path(taken));
    print_run_message(
        fmt::format("--log: {} exists already and is kept; this run records under the next free number, {} or higher",
                    policy::quoted_path(taken), policy::quoted_path(with_number_before_extension(taken, 1))));
    return {};
}

/// Returns an error that prevents the program's start, or an empty text. A log that cannot be written is an error if
/// --log names the log. If FP32_MATMUL_LOG names it, such a log is an error with --pin and otherwise a warning. If a
/// policy names it, perhaps for a whole fleet, the shim itself warns.
std::string problem_with_log(const RunOptions& options, const policy::Policy& policy,
                             const ProcessEnvironment& environment, const record::ProcessFacts& facts) {
    if (policy.log_path == "stderr" && options.level == "calls")
        return "--level calls has no effect on stderr, which shows each distinct decision once; omit it, or log to a "
               "file: --log NAME.jsonl";
    if (environment.get("FP32_MATMUL_LOG").empty()) return {};
    if (std::string problem = problem_with_log_destination(log_path_here(options, policy), facts); !problem.empty()) {
        problem = (options.log.empty() ? "FP32_MATMUL_LOG: " : "--log: ") + problem;
        if (!options.log.empty() || options.pin) return problem;
        print_run_message(problem);
    }
    return problem_with_existing_log(options, facts);
}

/// Returns an error that prevents the program's start: the first error of the settings and the number of further
/// ones, or an error about the log; empty if there is none. The shim itself prints warnings.
std::string problem_with_settings(const policy::LoadedPolicy& loaded, const RunOptions& options,
                                  const ProcessEnvironment& environment, const record::ProcessFacts& facts) {
    if (!loaded.errors.empty()) {
        policy::Diagnostic first = loaded.errors.front();
        for (const auto& [name, variable, value] : value_options)
            if (variable != nullptr && first.where == variable && !(options.*value).empty()) first.where = name;
        const std::size_t others = loaded.errors.size() - 1;
        return first.text() +
               (others == 0 ? "" : fmt::format(" (and {} more; fp32shim check shows all of a policy)", others));
    }
    if (loaded.policy.disabled) {
        if (options.pin || options.reproducible || options.requires_rules || !options.floor.empty())
            return "FP32_MATMUL_DISABLE=1 switches off what --pin, --reproducible, --floor and --require-rules ask "
                   "for; unset it";
        print_run_message("FP32_MATMUL_DISABLE=1 is set: the shim is switched off");
        return {};
    }
    return problem_with_log(options, loaded.policy, environment, facts);
}

/// If JAX_COMPILATION_CACHE_DIR is set, changes it to a folder that only programs with equal settings share. Prints a
/// note if `says_so` is true.
void choose_compilation_cache(const policy::Policy& policy, const record::ProcessFacts& facts, bool says_so,
                              ProcessEnvironment& environment) {
    const std::string folder = environment.get(cache_variable);
    if (folder.empty()) return;
    const std::string chosen = jax_cache_folder(policy, facts.pins, folder);
    if (chosen == folder) return;
    environment.set(cache_variable, chosen);
    if (says_so)
        print_run_message(
            fmt::format("{} is set to {} for the program, because code that JAX compiles depends on these settings",
                        cache_variable, policy::quoted_path(chosen)));
}

/// Returns `recorded in run.fp32rec`, or a list of the recordings if there are several processes.
std::string recorded_text(const std::vector<std::string>& paths) {
    if (paths.size() == 1) return "recorded in " + paths.front();
    constexpr std::size_t most = 10;
    return fmt::format("recorded in {} files, one per process: {}. Give all of them to report and verify.",
                       paths.size(), listed(paths, most));
}

bool ends_under_preload(const PreloadObstacle& unseen) { return unseen.why == record::WhyUnseen::musl; }

std::string unseen_program_text(const ProgramFile& program, const PreloadObstacle& unseen) {
    return fmt::format("{} {}, so its products are neither seen nor controlled{}", program.path, unseen.text,
                       ends_under_preload(unseen)
                           ? "; it is started without the preload, because musl would end it with status 127"
                           : "");
}

/// Returns the message for a run without calls. `bypasses` is the text of RunSummary::bypasses(), and `ended` tells
/// how the program ended.
std::string no_calls_line(const std::string& bypasses, const ProgramEnd& ended) {
    const std::string why =
        bypasses.empty()
            ? ""
            : fmt::format(" (the program loaded libraries that multiply without the shim: {})", bypasses);
    return fmt::format(
        "no matrix product was recorded{}; {}fp32shim doctor -- PROGRAM lists bypasses in what it loads", why,
        ended.exit_status == 0 && ended.signal == 0 ? "" : "the program " + program_end_text(ended) + "; ");
}

std::string no_recording_line(const std::string& log_path) {
    return fmt::format(
        "no recording was found at {}: the program recorded elsewhere, could not record, removed its recording, "
        "or made no matrix product that is seen",
        policy::quoted_path(log_path));
}

/// Writes a recording without calls, for a program that ended before it made a recording. It does not contain the
/// libraries that the program had loaded. Returns an error, or an empty text.
std::string leave_empty_recording(const std::string& path, const policy::Policy& policy,
                                  const record::ProcessFacts& facts) {
    return record::Recording::open(path, facts, record::make_start_event(FP32SHIM_VERSION, policy),
                                   {.mode = policy.log_mode, .group = policy.log_group})
        .error;
}

/// The program to start, with the settings and the environment that were decided for it.
struct ProgramLaunch {
    const RunOptions& options;
    const policy::Policy& policy;
    const record::ProcessFacts& facts;
    const ProgramFile& program;
    const PreloadObstacle& unseen;
    ProcessEnvironment& environment;

    /// Chooses the file for children that the shim does not cover. If it does not cover the program itself, notes
    /// this in the file.
    RunChildrenFile children(const std::string& log_path, bool is_own_log, ProgramProcess process) const {
        RunChildrenFile children(log_path, is_own_log, process, environment, facts);
        if (!unseen.text.empty()) children.add_unseen_program(program.path, unseen.why);
        return children;
    }
};

int failed_to_start(const ProgramFile& program, int error) {
    // The program's file was found before, so ENOENT means that its interpreter or loader is missing.
    print_run_message(fmt::format(
        "{}: {}", program.path, error == ENOENT ? "its interpreter or loader does not exist" : std::strerror(error)));
    return exit_code::not_executable;
}

/// Replaces this process by the program. Returns an exit code if that fails.
int become_program(const ProgramLaunch& launch) {
    return failed_to_start(
        launch.program, replace_by_program(launch.program.path, launch.options.words, launch.environment.entries()));
}

/// Explains why the program left no recording. If it is certain that no call was seen, makes an empty recording,
/// which fails if the program's own recording may have failed, too.
std::string no_recording_text(const ProgramLaunch& launch, const RunSummary& summary, const RunChildrenFile& children,
                              const RunEnding& ending, const ProgramEnd& ended) {
    const bool is_own = launch.policy.log_path.empty();  // the recording is kept in .fp32shim, or temporary
    const std::string& path = is_own ? summary.log_path() : launch.policy.log_path;
    const bool is_certain =
        !ending.has_lost_recordings &&
        (summary.has_temporary_folder() ||
         (is_log_folder_known(path, launch.facts) && problem_with_log_destination(path, launch.facts).empty()));
    if (is_certain && (is_own || !launch.options.log.empty())) {
        record::ProcessFacts facts = launch.facts;
        facts.run = children.run_number();
        facts.run_is_awaited = children.is_awaited();
        if (const std::string error = leave_empty_recording(path, launch.policy, facts); !error.empty())
            return "what the program multiplied is not known: " + error;
        if (children.is_awaited()) note_run_end(summary.run_ending(children, launch.facts));
    }
    return is_certain ? no_calls_line(summary.bypasses(), ended) : no_recording_line(path);
}

/// Prints which folder is kept, or why no folder is kept.
void print_kept_folder(const ProgramLaunch& launch, const RunSummary& summary,
                       const std::vector<std::string>& recordings) {
    if (!summary.why_not_kept().empty())
        print_run_message(
            fmt::format("nothing was kept: .fp32shim {}; --log NAME.fp32rec keeps a recording elsewhere",
                        summary.why_not_kept()));
    if (recordings.empty() || summary.kept_folder().empty()) return;
    print_run_message("recorded in " + summary.kept_folder() +
                      (launch.facts.rank < 0
                           ? ""
                           : "; the fp32shim run of another rank keeps nothing without --log NAME.%r.fp32rec"));
}

/// Prints the summary of a program that has ended.
void print_summary(const ProgramLaunch& launch, RunSummary& summary, const RunChildrenFile& children,
                   const RunEnding& ending, const ProgramEnd& ended, std::int64_t program_ns) {
    const std::vector<std::string>& recordings = ending.recordings;
    const std::string text = summary.summarize(recordings, children, program_ns);
    print(wrapped(text, STDERR_FILENO), STDERR_FILENO);
    if (!recordings.empty() && !summary.has_temporary_folder() && summary.kept_folder().empty())
        print_run_message(recorded_text(recordings));
    if (!recordings.empty() && !summary.has_calls()) print_run_message(no_calls_line(summary.bypasses(), ended));
    if (const std::string& asked = launch.options.precision;
        summary.has_calls() && !summary.has_single_precision() && !asked.empty() && asked != "native")
        print_run_message(fmt::format(
            "--precision {} reached no product: it is for float32 and complex64, and no product of such matrices was "
            "recorded",
            asked));
    if (!launch.unseen.text.empty())
        return;  // a message before the start has already said that nothing would be seen
    if (recordings.empty()) print_run_message(no_recording_text(launch, summary, children, ending, ended));
    if (const std::string line = unseen_children_line(children.read_children()); !line.empty())
        print_run_message(line);
    if (const std::string line = still_running_line(ending); !line.empty()) print_run_message(line);
    if (launch.policy.floor >= policy::Floor::fp32 && summary.may_use_tf32_of_cudnn())
        print_run_message(
            "the floor does not reach cuDNN, whose convolutions and recurrent layers may run at TF32 unless the "
            "program forbids it (ResNet-18 on an H200: an error of 3.2e-4); --pin switches its TF32 off");
    const std::string next =
        summary.next_commands(recordings, option_words(launch.options), launch.options.words, launch.policy.floor);
    print(wrapped(next, STDERR_FILENO), STDERR_FILENO);
}

int run_with_summary(const ProgramLaunch& launch, const std::string& log) {
    RunSummary summary(log, !launch.options.keeps_nothing, launch.environment);
    if (launch.options.requires_rules && !summary.problem().empty())
        return fail("--require-rules needs the summary, so the program was not started: " + summary.problem());
    const bool is_own_log = log.empty() || !launch.options.log.empty();
    const ProgramProcess process = summary.problem().empty() ? ProgramProcess::child : ProgramProcess::own;
    const RunChildrenFile children = launch.children(summary.log_path(), is_own_log, process);
    if (!summary.problem().empty()) {
        print_run_message(summary.problem());
        return become_program(launch);
    }
    const auto begin = std::chrono::steady_clock::now();
    const ProgramEnd ended = run_program(launch.program.path, launch.options.words, launch.environment.entries());
    if (ended.exec_error != 0) {
        children.remove_file();
        summary.remove_folder();
        return failed_to_start(launch.program, ended.exec_error);
    }
    std::signal(SIGPIPE, SIG_IGN);  // the exit status must be the program's own even if nobody reads the summary
    const std::chrono::nanoseconds program_time = std::chrono::steady_clock::now() - begin;
    const RunEnding ending = summary.run_ending(children, launch.facts);
    if (children.is_awaited()) note_run_end(ending);
    print_summary(launch, summary, children, ending, ended, program_time.count());
    print_kept_folder(launch, summary, ending.recordings);
    summary.remove_temporary_recordings();
    if (ended.signal != 0) end_self_by_signal(ended.signal);
    const bool lacks_rule = summary.has_unused_rule() || (!summary.has_calls() && !launch.policy.rules.empty());
    return ended.exit_status == 0 && launch.options.requires_rules && lacks_rule ? exit_code::finding
                                                                                 : ended.exit_status;
}

int start_program(const ProgramLaunch& launch) {
    // Of several ranks (MPI), only the first prints a summary.
    const bool has_summary = !launch.policy.disabled && !launch.options.quiet && launch.facts.rank <= 0;
    choose_compilation_cache(launch.policy, launch.facts, has_summary, launch.environment);
    const std::string log = launch.policy.disabled ? std::string() : log_path_here(launch.options, launch.policy);
    const bool is_kept = has_summary && log.empty() && !launch.options.keeps_nothing;
    if (!is_kept && launch.facts.run == 0 && launch.facts.rank <= 0) mark_run_not_kept();
    if (has_summary) return run_with_summary(launch, log);
    launch.children(log, !launch.options.log.empty(), ProgramProcess::own);
    return become_program(launch);
}

int run(const RunOptions& options) {
    const ShimLibrary library = find_shim_library();
    if (!library.problem.empty()) return fail(library.problem);

    ProcessEnvironment environment = ProcessEnvironment::of_this_process();
    apply_options(options, environment);
    const std::vector<std::string> lines =
        options.reproducible ? set_reproducible_variables(environment) : std::vector<std::string>{};
    const policy::LoadedPolicy loaded = policy::load_policy(environment.entry_views(), {});
    const record::ProcessFacts facts = record::gather_process_facts(environment.entry_views());
    const std::string problem = problem_with_settings(loaded, options, environment, facts);
    if (!problem.empty()) return fail(problem);
    const std::string path_variable = environment.get("PATH");
    const ProgramFile program =
        find_program(options.words.front(), path_variable.empty() ? nullptr : path_variable.c_str());
    if (program.lookup != Lookup::found) {
        print_run_message(fmt::format("{}: {}", program.path, program.cause));
        return program.lookup == Lookup::not_found ? exit_code::not_found : exit_code::not_executable;
    }
    const PreloadObstacle unseen = find_preload_obstacle(program.path);
    if (!unseen.text.empty()) {
        if (options.pin)
            return fail(fmt::format("--pin: {} {}, so it cannot be preloaded into, and was not started", program.path,
                                    unseen.text));
        print_run_message(unseen_program_text(program, unseen));
    } else if (!options.quiet) {
        for (const std::string& line : lines) print_run_message(line);
    }
    if (!ends_under_preload(unseen)) {
        preload(environment, library.path);
        if (const std::string lack = set_nvtx_receiver(loaded.policy, library.path, environment); !lack.empty())
            print_run_message(lack);
    }
    if (const std::string lack = add_python_startup_file(loaded.policy, environment); !lack.empty())
        print_run_message(lack);
    if (loaded.policy.audit_fingerprint && !loaded.policy.disabled && log_path_here(options, loaded.policy).empty() &&
        (options.quiet || options.keeps_nothing || facts.rank > 0))
        print_run_message(
            fmt::format("audit: fingerprints are kept only in recordings; {}add --log NAME.fp32rec",
                        options.quiet && !options.keeps_nothing && facts.rank <= 0 ? "leave out -q, or " : ""));
    // Only the program's variables get absolute names, so that messages show the names as they were given.
    if (const std::string log = environment.get("FP32_MATMUL_LOG"); !log.empty())
        environment.set("FP32_MATMUL_LOG", log_variable(log));
    if (const std::string policy = environment.get("FP32_MATMUL_POLICY"); !policy.empty())
        environment.set("FP32_MATMUL_POLICY", policy_variable(policy));
    return start_program({options, loaded.policy, facts, program, unseen, environment});
}

}  // namespace

Action define_run(CLI::App& app) {
    auto options = std::make_shared<RunOptions>();
    add_word(app, "--precision", options->precision, policy::default_precision_words,
             "Precision of products for which no rule names one; ieee and fp32 mean highest, tf32 means high, bf16 "
             "means medium (FP32_MATMUL_PRECISION)");
    auto* floor = add_word(app, "--floor", options->floor, policy::floor_words,
                           "Nothing runs below this, whatever else is set; a stricter floor still applies");
    app.add_flag(
           "--pin", options->pin,
           "Strict: floor fp32; TF32, BF16x9 and oneDNN's BF16 off in libraries that the shim does not control; a "
           "policy with errors ends the program; the program is not started if it cannot be preloaded into, or if "
           "--log NAME.fp32rec exists")
        ->excludes(floor);
    add_name(app, "--policy", options->policy, "FILE", "Policy file (FP32_MATMUL_POLICY)");
    auto* cpu = add_word(app, "--cpu", options->cpu, policy::cpu_mode_words,
                         "Effect of lower precisions on the CPU (FP32_MATMUL_CPU)");
    app.add_flag("--reproducible", options->reproducible,
                 "The same bits on every machine, for products of a CPU: --cpu reproducible, and variables "
                 "that make OpenBLAS, MKL, PyTorch and oneDNN choose the same code everywhere")
        ->excludes(cpu);
    auto* log = add_name(
        app, "--log", options->log, "NAME",
        "Keep a log: NAME.fp32rec (NAME.1.fp32rec and so on if taken, and for children; %p is the process id), "
        "NAME.jsonl, or stderr (FP32_MATMUL_LOG); without one, the last runs are kept in .fp32shim/");
    app.add_flag("--no-log", options->keeps_nothing,
                 "Keep nothing in .fp32shim/; a log that the environment or a policy names is still written")
        ->excludes(log);
    add_word(app, "--level", options->level, policy::log_level_words,
             "Contents of the log: distinct decisions, or every call (FP32_MATMUL_LOG_LEVEL)");
    add_name(app, "--where", options->where, "LIST",
             "Record where each call came from; a list such as python,nvtx, or auto (FP32_MATMUL_WHERE)")
        ->check([](const std::string& list) {
            policy::LocationSourceSet where;
            return policy::parse_location_sources(list, where);
        });
    add_name(app, "--audit", options->audit, "LIST",
             "Audit products: a fraction of calls such as 0.01, fingerprint, nonfinite, float64, with commas between "
             "them (FP32_MATMUL_AUDIT)");
    auto* quiet = app.add_flag("--quiet,-q", options->quiet, "No summary at the end, and no recording without a log");
    app.add_flag("--require-rules", options->requires_rules,
                 "End with status 1 if the program ends with 0 but a rule of the policy decided no call")
        ->excludes(quiet);
    app.add_option("PROGRAM", options->words, "The program and its arguments")->required();
    return [options] { return run(*options); };
}

}  // namespace fp32shim::cli
