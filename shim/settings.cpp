#include "shim/settings.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/load.hpp"
#include "shim/arena.hpp"
#include "shim/entry/gate.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/own_memory.hpp"
#include "shim/thread_context.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"
#include "system/stderr_line.hpp"
#include "system/this_process.hpp"

// A program built with the thread sanitizer sees what we do through the C library's functions (malloc, memcmp), but
// not our atomics. It is told about the one hand-over between threads that goes through such memory. Absent
// elsewhere.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
extern void* __libc_stack_end;  // of the loader
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace fp32shim {

constinit std::atomic<const Settings*> settings_in_force{nullptr};

namespace {

// Who reads them; 0: nobody. In one word: a signal handler that multiplies must know at any time whether it has
// interrupted the reader.
//
//     63             32 31        0
//     | this_process() | thread id |
constinit std::atomic<std::uint64_t> reader{0};
constinit std::atomic<std::uint8_t> override_count{0};
constinit std::atomic<int> process_precision_value{-1};
constinit std::atomic<policy::Floor> process_floor_value{policy::Floor::none};
constinit std::atomic<bool> scopes_seen{false};

void put_in_force(const Settings* settings) {
    if (__tsan_release != nullptr) __tsan_release(&settings_in_force);
    settings_in_force.store(settings, std::memory_order_release);
}

// Reading a policy needs 12 KB of stack and, for hostile nesting, hundreds; the thread that makes the first call may
// have 16 KB in all.
constexpr std::size_t reading_stack_size = 2 << 20;

// Where there is no memory for that: enough for all but the worst, and nobody else reads at the same time.
alignas(64) constinit char spare_stack[128 << 10]{};

void on_own_stack(void (*function)(void*), void* argument) {
    void* stack = mmap(nullptr, reading_stack_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        fp32shim_call_on_stack(function, argument, spare_stack + sizeof spare_stack);
    } else {
        fp32shim_call_on_stack(function, argument, static_cast<char*>(stack) + reading_stack_size);
        munmap(stack, reading_stack_size);
    }
}

/// Runs something while the thread cannot be cancelled. Reading files is a cancellation point, others wait for who
/// reads, and a thread must not unwind out of the other stack.
template <class Function>
auto without_cancellation(Function function) {
    int cancel_state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    const auto result = function();
    pthread_setcancelstate(cancel_state, nullptr);  // no destructor: the thread may end here
    return result;
}

bool has_elevated_rights() { return getauxval(AT_SECURE) != 0; }

/// The first error, and how many more there are: one line is all that a program's users are asked to read.
std::string summary_of(const std::vector<policy::Diagnostic>& errors) {
    std::string text = errors.front().text();
    if (errors.size() > 1) text += " (and " + std::to_string(errors.size() - 1) + " more)";
    return text;
}

void obey_on_error(policy::Policy& policy) {
    switch (policy.on_error) {
        case policy::OnError::abort:
            std::abort();
        case policy::OnError::highest:
            policy.default_precision = policy::Precision::highest;
            policy.default_source = policy::Source::environment;
            policy.rules.clear();
            return;
        case policy::OnError::continue_untouched:
            policy.default_precision = policy::Precision::native;
            policy.default_source = policy::Source::native;
            policy.rules.clear();
            return;
    }
}

std::string_view consequence_of(policy::OnError on_error) {
    switch (on_error) {
        case policy::OnError::abort:
            return "; ending the process (FP32_MATMUL_ON_ERROR=abort)";
        case policy::OnError::highest:
            return "; everything runs at highest (FP32_MATMUL_ON_ERROR=highest)";
        case policy::OnError::continue_untouched:
            return "; the program runs as without fp32shim";
    }
    return {};
}

// For the log or recording that a forked child begins: there are settings then, since its ancestor logged.
const record::StartEvent& start_in_force() { return known_settings()->start; }
record::InForce what_is_in_force() { return {&start_in_force(), process_precision(), process_floor()}; }

void open_log(Settings& settings, const Settings* previous) {
    const policy::Policy& policy = settings.policy;
    const std::string& path = policy.log_path;
    const bool is_recording = path.ends_with(".fp32rec");
    settings.log_every_call =
        is_recording ? policy.log_level == policy::LogLevel::calls : policy.log_level != policy::LogLevel::summary;
    settings.start = record::make_start_event(FP32SHIM_VERSION, policy);
    if (is_recording)
        settings.start.log_level = settings.log_every_call ? policy::LogLevel::calls : policy::LogLevel::summary;
    if (previous != nullptr && previous->policy.log_path == path) {
        settings.log = previous->log;
        settings.log_to_stderr = previous->log_to_stderr;
        settings.recording = previous->recording;
        return;
    }
    if (path.empty()) return;
    if (path == "stderr") {
        settings.log_to_stderr = true;
        return;
    }
    if (is_recording) {
        const record::RecordingSettings limits{.max_size = policy.log_max_size,
                                               .on_full = policy.log_on_full,
                                               .mode = policy.log_mode,
                                               .group = policy.log_group,
                                               .look_at_objects = note_loaded_files,
                                               .settings_in_force = what_is_in_force};
        const record::Recording::Opened opened =
            record::Recording::open(path, settings.facts, settings.start, limits);
        if (opened.recording == nullptr) system::stderr_line(opened.error);
        settings.recording = opened.recording;
        return;
    }
    auto log = std::make_unique<record::DecisionLog>();
    auto buffer = std::make_unique<std::array<char, record::log_buffer_size>>();
    const std::string problem =
        log->open(path, settings.facts, settings.start, record::LogBuffer(*buffer), policy.log_mode, start_in_force);
    if (!problem.empty()) {
        system::stderr_line(problem);
        return;
    }
    settings.log = log.release();
}

struct SettingsReading {
    bool is_reload = false;
    Settings* settings = nullptr;  ///< stays nullptr where a reload found errors
};

bool is_setting(std::string_view entry) {
    return entry.starts_with("FP32_MATMUL_") || entry.starts_with(record::run_variable);
}

struct StartVariable {
    std::string_view entry;
    const StartVariable* next;
};
constinit std::atomic<const StartVariable*> start_variables{nullptr};
constinit std::atomic<bool> start_is_kept{false};

/// The environment that the process was started with. A program whose DT_PREINIT_ARRAY multiplies does so before the
/// C library knows it; then it still stands where the kernel put it: number of arguments, arguments, NULL,
/// environment.
char** start_environment() {
    if (environ != nullptr) return environ;
    auto** arguments = static_cast<char**>(__libc_stack_end) + 1;
    const auto count = *static_cast<const long*>(__libc_stack_end);
    return arguments + count + 1;
}

/// A daemon may clear its environment, or write over its bytes, long before it multiplies: a floor has to outlast
/// that.
__attribute__((constructor)) void keep_start_variables() {
    if (start_is_kept.load(std::memory_order_acquire)) return;
    char** const begin = start_environment();
    char** entry = begin;
    while (*entry != nullptr) ++entry;
    const StartVariable* first = nullptr;
    while (entry != begin) {
        if (is_setting(*--entry)) first = arena_new<StartVariable>(arena_copy(*entry), first);
    }
    // Complete before they are said to be: of two threads that come here at once, both find the same.
    start_variables.store(first, std::memory_order_release);
    start_is_kept.store(true, std::memory_order_release);
}

/// The environment as it was at the first call: it is read once, also for reloads. Where none of our variables is
/// left in it, those that the process was started with.
const policy::Environment& first_environment() {
    static constinit std::atomic<policy::Environment*> copy{nullptr};
    policy::Environment* known = copy.load(std::memory_order_acquire);
    if (known == nullptr) {
        keep_start_variables();  // a product may come before our constructors
        // Complete before it is seen: a child forked meanwhile makes its own.
        known = new policy::Environment;
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
            known->push_back(arena_copy(*entry));
        if (std::none_of(known->begin(), known->end(), is_setting)) {
            for (const StartVariable* variable = start_variables.load(std::memory_order_acquire); variable != nullptr;
                 variable = variable->next)
                known->push_back(variable->entry);
        }
        copy.store(known, std::memory_order_release);
    }
    return *known;
}

void read_settings(SettingsReading& reading) {
    const policy::Environment& environment = first_environment();

    policy::LoadOptions options;
    options.elevated = has_elevated_rights();
    policy::Loaded loaded = policy::load(environment, options);

    auto settings = std::make_unique<Settings>();
    std::string complaint;
    if (!loaded.errors.empty()) {
        complaint = summary_of(loaded.errors);
        if (reading.is_reload) {
            system::stderr_line(complaint + "; the settings stay as they were");
            return;
        }
        complaint += consequence_of(loaded.policy.on_error);
        system::stderr_line(complaint);
        obey_on_error(loaded.policy);
    }
    if (loaded.policy.audit_sample > 0 && !reading.is_reload)
        system::stderr_line("audit: this version audits nothing; the setting is ignored");
    for (const policy::Diagnostic& warning : loaded.warnings) system::stderr_line(warning.text());

    settings->policy = std::move(loaded.policy);
    // Only where somebody wants to know: a sandbox may end a process that asks.
    if (!settings->policy.rules.empty() || !settings->policy.log_path.empty()) {
        settings->facts = record::gather_process_facts(environment);
        settings->process = {record::base_name(settings->facts.executable), settings->facts.command,
                             settings->facts.host};
    }
    settings->looks_at_sizes = settings->policy.looks_at_sizes();
    settings->forward_everything = settings->policy.disabled || options.elevated;
    const Settings* previous = settings_in_force.load(std::memory_order_acquire);
    if (previous != nullptr) {
        settings->generation = previous->generation + 1;
        settings->id = previous->id == UINT8_MAX ? 1 : previous->id + 1;
    }
    if (!settings->forward_everything) open_log(*settings, previous);
    if (!complaint.empty() && settings->log != nullptr) {
        auto buffer = std::make_unique<std::array<char, record::log_buffer_size>>();
        settings->log->write(record::ErrorEvent{record::ErrorCode::bad_setting, complaint},
                             record::LogBuffer(*buffer));
    }
    reading.settings = settings.release();
}

void say_unread(const SettingsReading& reading, std::string_view why) {
    char buffer[256];
    system::LineWriter line(buffer);
    line.text("the settings could not be read: ").escaped(why, 100);
    line.text(reading.is_reload ? "; they stay as they were" : "; the program runs as without fp32shim");
    system::stderr_line(line.view());
}

void read_and_catch(void* argument) {
    auto& reading = *static_cast<SettingsReading*>(argument);
    try {
        read_settings(reading);
    } catch (const std::exception& problem) {
        say_unread(reading, problem.what());
    } catch (...) {
        say_unread(reading, "an exception of unknown kind");
    }
}

void read_settings_or_forward(void* argument) {
    if (!run_while_memory_lasts(read_and_catch, argument))
        say_unread(*static_cast<const SettingsReading*>(argument), "out of memory");
}

/// Where nothing could be read, or a signal handler multiplies while its own thread reads.
const Settings* untouched_settings() {
    static constinit std::atomic<const Settings*> untouched{nullptr};
    const Settings* known = untouched.load(std::memory_order_acquire);
    if (known == nullptr) {
        auto* settings = arena_new<Settings>();
        settings->forward_everything = true;
        untouched.store(known = settings, std::memory_order_release);
    }
    return known;
}

std::uint32_t process_of(std::uint64_t reading) { return static_cast<std::uint32_t>(reading >> 32); }

/// Waits until another thread has read the settings. False: that thread is not of this process (we were forked
/// while it read) and somebody else has to.
bool wait_for_reader() {
    while (settings_in_force.load(std::memory_order_acquire) == nullptr) {
        const std::uint64_t waited_for = reader.load(std::memory_order_acquire);
        if (process_of(waited_for) != system::this_process()) return false;
        const timespec ten_milliseconds{0, 10'000'000};
        // Waits on the lower half, the thread: both architectures are little-endian.
        system::raw::syscall6(SYS_futex, system::raw::address(&reader), FUTEX_WAIT_PRIVATE,
                              static_cast<std::int32_t>(waited_for), system::raw::address(&ten_milliseconds));
    }
    return true;
}

const Settings* read_first_settings() {
    const std::uint32_t process = system::this_process();
    const auto self = std::uint64_t{process} << 32 | static_cast<std::uint32_t>(system::raw::gettid());
    for (;;) {
        std::uint64_t known_reader = reader.load(std::memory_order_acquire);
        if (process_of(known_reader) != process && reader.compare_exchange_strong(known_reader, self)) {
            const Settings* known = known_settings();
            if (known == nullptr) break;
            reader.store(0, std::memory_order_release);  // another thread was done before we looked
            return known;
        }
        if (known_reader == self) return untouched_settings();
        if (wait_for_reader()) return settings_in_force.load(std::memory_order_acquire);
    }
    const int saved_errno = errno;
    SettingsReading reading;
    on_own_stack(read_settings_or_forward, &reading);
    const Settings* settings = reading.settings != nullptr ? reading.settings : untouched_settings();
    put_in_force(settings);
    reader.store(0, std::memory_order_release);
    system::raw::syscall6(SYS_futex, system::raw::address(&reader), FUTEX_WAKE_PRIVATE, INT32_MAX);
    settings_changed();  // a signal handler may have been forwarded untouched meanwhile
    errno = saved_errno;
    return settings;
}

}  // namespace

constinit std::atomic<std::uint32_t> settings_changes{1};

void settings_changed() {
    settings_changes.fetch_add(1, std::memory_order_acq_rel);
    refresh_sites();
}

const Settings& settings() {
    const Settings* current = settings_in_force.load(std::memory_order_acquire);
    if (__tsan_acquire != nullptr) __tsan_acquire(&settings_in_force);
    return current != nullptr ? *current : *without_cancellation(read_first_settings);
}

std::uint8_t process_override_count() { return override_count.load(std::memory_order_acquire); }

namespace {

bool read_settings_again() {
    static constinit system::ForkSafeLock one_at_a_time;
    if (!one_at_a_time.acquire()) return false;
    const int saved_errno = errno;
    SettingsReading reading{.is_reload = true};
    on_own_stack(read_settings_or_forward, &reading);
    errno = saved_errno;
    if (reading.settings != nullptr) {
        record::Recording* before = settings_in_force.load(std::memory_order_acquire)->recording;
        put_in_force(reading.settings);
        record::Recording* now = reading.settings->recording;
        if (before != nullptr && before != now) before->note_left(now);
        if (record::RecordingChanges* changes = now != nullptr && now != before ? now->changes() : nullptr)
            changes->note_carried_over(process_precision(), process_floor());
    }
    one_at_a_time.release();
    if (reading.settings == nullptr) return false;
    settings_changed();
    return true;
}

}  // namespace

bool reload_settings() {
    settings();
    return without_cancellation(read_settings_again);
}

record::PolicyFacts policy_facts(const policy::Policy& policy) {
    return {.name = policy.name,
            .revision = policy.revision,
            .sha256 = policy.sha256,
            .settings = record::format::ReloadedSettings{policy.default_precision, policy.floor, policy.cpu_mode}};
}

bool set_process_precision(std::optional<policy::Precision> precision) {
    const int value = precision ? static_cast<int>(*precision) : -1;
    if (process_precision_value.exchange(value, std::memory_order_acq_rel) == value) return false;
    override_count.fetch_add(1, std::memory_order_acq_rel);
    settings_changed();
    return true;
}

std::optional<policy::Precision> process_precision() {
    const int value = process_precision_value.load(std::memory_order_acquire);
    if (value < 0) return std::nullopt;
    return static_cast<policy::Precision>(value);
}

bool raise_process_floor(policy::Floor floor) {
    policy::Floor current = process_floor_value.load(std::memory_order_acquire);
    while (floor > current) {
        if (process_floor_value.compare_exchange_weak(current, floor)) {
            override_count.fetch_add(1, std::memory_order_acq_rel);
            settings_changed();
            return true;
        }
    }
    return false;
}

policy::Floor process_floor() { return process_floor_value.load(std::memory_order_acquire); }

void note_scopes_in_use() {
    if (!scopes_seen.exchange(true, std::memory_order_acq_rel)) settings_changed();
}

bool scopes_in_use() { return scopes_seen.load(std::memory_order_acquire); }

}  // namespace fp32shim
