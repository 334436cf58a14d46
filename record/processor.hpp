// The features by which a processor multiplies in BF16 or FP16, and the process's permission for AMX. They are stored
// as a word of 16 bits, in the header of a recording and in the mark of a process without a recording.
//
//     word      15 | 14      13            12            11       0
//               x86 | aarch64 | AMX permitted | AMX asked | features |             0: not known
#pragma once

#include <cstdint>
#include <string>

namespace fp32shim::record {

inline constexpr std::uint16_t processor_is_x86_64 = 1U << 15, processor_is_aarch64 = 1U << 14;
/// Bits about the permission of the process when it ended. amx_was_asked means that the kernel was asked and
/// answered; amx_is_permitted means that the process had permission. The kernel ends a program that uses AMX without
/// permission.
inline constexpr std::uint16_t amx_was_asked = 1U << 12, amx_is_permitted = 1U << 13;

/// Bits of two features of x86-64 processors, on which known_bypasses() (cli/binaries/) depends. The other features
/// have bits too (feature_names()), but no constants.
inline constexpr std::uint16_t has_avx512bw = 1U << 0, has_avx_ne_convert = 1U << 4;

/// Returns the word of 16 bits for this processor, without amx_was_asked and amx_is_permitted. A feature is set if
/// the system lets programs use it. Makes no system call. Async-signal-safe.
std::uint16_t processor_feature_word();

/// Returns amx_was_asked, combined with amx_is_permitted if this process may use AMX now. Returns 0 if the processor
/// has no AMX, if the kernel does not tell, or after stop_amx_queries(). Keeps errno. Async-signal-safe. Linux
/// documents the query in Documentation/arch/x86/xstate.rst.
std::uint16_t query_amx_permission();
/// Makes query_amx_permission() return 0 from now on, without a system call. This is needed when a filter of system
/// calls may kill the process because of the query.
void stop_amx_queries();

/// Returns the kernel's names of the features in `word`, such as `avx512bw avx512_bf16`. Returns `none` if the
/// processor has none of the features, and an empty text if the features are not known.
std::string feature_names(std::uint16_t word);

}  // namespace fp32shim::record
