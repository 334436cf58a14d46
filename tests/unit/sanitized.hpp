// Tells whether the tests were built with a sanitizer, under which they take many times as long.
#pragma once

namespace fp32shim::test {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#elif defined(__has_feature)
inline constexpr bool thread_sanitized = __has_feature(thread_sanitizer);
#else
inline constexpr bool thread_sanitized = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer) || thread_sanitized;
#else
inline constexpr bool sanitized = thread_sanitized;
#endif

/// Where many cases of a test use memory alike, a sanitizer finds the same in all, so only one in this many is tried.
inline constexpr int one_case_in = sanitized ? 11 : 1;

}  // namespace fp32shim::test
