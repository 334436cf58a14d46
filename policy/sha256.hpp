// The fingerprint of a policy file, which every log and recording carries.
#pragma once

#include <string>
#include <string_view>

namespace fp32shim::policy {

/// SHA-256 (FIPS 180-4) of the bytes, as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace fp32shim::policy
