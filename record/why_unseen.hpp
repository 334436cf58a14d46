// Reasons why a program was started without the shim, and words for them.
#pragma once

#include <cstdint>
#include <string_view>

namespace fp32shim::record {

/// Reason why a program lacks the shim. Recordings contain these values (format/format.hpp), so a new value goes to
/// the end.
enum class WhyUnseen : std::uint8_t {
    seen,
    statically_linked,
    other_machine,
    musl,
    other_user,
    capabilities,
    not_readable,
    no_preload,
    library_out_of_reach,
    log_out_of_reach,
    other_log,
    switched_off,
    other_policy,
    other_library,
    other_run,
    behind_mount,
};

/// Returns words that continue a sentence after the program's name: `is statically linked`. Empty for `seen`, and for
/// values that this version does not know.
std::string_view to_string(WhyUnseen why);

}  // namespace fp32shim::record
