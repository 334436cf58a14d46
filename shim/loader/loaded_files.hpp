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

/// Notes the files that dlclose of this handle may unload, and whether they are bound past us, in this process's
/// recording if it has one. Thread-safe.
void note_files_before_closing(const void* handle);

/// A product's function was handed out past us.
void note_lookup_past();

}  // namespace fp32shim
