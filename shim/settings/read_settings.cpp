#include "shim/settings/read_settings.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/exceptions.hpp"
#include "policy/load.hpp"
#include "policy/words.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/memory/arena.hpp"
#include "shim/memory/own_memory.hpp"
#include "system/inline_text.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

extern "C" void*
    __libc_stack_end;  // defined by the loader; NOLINT(bugprone-reserved-identifier,readability-identifier-naming)

namespace fp32shim {
namespace {

constinit std::atomic<record::FamilyFacts (*)()> process_family_function{nullptr};

bool has_elevated_rights() { return getauxval(AT_SECURE) != 0; }

/// Returns the first error and the number of further errors, in one line for the user.
std::string summary_of(const std::vector<policy::Diagnostic>& errors) {
    std::string text = errors.front().text();
    if (errors.size() > 1) text += " (and " + std::to_string(errors.size() - 1) + " more)";
    return text;
}

void apply_on_error(policy::Policy& policy) {
    switch (policy.on_error) {
        case policy::OnError::abort:
            std::abort();
        case policy::OnError::highest:
            policy.default_precision = policy::Precision::highest;
            policy.default_source = policy::Source::environment;
            policy.rules.clear();
            return;
        case policy::OnError::continue_untouched:
            policy.cpu_mode = policy::CpuMode::off;
            policy.default_precision = policy::Precision::native;
            policy.default_source = policy::Source::native;
            policy.rules.clear();
            policy.pedantic = false;
            policy.accumulate = policy::Accumulate::as_called;
            policy.algorithms = {};
            return;
    }
}

std::string_view consequence_of(const policy::LoadedPolicy& loaded) {
    switch (loaded.policy.on_error) {
        case policy::OnError::abort:
            return loaded.has_on_error_variable ? "; ending the process (FP32_MATMUL_ON_ERROR=abort)"
                                                : "; ending the process because a floor is asked for";
        case policy::OnError::highest:
            return "; everything runs at highest (FP32_MATMUL_ON_ERROR=highest)";
        case policy::OnError::continue_untouched:
            return loaded.policy.floor == policy::Floor::none
                       ? "; the program runs as if fp32shim were not loaded"
                       : "; the program runs as if fp32shim were not loaded, except that its floor applies";
    }
    return {};
}

// The next two functions are called when a forked child begins a log or recording of its own. At that time
// known_settings() is not nullptr, because the parent has a log and so has read the settings.
const record::StartEvent& start_in_force() { return known_settings()->start; }
record::SettingsInForce settings_to_record() { return {&start_in_force(), process_precision(), process_floor()}; }

/// Opens the recording that the policy names. If that fails, prints a line on stderr and returns nullptr.
record::Recording* open_recording(const Settings& settings) {
    const policy::Policy& policy = settings.policy;
    const record::RecordingSettings limits{.max_size = policy.log_max_size,
                                           .on_full = policy.log_on_full,
                                           .mode = policy.log_mode,
                                           .group = policy.log_group,
                                           .record_loaded_objects = record_loaded_files,
                                           .settings_in_force = settings_to_record,
                                           .process_family = process_family_function.load(std::memory_order_acquire)};
    const record::Recording::OpenResult opened =
        record::Recording::open(policy.log_path, settings.facts, settings.start, limits);
    if (opened.recording == nullptr) {
        system::stderr_line(opened.error);
        if (limits.process_family != nullptr) record::count_process_without_recording(limits.process_family());
    }
    return opened.recording;
}

/// Opens the log of JSON lines that the policy names. If that fails, prints a line on stderr and returns nullptr.
record::DecisionLog* open_json_lines(const Settings& settings) {
    const policy::Policy& policy = settings.policy;
    auto log = std::make_unique<record::DecisionLog>();
    auto buffer = std::make_unique<std::array<char, record::log_buffer_size>>();
    const std::string problem = log->open(policy.log_path, settings.facts, settings.start, record::LogBuffer(*buffer),
                                          policy.log_mode, start_in_force);
    if (problem.empty()) return log.release();
    system::stderr_line(problem);
    return nullptr;
}

void open_log(Settings& settings, const Settings* previous) {
    const policy::Policy& policy = settings.policy;
    const std::string& path = policy.log_path;
    settings.start = record::make_start_event(FP32SHIM_VERSION, policy);
    settings.start.rules = policy.rules;
    if (log_kind(path) == LogKind::recording)
        settings.start.log_level = logs_every_call(policy) ? policy::LogLevel::calls : policy::LogLevel::summary;
    if (previous != nullptr && previous->policy.log_path == path) {
        settings.log = previous->log;
        settings.log_to_stderr = previous->log_to_stderr;
        settings.recording = previous->recording;
        return;
    }
    if (path.empty()) return;
    record::use_kernel_clock_if_needed();
    switch (log_kind(path)) {
        case LogKind::none:
            return;
        case LogKind::stderr_lines:
            settings.log_to_stderr = true;
            return;
        case LogKind::json_lines:
            settings.log = open_json_lines(settings);
            return;
        case LogKind::recording:
            settings.recording = open_recording(settings);
            return;
    }
}

/// Returns the kind of the log that was opened; LogKind::none if none was.
LogKind kind_of_open_log(const Settings& settings) {
    if (settings.recording != nullptr) return LogKind::recording;
    if (settings.log != nullptr) return LogKind::json_lines;
    return settings.log_to_stderr ? LogKind::stderr_lines : LogKind::none;
}

bool is_setting(std::string_view entry) {
    return entry.starts_with("FP32_MATMUL_") || entry.starts_with(record::run_variable);
}

struct StartVariable {
    std::string_view entry;
    const StartVariable* next;
};
constinit std::atomic<const StartVariable*> start_variables{nullptr};
constinit std::atomic<bool> are_start_variables_kept{false};

/// Returns the environment with which the process started. A program with a DT_PREINIT_ARRAY can multiply before the
/// C library knows the environment. In that case, finds the environment on the stack, where the kernel put the number
/// of arguments, the arguments, NULL and the environment.
char** environment_at_start() {
    if (environ != nullptr) return environ;
    auto** arguments = static_cast<char**>(__libc_stack_end) + 1;
    const auto count = *static_cast<const long*>(__libc_stack_end);
    return arguments + count + 1;
}

/// Keeps a copy of the shim's variables. A daemon may clear or overwrite its environment long before it multiplies,
/// but a floor in the environment must stay in force.
__attribute__((constructor)) void keep_start_variables() {
    if (are_start_variables_kept.load(std::memory_order_acquire)) return;
    char** const begin = environment_at_start();
    char** entry = begin;
    while (*entry != nullptr) ++entry;
    const StartVariable* first = nullptr;
    while (entry != begin)
        if (is_setting(*--entry)) first = arena_new<StartVariable>(arena_copy(*entry), first);
    // The list is stored when it is complete. If two threads run this function at the same time, both find the same
    // variables.
    start_variables.store(first, std::memory_order_release);
    are_start_variables_kept.store(true, std::memory_order_release);
}

/// Returns the environment as it was at the first call of this function, also for later reloads. If the environment
/// had none of the shim's variables, the variables with which the process started are added.
const policy::Environment& first_environment() {
    static constinit std::atomic<policy::Environment*> copy{nullptr};
    policy::Environment* known = copy.load(std::memory_order_acquire);
    if (known == nullptr) {
        keep_start_variables();  // a product may run before this library's constructors
        // The copy is stored when it is complete. A child that is forked before then makes its own copy.
        known = new policy::Environment;
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
            known->push_back(arena_copy(*entry));
        if (std::none_of(known->begin(), known->end(), is_setting))
            for (const StartVariable* variable = start_variables.load(std::memory_order_acquire); variable != nullptr;
                 variable = variable->next)
                known->push_back(variable->entry);
        copy.store(known, std::memory_order_release);
    }
    return *known;
}

constinit std::atomic<bool> log_was_changed{false};

/// Compares the environment from which settings are read with the one with which the process started. Stores the
/// result in `log_was_changed`, which no code reads in a process that started with FP32_MATMUL_DISABLE=1.
void note_changed_log(const policy::Environment& environment) {
    const auto has_changed = [&](std::string_view name) {
        return policy::value_of(environment, name) != value_at_start(name);
    };
    const bool is_changed = has_changed("FP32_MATMUL_LOG") ||
                            std::ranges::count(environment, "FP32_MATMUL_DISABLE=1") > 0 ||
                            (value_at_start("FP32_MATMUL_LOG").empty() && has_changed("FP32_MATMUL_POLICY"));
    log_was_changed.store(is_changed, std::memory_order_release);
}

struct SettingsReading {
    const Settings* previous = nullptr;  ///< settings in force before a reload; nullptr at the first reading
    Settings* settings = nullptr;        ///< new settings; nullptr if reading failed, or if a reload found errors

