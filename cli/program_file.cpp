#include "cli/program_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace fp32shim::cli {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t our_machine = EM_X86_64;
constexpr std::string_view our_machine_name = "x86-64";
#elif defined(__aarch64__)
constexpr std::uint16_t our_machine = EM_AARCH64;
constexpr std::string_view our_machine_name = "aarch64";
#endif

ProgramFile look_at(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        const bool is_absent = errno == ENOENT || errno == ENOTDIR;
        return {is_absent ? Lookup::not_found : Lookup::not_executable, path, std::strerror(errno)};
    }
    if (S_ISDIR(status.st_mode)) return {Lookup::not_executable, path, "it is a folder"};
    if (access(path.c_str(), X_OK) != 0) return {Lookup::not_executable, path, std::strerror(errno)};
    return {Lookup::found, path, {}};
}

/// A file's bytes by position; short or failed reads give nothing.
class Bytes {
  public:
    explicit Bytes(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~Bytes() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;

    template <class T>
    std::optional<T> at(std::uint64_t offset) const {
        T value;
        const ssize_t size = pread(descriptor_, &value, sizeof value, static_cast<off_t>(offset));
        return size == sizeof value ? std::optional<T>(value) : std::nullopt;
    }

    /// At most `size` bytes.
    std::string text_at(std::uint64_t offset, std::size_t size) const {
        std::string text(size, '\0');
        const ssize_t count = pread(descriptor_, text.data(), size, static_cast<off_t>(offset));
        text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return text;
    }

  private:
    int descriptor_;
};

/// The interpreter that a `#!` line names; for `env` the program that it starts. Empty: no such line.
std::string script_interpreter(const Bytes& bytes) {
    const std::string head = bytes.text_at(0, 256);
    if (!head.starts_with("#!")) return {};
    std::vector<std::string> words;
    for (std::size_t i = 2; i < head.size() && head[i] != '\n';) {
        const std::size_t end = std::min(head.find_first_of(" \t\n", i), head.size());
        if (end > i) words.push_back(head.substr(i, end - i));
        i = end + (end < head.size() && head[end] != '\n' ? 1 : 0);
    }
    if (words.empty()) return {};
    if (!words[0].ends_with("/env")) return words[0];
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i].starts_with('-') || words[i].find('=') != std::string::npos) continue;
        return find_program(words[i], getenv("PATH")).path;
    }
    return {};
}

bool has_elf_magic(const std::optional<Elf64_Ehdr>& header) {
    return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
}

std::string why_elf_unseen(const Bytes& bytes, const Elf64_Ehdr& header) {
    if (header.e_machine != our_machine || header.e_ident[EI_CLASS] != ELFCLASS64) {
        return "is for another processor or word size than this fp32shim (" + std::string(our_machine_name) + ")";
    }
    for (std::uint32_t i = 0; i < header.e_phnum; ++i) {
        const auto segment = bytes.at<Elf64_Phdr>(header.e_phoff + std::uint64_t{i} * header.e_phentsize);
        if (!segment) return {};
        if (segment->p_type != PT_INTERP) continue;
        const std::string loader = bytes.text_at(segment->p_offset, std::min<std::uint64_t>(segment->p_filesz, 256));
        const bool is_musl = loader.find("/ld-musl") != std::string::npos;
        return is_musl ? "uses musl, whose loader cannot load a library that was built for glibc" : "";
    }
    // A loader that is started as a program has no interpreter either.
    return header.e_type == ET_DYN && header.e_entry == 0 ? "" : "is statically linked";
}

}  // namespace

ProgramFile find_program(const std::string& name, const char* path_variable) {
    if (name.empty()) return {Lookup::not_found, name, std::strerror(ENOENT)};
    if (name.find('/') != std::string::npos) return look_at(name);
    std::optional<ProgramFile> refused;
    std::string_view folders = path_variable != nullptr ? path_variable : "/bin:/usr/bin";
    for (;;) {
        const std::size_t colon = folders.find(':');
        const std::string folder(colon == 0 || folders.empty() ? "." : folders.substr(0, colon));
        ProgramFile candidate = look_at(folder + '/' + name);
        if (candidate.lookup == Lookup::found) return candidate;
        // Whether it is in a folder that this user may not search cannot be known: most likely not.
        const bool is_there = candidate.lookup == Lookup::not_executable && access(folder.c_str(), X_OK) == 0;
        if (is_there && !refused) refused = candidate;
        if (colon == std::string_view::npos) break;
        folders.remove_prefix(colon + 1);
    }
    return refused.value_or(ProgramFile{Lookup::not_found, name, "it is in no folder of PATH"});
}

bool is_elf(const std::string& path) { return Bytes(path).text_at(0, SELFMAG) == ELFMAG; }

std::string why_unseen(const std::string& path) {
    const Bytes bytes(path);
    if (const std::string interpreter = script_interpreter(bytes); !interpreter.empty()) {
        // A chain of scripts is not followed: the kernel allows one, and nobody writes it.
        const Bytes program(interpreter);
        const auto header = program.at<Elf64_Ehdr>(0);
        if (!has_elf_magic(header)) return {};
        const std::string why = why_elf_unseen(program, *header);
        return why.empty() ? why : "is run by " + interpreter + ", which " + why;
    }
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) {
        const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
        const bool changes_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != getegid();
        if (changes_user || changes_group) {
            return "runs as another user or group (setuid, setgid), for which the loader ignores a preload";
        }
    }
    if (geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
        return "has capabilities of its own (setcap), for which the loader ignores a preload";
    }
    const auto header = bytes.at<Elf64_Ehdr>(0);
    if (!has_elf_magic(header)) return {};
    return why_elf_unseen(bytes, *header);
}

}  // namespace fp32shim::cli
