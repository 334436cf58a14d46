// Messages between the command and the child process that reads untrusted files.
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

/// Parts of a file that may be read.
enum class Readable : std::uint8_t { nothing, symbols, all };

/// A question for the locations of some addresses in one object.
struct LocationQuestion {
    std::uint32_t object = 0;  ///< number of the object, which identifies it in later questions
    Readable readable = Readable::all;
    record::RecordedObject facts;  ///< sent with the first question about an object; in later ones its path is
                                   ///< empty
    std::vector<std::uint64_t> addresses;  ///< addresses in the file
};

std::string encode(const LocationQuestion& question);
std::string encode(const std::vector<SourceLocation>& locations);
/// Decodes a question; nullopt if the text is not one.
std::optional<LocationQuestion> decode_question(std::string_view text);
std::optional<std::vector<SourceLocation>> decode_locations(std::string_view text);

/// Sends a message through a socket. Returns false if the other process is gone.
bool send_message(int socket, std::string_view text);

/// Waits for a message. Returns nullopt if the other process is gone.
std::optional<std::string> receive_message(int socket);

/// Maximum number of seconds that the child takes for one question. After them SIGALRM ends it.
inline constexpr unsigned question_seconds = 30;

/// Answers questions from the socket until the other process closes it, then ends this process. Must be called in a
/// process that was forked for this purpose.
[[noreturn]] void answer_questions(int socket);

}  // namespace fp32shim::cli
