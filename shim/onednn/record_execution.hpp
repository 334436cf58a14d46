// Records what a oneDNN has executed.
#pragma once

#include <cstdint>

#include "record/onednn/line.hpp"
#include "shim/onednn/copies.hpp"

namespace fp32shim::onednn {

/// Counts an execution that has just ended on this thread, in the recording in force. Does nothing without one.
void record_execution(const Copy& copy, const record::OneDnnExecution& execution);

}  // namespace fp32shim::onednn
