#include "shim/settings/settings.hpp"

#include <linux/futex.h>
#include <pthread.h>

#include "shim/memory/arena.hpp"
#include "shim/memory/own_memory.hpp"
#include "shim/settings/read_settings.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/kept_state.hpp"
#include "system/raw_file.hpp"
#include "system/raw_syscall.hpp"
#include "system/signal_hold.hpp"
#include "system/this_process.hpp"
#include "system/thread_sanitizer.hpp"

namespace fp32shim {

constinit std::atomic<const Settings*> settings_in_force{nullptr};
constinit std::atomic<ScopesSeen> scopes_seen{ScopesSeen::none};
constinit std::atomic<bool> nonfinite_is_found{false};
constinit std::atomic<std::uint16_t> pins_without_effect{0};

namespace {

// The thread that is reading the settings; 0 if none is. Its process and thread id are in one word, so that a signal
// handler that multiplies can tell at any time whether it has interrupted this thread.
//
//     63                32 31        0
//     | fork_generation() | thread id |
constinit std::atomic<std::uint64_t> reader{0};
constinit std::atomic<int> process_precision_value{-1};
constinit std::atomic<policy::Floor> process_floor_value{policy::Floor::none};
constinit std::atomic<void (*)()> change_callback{nullptr};

void publish_settings(const Settings* settings) {
    system::note_release(&settings_in_force);
    settings_in_force.store(settings, std::memory_order_release);
}

/// Runs a function that reads settings. Other threads wait for the function, so this thread must finish it.
/// Therefore the thread's cancellation is disabled meanwhile (reading files is a cancellation point), and signals
/// are held, so that no handler can leave the function by siglongjmp.
template <class Function>
auto without_interruption(Function function) {
    int cancel_state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    const auto result = [&] {
        const system::SignalHold hold;
        return function();
    }();
    pthread_setcancelstate(cancel_state, nullptr);  // no destructor makes this call, because the thread may end here
    return result;
}

/// Returns settings that forward every call unchanged. They are used if the settings could not be read, and in a
/// signal handler that multiplies while its own thread reads the settings.
const Settings* forwarding_settings() {
    static constinit std::atomic<const Settings*> untouched{nullptr};
    const Settings* known = untouched.load(std::memory_order_acquire);
    if (known == nullptr) {
        auto* settings = arena_new<Settings>();
        settings->forward_everything = true;
        untouched.store(known = settings, std::memory_order_release);
    }
    return known;
}

/// Returns a copy of the settings `before` without a log, and without anything that examines results. Returns nullptr
/// if there is no memory.
const Settings* without_recording(const Settings& before) {
    struct SettingsCopy {
        const Settings& before;
        Settings* copy = nullptr;
    } copying{before};
    run_while_memory_lasts(
        [](void* argument) {
            auto& self = *static_cast<SettingsCopy*>(argument);
            auto* const copy = new Settings(self.before);
            copy->log = nullptr;
            copy->recording = nullptr;
            copy->log_to_stderr = copy->log_every_call = false;
            copy->audits = copy->fingerprints = copy->finds_nonfinite = copy->reads_python_lines = false;
            copy->native_frames = 0;
            self.copy = copy;
        },
        &copying);
    return copying.copy;
}

std::uint32_t process_of(std::uint64_t reading) { return static_cast<std::uint32_t>(reading >> 32); }

/// Waits until another thread has read the settings, then returns true. Returns false if no thread of this process is
/// reading the settings. That can happen in a child that was forked while a thread of its parent was reading them.
bool wait_for_reader() {
    while (settings_in_force.load(std::memory_order_acquire) == nullptr) {
        const std::uint64_t waited_for = reader.load(std::memory_order_acquire);
        if (process_of(waited_for) != system::fork_generation()) return false;
        const timespec ten_milliseconds{0, 10'000'000};
        // The futex is the lower half of the word, which is the thread id, because both architectures are
        // little-endian.
        system::raw::syscall6(SYS_futex, &reader, FUTEX_WAIT_PRIVATE, static_cast<std::int32_t>(waited_for),
                              &ten_milliseconds);
    }
    return true;
}

const Settings* read_first_settings() {
    const std::uint32_t process = system::fork_generation();
    const auto self = std::uint64_t{process} << 32 | static_cast<std::uint32_t>(system::raw::gettid());
    for (;;) {
        std::uint64_t known_reader = reader.load(std::memory_order_acquire);
        if (process_of(known_reader) != process && reader.compare_exchange_strong(known_reader, self)) {
            const Settings* known = known_settings();
            if (known == nullptr) break;
            reader.store(0, std::memory_order_release);  // another thread had already read the settings
            return known;
        }
        if (known_reader == self) return forwarding_settings();
        if (wait_for_reader()) return settings_in_force.load(std::memory_order_acquire);
    }
    const system::ErrnoAndFloatGuard kept;
    const Settings* settings = read_settings(nullptr);
    if (settings == nullptr) settings = forwarding_settings();
    publish_settings(settings);
    reader.store(0, std::memory_order_release);
    system::raw::syscall6(SYS_futex, &reader, FUTEX_WAKE_PRIVATE, INT32_MAX);
    settings_changed();  // calls in signal handlers may have been forwarded unchanged in the meantime
    return settings;
}

bool read_settings_again() {
    static constinit system::ForkSafeLock one_at_a_time;
    if (!one_at_a_time.acquire()) return false;
    const system::ErrnoAndFloatGuard kept;
    const Settings* previous = known_settings();
    const Settings* fresh = read_settings(previous);
    if (fresh != nullptr) {
        record::Recording* before = previous->recording;
        record::Recording* now = fresh->recording;
        if (now != nullptr && now == before) now->record_rules(fresh->policy.rules);
        publish_settings(fresh);
        if (before != nullptr && before != now) before->mark_continued_in(now);
        if (record::RecordingControl* changes = now != nullptr && now != before ? now->control() : nullptr)
            changes->record_carried_over_settings(process_precision(), process_floor());
    }
    one_at_a_time.release();
    if (fresh == nullptr) return false;
    settings_changed();
    return true;
}

}  // namespace

constinit std::atomic<std::uint32_t> settings_changes{1};

void call_when_settings_change(void (*renew)()) {
    if (change_callback.load() == nullptr) change_callback.store(renew);
}

void settings_changed() {
    settings_changes.fetch_add(1);
    if (auto* const renew = change_callback.load()) renew();
}

bool is_first_to_receive_nonfinite() {
    static constinit std::atomic<bool> has_received{false};
    return !has_received.load(std::memory_order_relaxed) && !has_received.exchange(true, std::memory_order_acq_rel);
}

bool end_nonfinite_search() {
    if (nonfinite_is_found.exchange(true, std::memory_order_acq_rel)) return false;
    settings_changed();
    return true;
}

const Settings& settings() {
    const Settings* current = settings_in_force.load(std::memory_order_acquire);
    system::note_acquire(&settings_in_force);
    return current != nullptr ? *current : *without_interruption(read_first_settings);
}

record::Recording* own_recording() {
    const Settings* known = known_settings();
    if (known == nullptr || known->recording == nullptr) return nullptr;
    return known->recording->is_of_this_process() ? known->recording : nullptr;
}

bool reload_settings() {
    settings();
    return without_interruption(read_settings_again);
}

void stop_recording() {
    const Settings* before = known_settings();
    const Settings* after =
        before != nullptr && shim_computes_products(before->policy) ? without_recording(*before) : nullptr;
    publish_settings(after != nullptr ? after : forwarding_settings());
    if (before != nullptr && before->recording != nullptr) before->recording->mark_continued_in(nullptr);
    settings_changed();
}

record::PolicyFacts policy_facts(const policy::Policy& policy) {
    return {.name = policy.name,
            .revision = policy.revision,
            .sha256 = policy.sha256,
            .floor_exception = policy.floor_exception,
            .settings = record::format::ReloadedSettings{policy.default_precision, policy.floor, policy.cpu_mode,
                                                         policy.allow_bf16x9}};
}

bool set_process_precision(std::optional<policy::Precision> precision) {
    const int value = precision ? static_cast<int>(*precision) : -1;
    if (process_precision_value.exchange(value, std::memory_order_acq_rel) == value) return false;
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
    while (floor > current)
        if (process_floor_value.compare_exchange_weak(current, floor)) {
            settings_changed();
            return true;
        }
    return false;
}

policy::Floor process_floor() { return process_floor_value.load(std::memory_order_acquire); }

void note_opened_scope(ScopesSeen kind) {
    ScopesSeen known = scopes_seen.load(std::memory_order_acquire);
    while (known < kind)
        if (scopes_seen.compare_exchange_weak(known, kind, std::memory_order_acq_rel)) return settings_changed();
}

void carry_out_command(record::Recording& recording) {
    record::RecordingControl* const changes = recording.control();
    if (changes == nullptr) return;
    const auto command = changes->receive_command();
    if (!command) return;
    if (command->kind != record::format::CommandKind::reload) {
        set_process_precision(command->precision);
        changes->answer(*command, true, {});
        return;
    }
    const bool is_done = reload_settings();
    const policy::Policy& policy = settings().policy;
    const char* const refused = policy.file.empty() || system::RawFile(policy.file.c_str()).is_open()
                                    ? "the policy has errors, which fp32shim check lists; the settings are unchanged"
                                    : "the policy file cannot be read; the settings are unchanged";
    changes->answer(*command, is_done, is_done ? "" : refused, policy_facts(policy));
}

}  // namespace fp32shim
