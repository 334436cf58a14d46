#include "cli/binaries/package.hpp"

#include <filesystem>
#include <fstream>

namespace fp32shim::cli {

std::string package_of(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path file = fs::path(path).lexically_normal();
    fs::path root = file.parent_path();
    while (root.filename() != "site-packages" && root.filename() != "dist-packages") {
        if (!root.has_relative_path()) return {};
        root = root.parent_path();
    }
    // A RECORD has lines `nvidia/cu13/lib/libcublas.so.13,sha256=…,54198912`.
    const std::string line_begin = file.lexically_relative(root).string() + ',';
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root, error)) {
        if (entry.path().extension() != ".dist-info") continue;
        std::ifstream record(entry.path() / "RECORD");
        for (std::string line; std::getline(record, line);) {
            if (!line.starts_with(line_begin)) continue;
            std::string name = entry.path().stem().string();  // `nvidia_cublas-13.4.1.3`
            if (const std::size_t dash = name.rfind('-'); dash != std::string::npos) name[dash] = ' ';
            return name;
        }
    }
    return {};
}

}  // namespace fp32shim::cli
