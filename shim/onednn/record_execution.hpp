// Records the products that a oneDNN in the process has executed.
#pragma once

#include <string_view>

#include "record/onednn/line.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim::onednn {

/// Counts an execution that has just ended on this thread, in the recording in force. Does nothing without one.
/// `site` stands for the library. `where`: the program's line; empty: not known.
void record_execution(const Site& site, const record::OneDnnExecution& execution, std::string_view where = {});

}  // namespace fp32shim::onednn
