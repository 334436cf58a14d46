#include "shim/ranges/texts.hpp"

#include <cstdint>

#include "shim/memory/arena.hpp"
#include "system/hash.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

// A hash table with open addressing. Entries are never removed. Entry 0 stands for all texts that found no room.
constexpr std::size_t table_size = 1 << 16;
constexpr std::size_t longest_probe = 64;
constinit std::array<TextEntry, table_size> texts{};
constexpr std::string_view no_text;

const TextEntry& entry_without_text() {
    texts[0].store(&no_text, std::memory_order_release);
    return texts[0];
}

const TextEntry& entry_beyond_the_bound() {
    static constinit system::OncePerProcess said;
    if (said.first()) system::stderr_line("too many registered strings; ranges named by further strings are ignored");
    return entry_without_text();
}

/// Returns a copy of the text, or nullptr if there is no memory.
const std::string_view* copy_of(std::string_view text) {
    const std::string_view lasting = arena_try_copy(text);
    return lasting.data() == nullptr ? nullptr : arena_try_new<std::string_view>(lasting);
}

/// Appends a character as UTF-8.
void append(std::uint32_t code, LabelBuffer& buffer, std::size_t& size) {
    const auto put = [&](std::uint32_t byte) { buffer[size++] = static_cast<char>(byte); };
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
    if (code < 0x80) return put(code);
    if (code < 0x800) {
        put(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            put(0xe0 | code >> 12);
        } else {
            put(0xf0 | code >> 18);
            put(0x80 | (code >> 12 & 0x3f));
        }
        put(0x80 | (code >> 6 & 0x3f));
    }
    put(0x80 | (code & 0x3f));
}

}  // namespace

std::string_view label_view(const char* text) {
    std::size_t size = 0;
    if (text != nullptr)
        while (size < range_label_limit && text[size] != '\0') ++size;
    return {text, size};
}

std::string_view label_view(const wchar_t* text, LabelBuffer& buffer) {
    std::size_t size = 0;
    if (text != nullptr)
        for (; *text != L'\0' && size < range_label_limit; ++text)
            append(static_cast<std::uint32_t>(*text), buffer, size);
    return {buffer.data(), size};
}

const TextEntry& register_text(std::string_view text) {
    const std::uint64_t hash = system::Hash().add(text).value();
    const std::string_view* fresh = nullptr;
    for (std::size_t probe = 0; probe < longest_probe; ++probe) {
        TextEntry& entry = texts[1 + (hash + probe) % (table_size - 1)];
        const std::string_view* known = entry.load(std::memory_order_acquire);
        if (known == nullptr) {
            if (fresh == nullptr) fresh = copy_of(text);
            if (fresh == nullptr) return entry_without_text();
            if (entry.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return entry;
        }
        if (*known == text) return entry;
    }
    return entry_beyond_the_bound();
}

std::string_view registered_text(const void* handle) {
    const auto offset = reinterpret_cast<std::uintptr_t>(handle) - reinterpret_cast<std::uintptr_t>(texts.data());
    if (offset >= sizeof texts || offset % sizeof(TextEntry) != 0) return {};
    const std::string_view* known = texts[offset / sizeof(TextEntry)].load(std::memory_order_acquire);
    return known == nullptr ? std::string_view{} : *known;
}

}  // namespace fp32shim
