#include "cli/binaries/scanned_file.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "cli/binaries/function_kind.hpp"
#include "cli/binaries/program_file.hpp"
#include "cli/files/own_files.hpp"
#include "system/hash.hpp"

namespace fp32shim::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Bypass, name, title, object, device, message, remedy, pins, is_float32)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RuntimeLookups, cublas, kernels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScannedFile, build_id, bypasses, looked_up)

namespace {

/// Smaller files are scanned faster than a result is found.
constexpr off_t smallest_kept_size = 1 << 20;
/// Number of results beyond which those that are not the newest are removed.
constexpr std::size_t max_results = 2000;
/// Bytes of a result that are read. What a scan finds takes some 1,000.
constexpr std::size_t max_result_bytes = 1 << 20;

constexpr std::string_view result_ending = ".json";
constexpr std::size_t digits = 16;

/// Returns true for `0123456789abcdef.json`, and for the same with a dot and 16 more digits, which is the name of a
/// result until it is complete.
bool is_name_of_result(std::string_view name) {
    const auto has_digits_at = [&](std::size_t at) {
        return name.substr(at, digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
    };
    constexpr std::size_t whole = digits + result_ending.size();
    if (name.size() < whole || !has_digits_at(0) || name.substr(digits, result_ending.size()) != result_ending)
        return false;
    return name.size() == whole ||
           (name.size() == whole + 1 + digits && name[whole] == '.' && has_digits_at(whole + 1));
}

/// Returns a text that differs after each change of a file; empty if the file is smaller than `smallest_size`, has
/// just changed, or cannot be examined.
std::string state_text(const std::string& path, off_t smallest_size) {
    struct stat facts = {};
    if (stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < smallest_size) return {};
    // A file system's clock may stand still for some milliseconds, so a file that has just changed may change again
    // without another time.
    if (facts.st_ctim.tv_sec + 2 > time(nullptr)) return {};
    const auto text_of = [](const timespec& at) { return fmt::format("{}.{:09}", at.tv_sec, at.tv_nsec); };
    return fmt::format("{} device {} inode {} size {} modified {} changed {}", path, facts.st_dev, facts.st_ino,
                       facts.st_size, text_of(facts.st_mtim), text_of(facts.st_ctim));
}

/// Returns a text that differs between builds of this program, whose tables decide what a scan finds.
const std::string& program_text() {
    static const std::string text = state_text(own_program(), 0);
    return text;
}

/// Opens the folder of the cache. The result is not open if the user has no such folder. A home that does not exist
/// is not created. A variable may name a folder of another user: sudo keeps HOME.
OwnFolder cache_folder(bool makes) {
    const auto folder_in = [](const char* variable) {
        const char* const value = std::getenv(variable);
        return std::string(value != nullptr && *value == '/' ? value : "");
    };
    std::string base = folder_in("XDG_CACHE_HOME");
    std::error_code error;
    if (base.empty()) {
        base = folder_in("HOME");
        if (!base.empty()) base = std::filesystem::is_directory(base, error) ? base + "/.cache" : "";
    }
    return {base, {"fp32shim", "libraries"}, makes};
}

/// Result of an earlier scan of one file, as a JSON file of the cache.
class KeptResult {
  public:
    explicit KeptResult(const std::string& path) {
        const std::string state = state_text(path, smallest_kept_size);
        if (state.empty() || program_text().empty()) return;
        key_ = state + " by " + program_text();
        name_ = fmt::format("{:016x}{}", system::Hash().add(key_).value(), result_ending);
    }

    /// Returns nullopt if there is no result, or if it is damaged.
    std::optional<ScannedFile> read() const {
        if (name_.empty()) return std::nullopt;
        const OwnFolder folder = cache_folder(false);
        if (!folder.is_open()) return std::nullopt;
        try {
            const auto json = nlohmann::json::parse(folder.read(name_, max_result_bytes).text);
            if (json.at("key") == key_) return json.at("found").get<ScannedFile>();
        } catch (const nlohmann::json::exception&) {
            // The result is damaged.
        }
        return std::nullopt;
    }

    void write(const ScannedFile& file) const {
        if (name_.empty()) return;
        const OwnFolder folder = cache_folder(true);
        std::uint64_t number = 0;
        if (!folder.is_open() || getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) return;
        const nlohmann::json json = {{"key", key_}, {"found", file}};
        folder.write(name_, fmt::format("{}.{:016x}", name_, number),
                     json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        remove_old(folder);
    }

  private:
    static void remove_old(const OwnFolder& folder) {
        const auto all = folder.entries(is_name_of_result);
        if (all.size() <= max_results) return;
        for (std::size_t i = 0; i < all.size() - max_results / 2; ++i) folder.remove(all[i].name);
    }

    std::string name_;  ///< empty: nothing is kept
    std::string key_;
};

}  // namespace

std::optional<ScannedFile> scan_file(const std::string& path) {
    const KeptResult kept(path);
    if (auto known = kept.read()) return known;
    const auto elf = read_elf(path, is_intercepted);
    if (!elf) return std::nullopt;
    ScannedFile file{elf->build_id, find_bypasses(path, *elf), find_runtime_lookups(path, *elf)};
    kept.write(file);
    return file;
}

}  // namespace fp32shim::cli
