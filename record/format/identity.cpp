#include "record/format/identity.hpp"

#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "system/line_writer.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::record {

namespace {

/// The path `/proc/FOLDER/NAME`, which is truncated if it does not fit into the buffer.
class ProcPath {
  public:
    ProcPath(std::string_view folder, std::string_view name) {
        system::LineWriter(buffer_).text("/proc/").text(folder).text("/").text(name).nul_terminated();
        buffer_[sizeof buffer_ - 1] = '\0';
    }
    const char* c_str() const { return buffer_; }

  private:
    char buffer_[96] = {};
};

/// Returns the first bytes of the file at `path`, read into `buffer`, or an empty text if the file cannot be read.
std::string_view read_begin(const char* path, std::span<char> buffer) {
    const int descriptor = system::raw::open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return {};
    const long size = system::raw::read(descriptor, buffer.data(), buffer.size());
    system::raw::close(descriptor);
    return {buffer.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
}

template <class Integer>
Integer leading_number(std::string_view text) {
    Integer value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Returns the facts in /proc/FOLDER/stat about a process, or zeros if the process has ended.
ProcessStart read_stat(std::string_view folder) {
    char buffer[512];
    std::string_view stat = read_begin(ProcPath(folder, "stat").c_str(), buffer);
    // Field 2, the process's name, may hold anything, even parentheses. The last parenthesis in the file ends the
    // name. The process's state and the id of its parent follow, such as ` S 1`.
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string_view::npos) return {};
    stat.remove_prefix(name_end + 1);
    if (stat.starts_with(" Z") || stat.starts_with(" X")) return {};
    ProcessStart process;
    constexpr int parent_field = 4, start_field = 22;
    for (int field = 2; field < start_field; ++field) {
        const std::size_t space = stat.find(' ');
        if (space == std::string_view::npos) return {};
        stat.remove_prefix(space + 1);
        if (field + 1 == parent_field) process.parent = leading_number<std::int32_t>(stat);
    }
    process.start = leading_number<std::uint64_t>(stat);
    return process;
}

/// Returns the start of the process with the folder /proc/FOLDER, in clock ticks after boot, or 0 if the process has
/// ended.
std::uint64_t read_start(std::string_view folder) { return read_stat(folder).start; }

/// Returns a process's id in its own namespace, which is the last number of the line `NSpid:` in /proc/PID/status.
/// The line comes after a list of the user's groups, which may have thousands of entries.
std::int32_t read_own_pid(std::string_view folder) {
    const ProcPath path(folder, "status");
    std::string buffer(4096, '\0');
    std::string_view status = read_begin(path.c_str(), buffer);
    while (status.size() == buffer.size()) {
        buffer.resize(2 * buffer.size());
        status = read_begin(path.c_str(), buffer);
    }
    const std::size_t begin = status.find("\nNSpid:");
    if (begin == std::string_view::npos) return 0;
    std::string_view line = status.substr(begin + 1);
    line = line.substr(0, line.find('\n'));
    return leading_number<std::int32_t>(line.substr(line.find_last_of("\t :") + 1));
}

/// Returns the inode of a process's PID namespace, or 0 if it is not known. The link /proc/PID/ns/pid has the inode
/// in its target, such as `pid:[4026531836]`.
std::uint64_t read_pid_namespace(std::string_view folder) {
    char buffer[64];
    const long size = system::raw::readlink(ProcPath(folder, "ns/pid").c_str(), buffer, sizeof buffer);
    constexpr std::size_t prefix = 5;
    if (size <= static_cast<long>(prefix)) return 0;
    return leading_number<std::uint64_t>(std::string_view(buffer, static_cast<std::size_t>(size)).substr(prefix));
}

std::array<std::uint8_t, 16> read_boot_id() {
    std::array<std::uint8_t, 16> id{};
    char buffer[64];
    std::size_t digits = 0;
    for (const char& letter : read_begin("/proc/sys/kernel/random/boot_id", buffer)) {
        std::uint8_t value = 0;
        if (digits >= 32 || std::from_chars(&letter, &letter + 1, value, 16).ec != std::errc{}) continue;
        id[digits / 2] = static_cast<std::uint8_t>(id[digits / 2] << 4 | value);
        ++digits;
    }
    return id;
}

}  // namespace

bool ProcessIdentity::shares_boot_with(const ProcessIdentity& other) const {
    return boot_id == other.boot_id && boot_id != decltype(boot_id){};
}

ProcessIdentity identify_self() {
    return {system::raw::getpid(), read_start("self"), read_pid_namespace("self"), read_boot_id()};
}

ProcessStart process_start_of(std::int32_t pid) {
    char buffer[16];
    ProcessStart process = read_stat(system::LineWriter(buffer).number(pid).view());
    process.pid = pid;
    return process;
}

ProcessIdentity identify_process(std::int32_t pid_here) {
    char buffer[16];
    const std::string_view folder = system::LineWriter(buffer).number(pid_here).view();
    return {read_own_pid(folder), read_start(folder), read_pid_namespace(folder), read_boot_id()};
}

}  // namespace fp32shim::record
