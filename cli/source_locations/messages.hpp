// The child process that reads files of others, and the messages between it and the command.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cli/source_locations/source_locations.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Kinds of data that may be read of a file.
enum class Readable : std::uint8_t { nothing, symbols, all };

/// A question: the locations of some addresses.
struct LocationQuestion {
    std::uint32_t object = 0;  ///< number of the object; its facts are only in the first question about it
    Readable readable = Readable::all;
    record::RecordedObject facts;          ///< empty path: known from an earlier question
    std::vector<std::uint64_t> addresses;  ///< in the file
};

std::string encode(const LocationQuestion& question);
std::string encode(const std::vector<SourceLocation>& locations);
/// Returns nullopt if the text is no such message.
std::optional<LocationQuestion> decode_question(std::string_view text);
std::optional<std::vector<SourceLocation>> decode_locations(std::string_view text);

/// Sends a message through a socket. Returns false if the other side is gone.
bool send_message(int socket, std::string_view text);

/// Waits for a message. Returns nullopt if the other side is gone.
std::optional<std::string> receive_message(int socket);

/// Seconds that the child takes for one question at most. It ends by SIGALRM then.
inline constexpr unsigned question_seconds = 30;

/// Answers the questions that come through the socket, until the other side closes it, and ends the process. For a
/// process that was forked for this.
[[noreturn]] void answer_questions(int socket);

}  // namespace fp32shim::cli
