#include "cli/binaries/scanned_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "cli/binaries/function_kind.hpp"
#include "cli/binaries/program_file.hpp"
#include "cli/output/json.hpp"
#include "system/hash.hpp"

namespace fp32shim::cli {
namespace {

namespace fs = std::filesystem;

/// Smaller files are scanned faster than a result is found.
constexpr off_t smallest_kept_size = 1 << 20;
/// Number of results beyond which those that are not the newest are removed.
constexpr std::size_t most_results = 2000;

/// Returns a text that is another one after each change of a file; empty if the file is smaller or cannot be
/// examined.
std::string state_text(const std::string& path, off_t smallest_size) {
    struct stat facts = {};
    if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < smallest_size) return {};
    // A file system's clock may stand still for some milliseconds, so a file that has just changed may change again
    // without another time.
    if (facts.st_ctim.tv_sec + 2 > time(nullptr)) return {};
    const auto text_of = [](const timespec& at) { return fmt::format("{}.{:09}", at.tv_sec, at.tv_nsec); };
    return fmt::format("{} inode {} size {} modified {} changed {}", path, facts.st_ino, facts.st_size,
                       text_of(facts.st_mtim), text_of(facts.st_ctim));
}

/// Returns a text that is another one for each build of this program, whose tables decide what a scan finds.
const std::string& program_text() {
    static const std::string text = state_text(own_program(), 0);
    return text;
}

/// Returns the folder of the cache; empty if the user has none. A home that does not exist is not made.
fs::path cache_folder() {
    const auto folder_in = [](const char* variable) {
        const char* const value = std::getenv(variable);
        return fs::path(value != nullptr && *value == '/' ? value : "");
    };
    fs::path base = folder_in("XDG_CACHE_HOME");
    std::error_code error;
    if (base.empty()) {
        base = folder_in("HOME");
        if (base.empty() || !fs::is_directory(base, error)) return {};
        base /= ".cache";
    }
    return base / "fp32shim" / "libraries";
}

/// Result of an earlier scan of one file, as a JSON file of the cache.
class KeptResult {
  public:
    explicit KeptResult(const std::string& path) : object_(path) {
        const std::string state = state_text(path, smallest_kept_size);
        if (state.empty() || program_text().empty()) return;
        folder_ = cache_folder();
        key_ = state + " by " + program_text();
        file_ = folder_ / fmt::format("{:016x}.json", system::Hash().add(key_).value());
    }

    /// Returns nullopt if there is none, or if it is damaged.
    std::optional<ScannedFile> read() const {
        if (folder_.empty()) return std::nullopt;
        std::ostringstream text;
        text << std::ifstream(file_, std::ios::binary).rdbuf();
        const Json json = Json::parse(text.str(), nullptr, false);
        if (!json.is_object()) return std::nullopt;
        try {
            if (json.at("key") != key_) return std::nullopt;
            ScannedFile file{json.at("build_id"), {}, json.at("looks_up_cublas")};
            for (const Json& bypass : json.at("bypasses"))
                file.bypasses.push_back({bypass.at("name"), bypass.at("title"), object_, bypass.at("device"),
                                         bypass.at("message"), bypass.at("remedy"), bypass.at("pins"),
                                         bypass.at("is_float32")});
            return file;
        } catch (const Json::exception&) {
            return std::nullopt;
        }
    }

    void write(const ScannedFile& file) const {
        if (folder_.empty()) return;
        Json json = {{"key", key_},
                     {"build_id", file.build_id},
                     {"looks_up_cublas", file.looks_up_cublas},
                     {"bypasses", Json::array()}};
        for (const Bypass& bypass : file.bypasses)
            json["bypasses"].push_back({{"name", bypass.name},
                                        {"title", bypass.title},
                                        {"device", bypass.device},
                                        {"message", bypass.message},
                                        {"remedy", bypass.remedy},
                                        {"pins", bypass.pins},
                                        {"is_float32", bypass.is_float32}});
        std::error_code error;
        fs::create_directories(folder_, error);
        // Readers see a whole file or none.
        std::string unfinished = file_.string() + ".XXXXXX";
        const int descriptor = mkstemp(unfinished.data());
        if (descriptor < 0) return;
        close(descriptor);
        std::ofstream stream(unfinished, std::ios::binary);
        const bool is_written = static_cast<bool>((stream << dumped(json, -1)).flush());
        if (is_written) fs::rename(unfinished, file_, error);
        if (!is_written || error) fs::remove(unfinished, error);
        remove_old();
    }

  private:
    void remove_old() const {
        std::error_code error;
        std::vector<std::pair<fs::file_time_type, fs::path>> all;
        for (fs::directory_iterator entry(folder_, error); !error && entry != fs::directory_iterator();
             entry.increment(error))
            all.emplace_back(entry->last_write_time(error), entry->path());
        if (all.size() <= most_results) return;
        std::ranges::sort(all);
        all.resize(all.size() - most_results / 2);
        for (const auto& [time, path] : all) fs::remove(path, error);
    }

    std::string object_;
    fs::path folder_, file_;  ///< empty: nothing is kept
    std::string key_;
};

}  // namespace

std::optional<ScannedFile> scan_file(const std::string& path) {
    const KeptResult kept(path);
    if (auto known = kept.read()) return known;
    const auto elf = read_elf(path, is_intercepted);
    if (!elf) return std::nullopt;
    ScannedFile file{elf->build_id, find_bypasses(path, *elf), looks_up_cublas(path, *elf)};
    kept.write(file);
    return file;
}

}  // namespace fp32shim::cli
