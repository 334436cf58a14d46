// Writes the loaded files into the recording. From them, `fp32shim verify` judges whether a library multiplied
// without calling the shim.
//
// The loader's list is walked when the recording begins, when a row is added to it, when a thread's ring buffer of
// events is full, and when the program ends by `exit` or `_exit`. Except at the end, the walk is left out if no
// object was added since the last walk. Before a dlclose, the files that the call may unload are written, because
// later the shim cannot read to which functions their calls were bound. The relocations of each object are read only
// once. The walk at the end has to be short: CPython's daemon threads are still running at that time, and may crash
// the process if they come back from a product.
#pragma once

#include <link.h>

#include "record/write/mark.hpp"
#include "record/write/writer.hpp"

namespace fp32shim {

/// Writes every loaded file into the recording. This is the callback RecordingSettings::record_loaded_objects.
/// Thread-safe, async-signal-safe.
void record_loaded_files(record::Recording& recording);

/// Writes one loaded file into the recording, with everything that is known of it so far. Precondition: an
/// elf::ReadGuard is held.
void record_loaded_file(record::LoadedFileList& objects, const link_map* map);

/// From this call on, the record of a file also tells whether its calls to getenv may bypass the shim. If they
/// cannot, and the file was not seen to ask for ONEDNN_VERBOSE, a oneDNN in the file has executed nothing.
void enable_getenv_bypass_check();

/// From this call on, the record of a file also tells whether its calls to the CUDA driver bypass the shim.
void enable_driver_bypass_check();

/// Remembers that dlsym gave the program one of the CUDA driver's own functions, because the settings did not ask for
/// kernels. This counts as a bypass only if the settings ask for kernels later.
void note_bypassing_driver_lookup();

/// Writes into the recording the files that dlclose of `handle` may unload, and whether they call functions of a
/// BLAS past the shim. If there is no recording (`objects` is nullptr), keeps these facts in memory, provided that
/// keep_closed_files() was called. Thread-safe.
void record_files_before_closing(record::LoadedFileList* objects, const void* handle);
/// Makes record_files_before_closing() keep files in memory. Is called as soon as it is known that this process will
/// have a recording, or will leave a mark (record::UnrecordedProcessMark) at its end.
void keep_closed_files();

/// Writes every loaded file into the recording, and whether it calls functions of a BLAS past the shim. Changes
/// nothing that other code uses, so products may still be called afterwards.
void record_files_at_exit(record::LoadedFileList& objects);

/// Writes every loaded file into the mark of a process without a recording, and whether it calls functions of a BLAS
/// past the shim.
void record_files_at_exit(record::UnrecordedProcessMark& mark);

/// Returns true if nothing was loaded since the last walk for this recording, by this process or by its parent before
/// a fork.
bool has_loaded_nothing_since(const record::Recording& recording);

/// Returns true if a loaded object is known to call functions of a BLAS past the shim. Looks at all references again,
/// since some may have been bound since the last walk.
bool any_object_bypasses_shim();

/// Remembers that dlsym gave the program a function that multiplies but is not an entry point of the shim. Also
/// writes this into the recording, unless `objects` is nullptr.
void note_bypassing_lookup(record::LoadedFileList* objects);

}  // namespace fp32shim
