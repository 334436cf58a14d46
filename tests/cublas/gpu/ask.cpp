#include "ask.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>

namespace gpu {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
}

/// A folder for the recordings of a variant that makes some; it goes with the object.
class RecordingsFolder {
  public:
    explicit RecordingsFolder(const Variant& variant)
        : is_wanted_(std::string_view(variant.variables).find("RECORDINGS") != std::string_view::npos) {
        if (!is_wanted_) return;
        path_ = (std::filesystem::temp_directory_path() / "fp32shim-questions-XXXXXX").string();
        if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error(path_ + ": cannot be made");
    }
    ~RecordingsFolder() {
        std::error_code ignored;
        if (is_wanted_) std::filesystem::remove_all(path_, ignored);
    }
    RecordingsFolder(const RecordingsFolder&) = delete;
    RecordingsFolder& operator=(const RecordingsFolder&) = delete;

    const std::string& path() const { return path_; }
    /// Returns true if a recording was wanted and there is none.
    bool lacks_recording() const { return is_wanted_ && std::filesystem::is_empty(path_); }

  private:
    bool is_wanted_;
    std::string path_;
};

void put(std::string& text, std::string_view word, const std::string& value) {
    if (const auto at = text.find(word); at != std::string::npos) text.replace(at, word.size(), "'" + value + "'");
}

/// `variables` with the shim's path in it; without the shim, what the caller preloads stays out too.
std::string command_line(const Section& section, const Variant& variant, const Asking& asking,
                         const RecordingsFolder& recordings, int first_row) {
    std::string variables = variant.variables;
    put(variables, "SHIM", asking.shim);
    put(variables, "RECORDINGS", recordings.path());
    std::string sizes;
    for (const int size : asking.sizes) {
        if (!sizes.empty()) sizes += ',';
        sizes += std::to_string(size);
    }
    return variables + " exec '" + std::filesystem::read_symlink("/proc/self/exe").string() + "' --size " + sizes +
           " --worker " + section.name + " --variant '" + variant.name + "' --first " + std::to_string(first_row);
}

std::string how_it_ended(int status) {
    if (WIFEXITED(status)) return "status " + std::to_string(WEXITSTATUS(status));
    if (WTERMSIG(status) == SIGALRM) return "no answer in " + std::to_string(seconds_for_a_row) + " s";
    return "signal " + std::to_string(WTERMSIG(status));
}

/// Reads a worker's lines until it ends.
class Reader {
  public:
    /// print_title: before the first row.
    Reader(const Section& section, const Variant& variant, Findings& findings, std::function<void()> print_title)
        : section_(section),
          print_title_(std::move(print_title)),
          prefix_(section.variants.empty() ? "" : std::string(variant.name) + "/"),
          findings_(findings) {
        if (!section.variants.empty()) variant_ = {variant.name};
    }

    void take(const std::string& text) {
        std::vector<std::string> fields = split(text, '\t');
        if (fields.empty()) return;
        const std::string word = fields.front();
        fields.erase(fields.begin());
        if (word == line::begins) {
            begun = variant_;
            begun.insert(begun.end(), fields.begin(), fields.end());
            in_a_row = true;
            ++rows;
        } else if (word == line::found && fields.size() == 2) {
            findings_.add(prefix_ + fields[0], fields[1]);
        } else if (word == line::ends) {
            print_title_();
            begun.insert(begun.end(), fields.begin(), fields.end());
            print_row(begun);
            in_a_row = false;
        } else if ((word == line::failed || word == line::no_device) && !fields.empty()) {
            has_no_device = word == line::no_device;
            reason = fields[0];
        }
    }

    /// The row in progress, or one for the section, with what went wrong in its first free cell.
    void print_failure(int status) {
        std::vector<std::string> cells = in_a_row ? begun : variant_;
        std::string what("FAILED: ");
        what.append(reason.empty() ? how_it_ended(status) : reason);
        cells.push_back(what);
        print_title_();
        cells.resize(section_.columns.size() + variant_.size(), "-");
        print_row(cells);
        if (!section_.faults_are_answers) findings_.add("failures", std::string(section_.name) + ": " + what);
        in_a_row = false;
        reason.clear();
    }

    std::vector<std::string> begun;
    std::string reason;
    bool in_a_row = false;
    bool has_no_device = false;
    int rows = 0;  // begun by all workers together

  private:
    const Section& section_;
    std::function<void()> print_title_;
    std::string prefix_;
    Findings& findings_;
    std::vector<std::string> variant_;
};

int run_worker(const std::string& command, Reader& reader) {
    FILE* output = popen(command.c_str(), "r");
    if (!output) throw std::runtime_error("popen: no process could be started");
    std::string text;
    for (int c; (c = std::fgetc(output)) != EOF;) {
        if (c != '\n') {
            text += static_cast<char>(c);
            continue;
        }
        reader.take(text);
        text.clear();
    }
    return pclose(output);
}

void ask_variant(const Section& section, const Variant& variant, const Asking& asking, Findings& findings,
                 const std::function<void()>& print_title) {
    Reader reader(section, variant, findings, print_title);
    const RecordingsFolder recordings(variant);
    for (;;) {
        const int before = reader.rows;
        const int status = run_worker(command_line(section, variant, asking, recordings, before), reader);
        if (status == 0) {
            if (recordings.lacks_recording()) {
                reader.reason = "nothing was recorded";
                reader.print_failure(status);
            }
            return;
        }
        if (reader.has_no_device) throw NoDevice(reader.reason);
        // If not even a row was begun, another worker would do no better.
        const bool may_go_on = reader.rows > before;
        reader.print_failure(status);
        if (!may_go_on) return;
    }
}

}  // namespace

void print_row(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) std::printf("| %s ", cell.c_str());
    std::printf("|\n");
    std::fflush(stdout);
}

void print_heading(const std::string& title, const std::vector<std::string>& columns) {
    std::printf("\n### %s\n\n", title.c_str());
    print_row(columns);
    print_row(std::vector<std::string>(columns.size(), "---"));
}

void ask(const Section& section, const Asking& asking, Findings& findings) {
    std::vector<std::string> columns(section.columns.begin(), section.columns.end());
    if (!section.variants.empty()) columns.insert(columns.begin(), "run");
    // Without a device, one line says so, and no table begins.
    bool titled = false;
    const auto print_title = [&] {
        if (!titled) print_heading(section.title, columns);
        titled = true;
    };
    if (section.variants.empty()) ask_variant(section, {"", ""}, asking, findings, print_title);
    for (const Variant& variant : section.variants) {
        const bool needs_shim = std::string(variant.variables).find("SHIM") != std::string::npos;
        if (needs_shim && !std::filesystem::exists(asking.shim)) {
            print_title();
            print_row({variant.name, "left out: there is no " + asking.shim});
        } else {
            ask_variant(section, variant, asking, findings, print_title);
        }
    }
}

}  // namespace gpu
