// Makes the path of a log or a recording from a `NAME` with placeholders.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "record/process_facts.hpp"

namespace fp32shim::record {

/// The end of a recording's name. The names of decision logs have another end.
inline constexpr std::string_view recording_extension = ".fp32rec";

enum class PathProblem : std::uint8_t {
    none,
    unknown_placeholder,  ///< a `%` with an unknown letter, such as `%x`, or a `%` at the end
    too_long,             ///< the path is longer than the buffer
};

struct ExpandedPath {
    std::string_view path;  ///< the resulting path, in the caller's buffer and followed by a NUL; empty: there is a
                            ///< `problem`
    PathProblem problem = PathProblem::none;
    char placeholder = 0;  ///< the letter after `%` that is not known; 0: the `%` was the last character
};

/// Size of the longest path that the kernel accepts, including its NUL. expand_path() needs a buffer of this size.
inline constexpr std::size_t path_capacity = 4096;

/// Returns `name` as an absolute path, because daemons change their directory before they fork. A `%` in the name of
/// the current directory is doubled, so that expand_path() keeps it. `out` and `scratch` must have path_capacity
/// bytes each. The result is in `out`, followed by a NUL. It is empty if the path is too long, and equals `name`
/// if the current directory has no path. Thread-safe, allocates nothing.
std::string_view make_absolute_name(std::string_view name, std::span<char> out, std::span<char> scratch);

/// Replaces `%p` by the process id, `%h` by the host, `%r` by the rank, `%j` by the job id, `%t` by the start time
/// (`20261121T084200Z`) and `%%` by `%`. An unknown host, rank or job is written `none`. The names of host and job
/// must not lead to another folder, so their characters are replaced by `_`, except letters, digits, `.`, `_` and `-`
/// of ASCII; a dot at the start is replaced, too. Thread-safe, allocates nothing.
ExpandedPath expand_path(std::string_view name, const LogNameFacts& facts, std::span<char> buffer);

/// Returns a message that describes the problem in `path` and lists the allowed placeholders. Precondition:
/// `path.problem` is not `none`.
std::string describe_path_problem(const ExpandedPath& path);

/// Returns true if `name` holds the placeholder `%letter`.
bool has_placeholder(std::string_view name, char letter);

}  // namespace fp32shim::record
