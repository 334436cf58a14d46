// The formats that operands can be rounded to, and how low each is.
#pragma once

#include <string>

namespace clients {

enum class Format { fp32, tf32, bf16, fp16 };

/// A value rounded to a format. TF32 to nearest; `tf32_truncated` is what a tensor core does that is given float32.
double round_to(Format format, double value);
double tf32_truncated(double value);

const char* name_of(Format format);

/// Higher is closer to float32: fp32 › bf16x9 › tf32 › bf16 › fp16. The words of the decision log's `applied`; -1 for
/// any other.
int rank_of(const std::string& applied);

}  // namespace clients
