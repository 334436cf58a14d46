// The last look at what is loaded, when the program ends by `exit`.
#include "shim/children/child_watch.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim {
namespace {

/// Changes nothing of what others use: products may still be called after it. All that it needs is there until the
/// process is gone.
__attribute__((destructor)) void note_exit() {
    if (has_to_leave_a_recording()) settings();
    record::Recording* recording = own_recording();
    if (recording == nullptr) return;
    note_files_at_exit(*recording);
    recording->note_exit();
}

}  // namespace
}  // namespace fp32shim
