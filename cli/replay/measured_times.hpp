// Output of `fp32shim replay`.
#pragma once

#include <string>
#include <vector>

#include "cli/replay/measure.hpp"

namespace fp32shim::cli {

/// A kind of product with its measurements.
struct ReplayedKind {
    const ProductKind* kind = nullptr;
    std::string why_not{};               ///< reason why it was not measured; empty: it was to be
    std::vector<MeasuringTask> tasks{};  ///< by device and format
};

/// Everything that a replay has found.
struct Replay {
    std::vector<ReplayedKind> kinds;     ///< the ones with most host time first
    std::vector<std::string> libraries;  ///< libraries for the CPU that measured
    std::string gpu;                     ///< `NVIDIA H200 (compute capability 9.0)`; empty: none
};

/// Returns tables for people. `stream`: as for Table::text().
std::string replay_text(const Replay& replay, int stream);
/// Returns JSON (docs/cli/formats.md).
std::string replay_json(const Replay& replay);

}  // namespace fp32shim::cli
