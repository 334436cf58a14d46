// Notes the loaded files in the recording. `fp32shim verify` judges by them whether a library multiplied past the
// shim.
//
// The loader's list is walked when the recording begins, for each new row and each full ring (never for a call whose
// row is known), and when the program ends by `exit` or `_exit`. Except at the end, the walk is left out if nothing
// was added since the last one. Before a dlclose, the files that it may unload are noted, since their bindings
// cannot be read later. The relocations of an object are read once. The walk at the end has to be short: CPython's
// daemon threads are still running then, and may crash the process if they come back from a product.
#pragma once

#include <link.h>

#include "record/write/mark.hpp"
#include "record/write/writer.hpp"

namespace fp32shim {

/// Notes every loaded file in the recording; the callback of RecordingSettings::record_loaded_objects. Thread-safe,
/// async-signal-safe.
void record_loaded_files(record::Recording& recording);

/// Notes one loaded file in the recording, and what is known of it by now. Precondition: an elf::ReadGuard is held.
void record_loaded_file(record::LoadedFileList& objects, const link_map* map);

/// Makes the later note of a file also say whether the file's calls of getenv may bypass the shim. If they do not,
/// and the file was not seen to ask for ONEDNN_VERBOSE, a oneDNN in it has executed nothing.
void enable_getenv_bypass_check();

/// Makes the later note of a file also say whether the file's calls of the CUDA driver bypass the shim.
void enable_driver_bypass_check();

/// Notes that dlsym gave the program a function of the CUDA driver itself, since the settings did not ask for
/// kernels. The note counts only if they ask for kernels later.
void note_bypassing_driver_lookup();

/// Notes the files that dlclose of this handle may unload, and if they call products past the shim. Without a
/// recording (`objects` is nullptr), keeps the notes in memory once keep_closed_files() was called. Thread-safe.
void record_files_before_closing(record::LoadedFileList* objects, const void* handle);
/// Makes record_files_before_closing() keep its notes in memory. Called once this process is to have a recording or
/// mark.
void keep_closed_files();

/// Notes every loaded file, and if it calls products past the shim. Changes nothing that other code uses, so products
/// may still be called afterwards.
void record_files_at_exit(record::LoadedFileList& objects);

/// Notes the same files in the mark of a process that has no recording.
void record_files_at_exit(record::UnrecordedProcessMark& mark);

/// Returns true if nothing was loaded since the last walk for this recording, by this process or by its parent before
/// a fork.
bool has_loaded_nothing_since(const record::Recording& recording);

/// Returns true if a loaded object is known to call products past the shim. Looks at all references again, since
/// some may have been bound since the last walk.
bool any_object_bypasses_shim();

/// Notes that the program got a product's function from dlsym that is not an entry point of the shim. Without a
/// recording, keeps the note in case one begins later.
void note_bypassing_lookup(record::LoadedFileList* objects);

}  // namespace fp32shim
