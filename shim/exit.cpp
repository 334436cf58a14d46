// The last look at what is loaded, when the program ends by `exit`.
#include "shim/children/child_watch.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/settings/settings.hpp"

namespace fp32shim {
namespace {

/// Notes the loaded objects in the recording. Changes nothing that products need: the program may still call products
/// after this function. Needs nothing that is destroyed before the process is gone.
__attribute__((destructor)) void note_exit() {
    if (has_to_leave_a_recording()) settings();
    record::Recording* recording = own_recording();
    if (recording == nullptr) return;
    note_files_at_exit(*recording->objects());
    recording->note_exit();
}

}  // namespace
}  // namespace fp32shim
