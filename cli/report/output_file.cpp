#include "cli/report/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/files/own_files.hpp"
#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_size = 65536;

/// Returns the permissions of the file that will be replaced. For a new file, returns the permissions that the umask
/// allows.
mode_t permissions_for(const std::string& path) {
    struct stat old {};
    if (::stat(path.c_str(), &old) == 0) return old.st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

}  // namespace

std::string problem_with_output(const std::string& path, const std::vector<std::string>& recordings) {
    if (path.empty()) return {};
    std::error_code error;
    for (const std::string& recording : recordings)
        if (fs::equivalent(path, recording, error))
            return fmt::format("{}: is one of the recordings; --output must name another file", path);
    if (fs::is_directory(path, error)) return fmt::format("{}: is a folder; --output takes a file", path);
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty() && !fs::is_directory(folder, error))
        return fmt::format("{}: there is no folder {}", path, folder.string());
    return {};
}

ReportOutput::ReportOutput(const std::string& path) : path_(path) {
    if (path.empty()) return;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (descriptor_ < 0) keep_failure("cannot be opened for writing", errno);
        return;
    }
    const fs::path target = fs::weakly_canonical(path, error);
    open_temporary_beside(error ? path : target.string());
}

void ReportOutput::open_temporary_beside(const std::string& target) {
    target_ = target;
    temporary_ = target + ".XXXXXX";
    descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
    if (descriptor_ >= 0) return;
    keep_failure("no file can be made in this folder", errno);
    temporary_.clear();
}

ReportOutput::~ReportOutput() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

/// Stores the first failure, for finish() to report; drops any later one. `what` says what failed, such as `cannot be
/// opened for writing`, and `error` is the errno.
void ReportOutput::keep_failure(const char* what, int error) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}: {}", path_, what, std::strerror(error));
}

bool ReportOutput::write(std::string_view text) {
    if (path_.empty()) {
        print(text);
        return std::ferror(stdout) == 0;
    }
    buffer_ += text;
    if (buffer_.size() >= buffer_size) flush_buffer();
    return problem_.empty();
}

void ReportOutput::flush_buffer() {
    if (problem_.empty())
        if (const int error = write_all(descriptor_, buffer_); error != 0) keep_failure("cannot be written", error);
    buffer_.clear();
}

std::string ReportOutput::finish() {
    if (path_.empty()) return {};
    flush_buffer();
    const auto check = [&](int result) {
        if (result != 0) keep_failure("cannot be written", errno);
    };
    if (problem_.empty() && !temporary_.empty()) check(::fchmod(descriptor_, permissions_for(target_)));
    if (descriptor_ >= 0) check(::close(std::exchange(descriptor_, -1)));
    if (problem_.empty() && !temporary_.empty()) {
        check(::rename(temporary_.c_str(), target_.c_str()));
        if (problem_.empty()) temporary_.clear();
    }
    return problem_;
}

}  // namespace fp32shim::cli
