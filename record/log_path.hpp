// From `NAME` with placeholders to the path of a log or a recording.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "record/process_facts.hpp"

namespace fp32shim::record {

enum class PathProblem : std::uint8_t {
    none,
    unknown_placeholder,  ///< `%x`, or a lone `%` at the end
    too_long,             ///< longer than the buffer
};

struct ExpandedPath {
    std::string_view path;  ///< in the caller's buffer, with a NUL behind it; empty where there is a problem
    PathProblem problem = PathProblem::none;
    char placeholder = 0;  ///< the letter that is unknown; 0 where the `%` was the last character
};

/// Longest path that the kernel takes, with its NUL: the size that a buffer for expand_path needs.
inline constexpr std::size_t path_capacity = 4096;

/// Replaces `%p` by the process id, `%h` by the host, `%r` by the rank, `%j` by the job id, `%t` by the start time
/// (`20261121T084200Z`) and `%%` by `%`. An unknown host, rank or job is written `none`. Host and job come from
/// outside: letters other than A-Z a-z 0-9 . _ - and a leading dot become `_`, so that they cannot name another
/// folder. Thread-safe, allocates nothing.
ExpandedPath expand_path(std::string_view name, const ProcessFacts& facts, std::span<char> buffer);

/// Whether `name` holds the placeholder `%letter`.
bool has_placeholder(std::string_view name, char letter);

}  // namespace fp32shim::record
