#include "cli/source_locations/messages.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace fp32shim::cli {
namespace {

constexpr std::uint32_t size_limit = 64 << 20;

template <class Number>
void put(std::string& text, Number value) {
    static_assert(std::is_trivially_copyable_v<Number> && !std::is_pointer_v<Number>);
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void put_text(std::string& text, std::string_view value) {
    put(text, static_cast<std::uint32_t>(value.size()));
    text.append(value);
}

/// Reads values from the beginning of a message. After a value is missing, all further values are empty.
class MessageReader {
  public:
    explicit MessageReader(std::string_view text) : rest_(text) {}

    template <class Number>
    Number number() {
        Number value{};
        if (const std::string_view bytes = next_bytes(sizeof value); !bytes.empty())
            std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }
    std::string text() { return std::string(next_bytes(number<std::uint32_t>())); }
    bool is_whole() const { return is_whole_ && rest_.empty(); }
    bool is_over() const { return rest_.empty(); }

  private:
    std::string_view next_bytes(std::size_t size) {
        is_whole_ = is_whole_ && size <= rest_.size();
        if (!is_whole_) return rest_ = {};
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }

    std::string_view rest_;
    bool is_whole_ = true;
};

bool receive_bytes(int socket, char* to, std::size_t size) {
    while (size > 0) {
        const ssize_t got = read(socket, to, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

}  // namespace

std::string encode(const LocationQuestion& question) {
    std::string text;
    put(text, question.object);
    put(text, question.readable);
    put_text(text, question.facts.path);
    put_text(text, {reinterpret_cast<const char*>(question.facts.build_id.data()), question.facts.build_id.size()});
    put(text, question.facts.first_seen_ns);
    put(text, question.facts.file);
    for (const std::uint64_t address : question.addresses) put(text, address);
    return text;
}

std::optional<LocationQuestion> decode_question(std::string_view text) {
    MessageReader reader(text);
    LocationQuestion question;
    question.object = reader.number<std::uint32_t>();
    question.readable = reader.number<Readable>();
    question.facts.path = reader.text();
    const std::string id = reader.text();
    question.facts.build_id.assign(id.begin(), id.end());
    question.facts.first_seen_ns = reader.number<std::int64_t>();
    question.facts.file = reader.number<record::format::FileState>();
    while (!reader.is_over()) question.addresses.push_back(reader.number<std::uint64_t>());
    return reader.is_whole() ? std::optional(std::move(question)) : std::nullopt;
}

std::string encode(const std::vector<SourceLocation>& locations) {
    std::string text;
    for (const SourceLocation& location : locations) {
        put_text(text, location.symbol);
        put_text(text, location.clone);
        put_text(text, location.exported);
        put(text, location.symbol_offset);
        put_text(text, location.why_unknown);
        put(text, static_cast<std::uint32_t>(location.frames.size()));
        for (const SourceFrame& frame : location.frames) {
            put_text(text, frame.function);
            put_text(text, frame.file);
            put(text, frame.line);
            put(text, frame.is_inlined);
        }
    }
    return text;
}

std::optional<std::vector<SourceLocation>> decode_locations(std::string_view text) {
    MessageReader reader(text);
    std::vector<SourceLocation> locations;
    while (!reader.is_over()) {
        SourceLocation& location = locations.emplace_back();
        location.symbol = reader.text();
        location.clone = reader.text();
        location.exported = reader.text();
        location.symbol_offset = reader.number<std::uint64_t>();
        location.why_unknown = reader.text();
        for (auto count = reader.number<std::uint32_t>(); count > 0 && !reader.is_over(); --count) {
            SourceFrame& frame = location.frames.emplace_back();
            frame.function = reader.text();
            frame.file = reader.text();
            frame.line = reader.number<int>();
            frame.is_inlined = reader.number<std::uint8_t>() != 0;
        }
    }
    return reader.is_whole() ? std::optional(std::move(locations)) : std::nullopt;
}

bool send_message(int socket, std::string_view text) {
    std::string message;
    put_text(message, text);
    for (std::string_view rest = message; !rest.empty();) {
        const ssize_t sent = send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

std::optional<std::string> receive_message(int socket) {
    std::uint32_t size = 0;
    if (!receive_bytes(socket, reinterpret_cast<char*>(&size), sizeof size) || size > size_limit) return std::nullopt;
    std::string text(size, '\0');
    if (!receive_bytes(socket, text.data(), size)) return std::nullopt;
    return text;
}

}  // namespace fp32shim::cli
