// Formats that operands can be rounded to, and their order.
#pragma once

#include <string>

namespace clients {

enum class Format { fp32, tf32, bf16, fp16 };

/// Rounds a value to a format. TF32 rounds to nearest; `tf32_truncated` is how a tensor core rounds float32 operands.
double round_to(Format format, double value);
double tf32_truncated(double value);

const char* name_of(Format format);

/// Returns a format's rank; a higher one is closer to float32: fp32 › bf16x9 › tf32 › bf16 › fp16. Takes the words of
/// the log's `applied`; -1 for any other word.
int rank_of(const std::string& applied);

}  // namespace clients