    bool is_reload() const { return previous != nullptr; }
};

/// Warns about requested audits and fingerprints that are not made, because only recordings can keep them.
void warn_needs_recording(const Settings& settings) {
    if (settings.policy.audit_sample > 0 && !settings.audits)
        system::stderr_line(
            "audit: nothing is audited, because errors are kept only in recordings; set "
            "FP32_MATMUL_LOG=NAME.fp32rec");
    if (settings.policy.audit_fingerprint && !settings.fingerprints)
        system::stderr_line("audit: fingerprints are kept only in recordings; set FP32_MATMUL_LOG=NAME.fp32rec");
}

/// Returns true if the environment asks the start-up file of Python programs to open scopes for modules of PyTorch.
bool has_module_paths(const policy::Environment& environment) {
    const auto names = [](std::string_view entry, std::string_view word) {
        const auto are_same = [](char letter, char of_word) { return policy::lower_case(letter) == of_word; };
        return std::search(entry.begin(), entry.end(), word.begin(), word.end(), are_same) != entry.end();
    };
    return std::ranges::any_of(environment, [&](std::string_view entry) {
        return entry.starts_with("FP32_MATMUL_WHERE=") && (names(entry, "torch") || names(entry, "auto"));
    });
}

void read(SettingsReading& reading) {
    const policy::Environment& environment = first_environment();
    note_changed_log(environment);

    policy::PolicyLoadOptions options;
    options.elevated = has_elevated_rights();
    policy::LoadedPolicy loaded = policy::load_policy(environment, options);

    auto settings = std::make_unique<Settings>();
    std::string complaint;
    if (!loaded.errors.empty()) {
        complaint = summary_of(loaded.errors);
        if (reading.is_reload()) {
            system::stderr_line(complaint + "; the settings are unchanged");
            return;
        }
        complaint += consequence_of(loaded);
        system::stderr_line(complaint);
        apply_on_error(loaded.policy);
    }
    for (const policy::Diagnostic& warning : loaded.warnings) system::stderr_line(warning.text());

    settings->policy = std::move(loaded.policy);
    // The facts are gathered only if rules or a log need them, because a sandbox may kill a process for the system
    // calls.
    if (!settings->policy.rules.empty() || !settings->policy.log_path.empty()) {
        settings->facts = record::gather_process_facts(environment);
        settings->facts.pins &= ~pins_without_effect.load(std::memory_order_relaxed);
        settings->process = {system::base_name(settings->facts.executable), settings->facts.command,
                             settings->facts.host};
    }
    if (reading.is_reload()) settings->generation = reading.previous->generation + 1;
    if (settings->policy.log_onednn) enable_getenv_bypass_check();
    if (settings->policy.log_kernels) enable_driver_bypass_check();
    if (!settings->policy.disabled && !options.elevated) open_log(*settings, reading.previous);
    settings->policy.audit_sample = effective_audit_sample(settings->policy);
    static_cast<DerivedSettings&>(*settings) =
        derive_settings(settings->policy, {.has_elevated_rights = options.elevated,
                                           .has_module_paths = has_module_paths(environment),
                                           .log = kind_of_open_log(*settings)});
    // If a reload begins or ends the recording of kernels, a recording has only some of the kernels that the process
    // launches.
    if (reading.is_reload() && settings->asks_kernels != reading.previous->asks_kernels)
        for (record::Recording* const recording : {settings->recording, reading.previous->recording})
            if (recording != nullptr) recording->mark_kernels_missed();
    if (!settings->forward_everything && !reading.is_reload()) warn_needs_recording(*settings);
    if (!complaint.empty() && settings->log != nullptr) {
        auto buffer = std::make_unique<std::array<char, record::log_buffer_size>>();
        settings->log->write(record::ErrorEvent{record::ErrorCode::bad_setting, complaint},
                             record::LogBuffer(*buffer));
    }
    reading.settings = settings.release();
}

void warn_settings_not_read(const SettingsReading& reading, std::string_view why) {
    char buffer[256];
    system::LineWriter line(buffer);
    line.text("the settings could not be read: ").escaped(why, 100);
    line.text(reading.is_reload() ? "; they are unchanged" : "; the program runs as if fp32shim were not loaded");
    system::stderr_line(line.view());
}

void read_and_catch(void* argument) {
    auto& reading = *static_cast<SettingsReading*>(argument);
    try {
        read(reading);
    } catch (const std::exception& problem) {
        warn_settings_not_read(reading, problem.what());
    } catch (...) {
        warn_settings_not_read(reading, "an exception of unknown kind");
    }
}

void read_settings_or_forward(void* argument) {
    if (!run_while_memory_lasts(read_and_catch, argument))
        warn_settings_not_read(*static_cast<const SettingsReading*>(argument), "out of memory");
}

}  // namespace

std::string_view value_at_start(std::string_view name) {
    for (const StartVariable* variable = start_variables.load(std::memory_order_acquire); variable != nullptr;
         variable = variable->next) {
        const std::string_view entry = variable->entry;
        if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=')
            return entry.substr(name.size() + 1);
    }
    return {};
}

bool may_be_set_at_start(std::string_view variable) {
    keep_start_variables();
    const std::string_view value = value_at_start(variable);
    return (!value.empty() && value != "0") || !value_at_start("FP32_MATMUL_POLICY").empty();
}

const Settings* settings_if_wanted(std::string_view variable) {
    return known_settings() != nullptr || may_be_set_at_start(variable) ? &settings() : nullptr;
}

Settings* read_settings(const Settings* previous) {
    SettingsReading reading{.previous = previous};
    run_on_own_stack(read_settings_or_forward, &reading);
    return reading.settings;
}

bool has_changed_log() { return log_was_changed.load(std::memory_order_acquire); }

void set_process_family_function(record::FamilyFacts (*source)()) {
    process_family_function.store(source, std::memory_order_release);
}

}  // namespace fp32shim
