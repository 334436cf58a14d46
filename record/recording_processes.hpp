// Which processes there are, for those who look for live recordings.
#pragma once

#include <cstdint>
#include <vector>

namespace fp32shim::record {

/// The ids in /proc, rising.
std::vector<std::int32_t> list_processes();

}  // namespace fp32shim::record
