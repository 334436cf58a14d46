// Prometheus's text format of `fp32shim report`.
#pragma once

#include <map>
#include <string>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// Counts calls by host, job, executable, policy, function, device, dtype, requested, applied and reason.
class PrometheusMetrics {
  public:
    /// Adds the calls of a recording that pass the filter.
    void add(record::RecordingReader& recording, const Filter& filter);
    /// Returns the metrics by label, and the totals of all recordings. `calls` holds the same recordings, merged.
    /// `unreadable` is the number of recordings that could not be read completely.
    std::string text(const MergedCalls& calls, std::size_t unreadable) const;

  private:
    std::map<std::string, Share> by_labels_;
};

}  // namespace fp32shim::cli
