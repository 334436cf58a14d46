// The reasons why a program was started without the shim, and texts for the reasons.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

namespace fp32shim::record {

/// The reason why a program runs without the shim. `seen` means that there is no reason: the program loads the shim.
/// Recordings contain the numbers of the values (ChildRecord::why in format/format.hpp), so new values go to the end.
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

#if defined(__x86_64__)
#define FP32SHIM_MACHINE "x86-64"
#elif defined(__aarch64__)
#define FP32SHIM_MACHINE "aarch64"
#endif
inline constexpr std::string_view other_machine_words =
    "is for a different processor or word size from this fp32shim (" FP32SHIM_MACHINE ")";

/// Texts for the values of WhyUnseen, in the order of the values.
inline constexpr std::string_view why_unseen_words[] = {
    {},
    "is statically linked",
    other_machine_words,
    "uses musl, whose loader cannot load a library that was built for glibc",
    "runs as another user or group (setuid, setgid), for which the loader ignores a preload",
    "has capabilities (setcap), for which the loader ignores a preload",
    "cannot be read, so its kind is not known",
    "was started without the shim in LD_PRELOAD",
    "was started in a place (a chroot or a container) where the library in LD_PRELOAD does not exist",
    "was started in a place (a chroot or a container) where the folder of the recordings is another one or missing",
    "was started with another FP32_MATMUL_LOG, or none: it records elsewhere or not at all",
    "was started with FP32_MATMUL_DISABLE=1",
    "was started with another FP32_MATMUL_POLICY, or none, and the policy names the log: it may record elsewhere",
    "was started with another file of the shim's name in LD_PRELOAD, or one that the loader may not find",
    "was started with another FP32SHIM_RUN, or none: its recording does not belong to this run",
    "is a mount that hides the folder of the recordings, so programs that start after it record elsewhere",
};
static_assert(std::size(why_unseen_words) == static_cast<std::size_t>(WhyUnseen::behind_mount) + 1);

/// Returns a text that continues a sentence after the program's name, such as `is statically linked`. The text is
/// empty for `seen` and for values that this version does not know.
constexpr std::string_view to_string(WhyUnseen why) {
    const auto value = static_cast<std::size_t>(why);
    return value < std::size(why_unseen_words) ? why_unseen_words[value] : std::string_view();
}

}  // namespace fp32shim::record
