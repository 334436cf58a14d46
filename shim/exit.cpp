// Notes the loaded objects when the program ends, by `exit` or by a function that runs no exit handlers. Workers of
// multiprocessing, joblib, Celery and Ray end by such a function.
#include <unistd.h>

#include <atomic>

#include "shim/children/child_watch.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/loader/next_definition.hpp"
#include "shim/settings/read_settings.hpp"
#include "shim/settings/settings.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim {
namespace {

/// Notes the loaded objects in the recording, or by write_loaded_files_mark(). Changes nothing that products need,
/// because the program may still call products afterwards. Uses nothing that is destroyed before the process ends.
/// Async-signal-safe.
void record_loaded_files_at_exit() {
    record::Recording* recording = own_recording();
    if (recording == nullptr || has_changed_log()) write_loaded_files_mark();
    if (recording == nullptr) return;
    record_files_at_exit(*recording->objects());
    record_children_file(*recording);
    recording->record_exit();
}

__attribute__((destructor)) void record_exit() {
    if (must_create_recording()) settings();
    if (watches_children()) record_loaded_files_at_exit();
}

/// Notes the loaded objects before `_exit`, once per process, because the program's handler may call `_exit` again if
/// this code faults.
void record_files_before_end() {
    static constinit std::atomic<std::int32_t> noted_process{0};
    if (!watches_children() || shares_parents_memory()) return;
    if (may_have_crashed()) return count_missed_mark();
    const std::int32_t self = system::raw::getpid();
    if (noted_process.exchange(self, std::memory_order_relaxed) != self) record_loaded_files_at_exit();
}

using End = void(int);
constinit NextFunction<End> real_posix_exit{"_exit"}, real_c_exit{"_Exit"}, real_quick_exit{"quick_exit"};

/// Finds the real functions early, because a program may call them after its memory was damaged.
__attribute__((constructor)) void find_real_exits() {
    for (auto* real : {&real_posix_exit, &real_c_exit, &real_quick_exit}) real->get();
}

[[noreturn]] void end_process(NextFunction<End>& real, int status) {
    record_files_before_end();
    if (End* const function = real.get()) function(status);
    for (;;) system::raw::syscall6(SYS_exit_group, status);
}

}  // namespace
}  // namespace fp32shim

#define FP32SHIM_HOOK extern "C" __attribute__((visibility("default"), noreturn))

using namespace fp32shim;

FP32SHIM_HOOK void _exit(int status) { end_process(real_posix_exit, status); }
FP32SHIM_HOOK void _Exit(int status) noexcept { end_process(real_c_exit, status); }
FP32SHIM_HOOK void quick_exit(int status) noexcept { end_process(real_quick_exit, status); }
