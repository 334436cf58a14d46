// Which files are loaded, for the recording: `fp32shim verify` judges by them what may have multiplied past us.
//
// The loader's list is walked when the recording begins, with each new row and each full ring (never for a call whose
// row is known), before our dlclose, and when the program ends by `exit`. Where nothing was added since the last
// walk, that costs two loads.
#pragma once

#include "record/recording_writer.hpp"

namespace fp32shim {

/// Notes every file that is loaded now. RecordingSettings::look_at_objects. Thread-safe, async-signal-safe.
void note_loaded_files(record::Recording& recording);

/// The same, for this process's recording if it has one: something is about to be unloaded.
void note_files_before_unloading();

/// A product's function was handed out past us.
void note_lookup_past();

}  // namespace fp32shim
