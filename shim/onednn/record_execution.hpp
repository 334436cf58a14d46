// Records the products that a oneDNN in this process has executed.
#pragma once

#include <string_view>

#include "record/onednn/line.hpp"
#include "shim/entry/site.hpp"

namespace fp32shim::onednn {

/// Counts an execution that has just ended on this thread, in the recording in force. Does nothing if there is no
/// recording. `site` has the library as caller and provider. `where` is the source line that made the call; empty if
/// it is unknown.
void record_execution(const Site& site, const record::OneDnnExecution& execution, std::string_view where = {});

}  // namespace fp32shim::onednn
