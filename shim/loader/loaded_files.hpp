// Which files are loaded, for the recording: `fp32shim verify` judges by them what may have multiplied past us.
//
// The loader's list is walked when the recording begins, with each new row and each full ring (never for a call whose
// row is known), and when the program ends by `exit`. Where nothing was added since the last walk, that costs two
// loads. Before our dlclose, the files are noted that may go: whether they are bound past us can be read no later.
#pragma once

#include "record/write/writer.hpp"

namespace fp32shim {

/// Notes every file that is loaded now. RecordingSettings::look_at_objects. Thread-safe, async-signal-safe.
void note_loaded_files(record::Recording& recording);

/// Notes the files that dlclose of this handle may unload, and if they are bound past us. Thread-safe.
void note_files_before_closing(record::Recording& recording, const void* handle);

/// Notes every file, and if it is bound past us. Reads, but changes nothing of what others use: products may still be
/// called afterwards.
void note_files_at_exit(record::Recording& recording);

/// Notes that a product's function was handed out past us; without a recording, for the one that may begin later.
void note_lookup_past(record::Recording* recording);

}  // namespace fp32shim
