// The loaded files, noted in the recording: `fp32shim verify` judges by them if a library multiplied past the shim.
//
// The loader's list is walked when the recording begins, with each new row and each full ring (never for a call whose
// row is known), and when the program ends by `exit` or `_exit`. If nothing was added since the last walk, that costs
// two loads. Before a dlclose, the files that it may unload are noted, since their bindings cannot be read later.
#pragma once

#include "record/write/mark.hpp"
#include "record/write/writer.hpp"

namespace fp32shim {

/// Notes in the recording every loaded file. For RecordingSettings::record_loaded_objects. Thread-safe,
/// async-signal-safe.
void record_loaded_files(record::Recording& recording);

/// Notes the files that dlclose of this handle may unload, and if they call products past the shim: in the recording,
/// or without one (nullptr) in memory, from keep_closed_files() on. Thread-safe.
void record_files_before_closing(record::RecordingObjects* objects, const void* handle);
/// To be called once a recording or a mark is to be made of this process.
void keep_closed_files();

/// Notes every loaded file, and which of them call products past the shim. Changes nothing that others use: products
/// may still be called afterwards.
void record_files_at_exit(record::RecordingObjects& objects);

/// Does the same for the mark of a process that has no recording.
void record_files_at_exit(record::Mark& mark);

/// Returns true if nothing was loaded since the recording's last look: by this process, or by its parent before a
/// fork.
bool has_loaded_nothing_since(const record::Recording& recording);

/// Notes that a program got a product's function from dlsym past the shim. Without a recording, keeps the note for
/// a recording that may begin later.
void mark_lookup_past(record::RecordingObjects* objects);

}  // namespace fp32shim
