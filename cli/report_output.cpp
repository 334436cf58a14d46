#include "cli/report_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace fp32shim::cli {
namespace {

namespace fs = std::filesystem;

std::string problem(const std::string& path, const std::string& what, int error) {
    return fmt::format("{}: {}: {}", path, what, std::strerror(error));
}

/// 0, or errno.
int write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

/// Those of the file that is replaced, else what the umask leaves.
mode_t permissions_for(const std::string& path) {
    struct stat old {};
    if (::stat(path.c_str(), &old) == 0) return old.st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

std::string write_directly(const std::string& path, std::string_view text) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return problem(path, "cannot be opened for writing", errno);
    const int error = write_all(descriptor, text);
    ::close(descriptor);
    return error == 0 ? std::string() : problem(path, "cannot be written", error);
}

std::string write_beside(const std::string& path, std::string_view text) {
    std::string temporary = path + ".XXXXXX";
    const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (descriptor < 0) return problem(path, "no file can be made in this folder", errno);
    int error = write_all(descriptor, text);
    if (error == 0 && ::fchmod(descriptor, permissions_for(path)) != 0) error = errno;
    if (::close(descriptor) != 0 && error == 0) error = errno;
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
    if (error == 0) return {};
    ::unlink(temporary.c_str());
    return problem(path, "cannot be written", error);
}

}  // namespace

std::string output_problem(const std::string& path, const std::vector<std::string>& recordings) {
    if (path.empty()) return {};
    std::error_code error;
    for (const std::string& recording : recordings) {
        if (fs::equivalent(path, recording, error)) {
            return fmt::format("{}: is one of the recordings; --output takes another file", path);
        }
    }
    if (fs::is_directory(path, error)) return fmt::format("{}: is a folder; --output takes a file", path);
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty() && !fs::is_directory(folder, error)) {
        return fmt::format("{}: there is no folder {}", path, folder.string());
    }
    return {};
}

std::string write_output(const std::string& path, std::string_view text) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, text);
    const fs::path target = fs::weakly_canonical(path, error);
    return write_beside(error ? path : target.string(), text);
}

}  // namespace fp32shim::cli
