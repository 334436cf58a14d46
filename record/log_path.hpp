// From `NAME` with placeholders to the path of a log or a recording.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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

/// `name`, where it is relative with the current directory before it, since daemons change theirs before they fork or
/// lose the log. A `%` of that directory is doubled: this comes before expand_path(). `out` and `scratch`:
/// path_capacity bytes each. The result is in `out`, with a NUL behind it; empty: it is longer than that.
/// Thread-safe, allocates nothing.
std::string_view make_absolute(std::string_view name, std::span<char> out, std::span<char> scratch);

/// Replaces `%p` by the process id, `%h` by the host, `%r` by the rank, `%j` by the job id, `%t` by the start time
/// (`20261121T084200Z`) and `%%` by `%`. An unknown host, rank or job is written `none`. Host and job come from
/// outside: letters other than A-Z a-z 0-9 . _ - and a leading dot become `_`, so that they cannot name another
/// folder. Thread-safe, allocates nothing.
ExpandedPath expand_path(std::string_view name, const ProcessFacts& facts, std::span<char> buffer);

/// What is wrong with a name, what is allowed, and what to do. Precondition: there is a problem.
std::string describe_problem(const ExpandedPath& path);

/// Whether `name` holds the placeholder `%letter`.
bool has_placeholder(std::string_view name, char letter);

}  // namespace fp32shim::record
