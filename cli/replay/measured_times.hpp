// Output of `fp32shim replay`.
#pragma once

#include <string>
#include <vector>

#include "cli/replay/measure.hpp"

namespace fp32shim::cli {

/// A kind of product with its measurements.
struct ReplayedKind {
    const ProductKind* kind = nullptr;
    std::string why_not{};               ///< reason why it was not measured; empty if a measurement was planned
    std::vector<MeasuringTask> tasks{};  ///< measurements, by device and format
};

/// All results of a replay.
struct Replay {
    std::vector<ReplayedKind> kinds;     ///< sorted by host time, largest first
    std::vector<std::string> libraries;  ///< libraries that ran the measurements on the CPU
    std::string gpu;                     ///< name of the GPU, `NVIDIA H200 (compute capability 9.0)`; empty: none
};

/// Returns tables for people. `stream` has the meaning that it has in Table::text().
std::string replay_text(const Replay& replay, int stream);
/// Returns JSON (docs/cli/formats.md).
std::string replay_json(const Replay& replay);

}  // namespace fp32shim::cli
