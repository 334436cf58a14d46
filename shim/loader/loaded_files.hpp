// The loaded files, noted in the recording: `fp32shim verify` judges by them if a library multiplied past us.
//
// The loader's list is walked when the recording begins, with each new row and each full ring (never for a call whose
// row is known), and when the program ends by `exit`. If nothing was added since the last walk, that costs two loads.
// Before our dlclose, the files that it may unload are noted, since their bindings cannot be read later.
#pragma once

#include "record/write/writer.hpp"

namespace fp32shim {

/// Notes every file that is loaded now. Made for RecordingSettings::look_at_objects. Thread-safe, async-signal-safe.
void note_loaded_files(record::Recording& recording);

/// Notes the files that dlclose of this handle may unload, and those bound past us among them. Thread-safe.
void note_files_before_closing(record::RecordingObjects& objects, const void* handle);

/// Notes every file, and those bound past us among them. Changes nothing that others use: products may still be
/// called afterwards.
void note_files_at_exit(record::RecordingObjects& objects);

/// Notes that a lookup got a product's function past us. Without a recording, this is kept for the one that may
/// begin later.
void note_lookup_past(record::RecordingObjects* objects);

}  // namespace fp32shim
