#include "gpu_check/workers/ask.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "gpu_check/workers/variant_run.hpp"

namespace gpu {
namespace {

/// Handles the messages of workers for one variant of a section.
class MessageReader {
  public:
    MessageReader(const Section& section, const Variant& variant, FindingMap& findings, const RowHandler& sink)
        : prefix(section.variants.empty() ? "" : std::string(variant.name) + "/"),
          section_(section),
          variant_(variant),
          findings_(findings),
          sink_(sink) {}

    void handle_line(const std::string& text) {
        std::vector<std::string> fields = split(text, '\t');
        if (fields.empty()) return;
        const std::string word = fields.front();
        fields.resize(3);
        if (word == line::begins) {
            title_ = fields[1];
            row_prefix_ = fields[2];
            found_.clear();
            is_in_row_ = true;
            ++rows;
        } else if (word == line::found) {
            findings_.add(prefix + fields[1], fields[2]);
            std::string name = fields[1].substr(row_prefix_.size());
            if (name.starts_with('_')) name.erase(0, 1);
            found_ += (found_.empty() ? "" : "; ") + name + (name.empty() ? "" : " ") + fields[2];
        } else if (word == line::ends) {
            sink_(variant_, title_, found_);
            is_in_row_ = false;
        } else if (word == line::failed || word == line::no_device) {
            has_no_device = word == line::no_device;
            reason = fields[1];
        }
    }

    /// Reports a failure in the row that the worker was measuring.
    void fail(const std::string& why) {
        const std::string what = reason.empty() ? why : reason;
        const bool names_the_row = is_in_row_ && what != no_time_left;
        findings_.add(prefix + "failure", (names_the_row ? title_ + ": " : "") + what);
        if (!section_.faults_are_answers) findings_.add("failures", std::string(section_.name) + ": FAILED: " + what);
        sink_(variant_, is_in_row_ ? title_ : "-", "FAILED: " + what);
        is_in_row_ = false;
        reason.clear();
    }

    const std::string prefix;
    std::string reason;
    bool has_no_device = false;
    int rows = 0;  // number of rows that all workers together have begun

  private:
    const Section& section_;
    const Variant& variant_;
    FindingMap& findings_;
    const RowHandler& sink_;
    std::string title_, row_prefix_, found_;  // title, prefix and findings of the row that is being measured
    bool is_in_row_ = false;
};

/// Measures a section under one variant. Returns false if the device did not answer at all; other variants need not
/// be tried then, because they would wait in vain, too.
bool ask_variant(const Section& section, const Variant& variant, const MeasurementSettings& settings,
                 FindingMap& findings, const RowHandler& sink) {
    MessageReader reader(section, variant, findings, sink);
    const VariantEnvironment run(variant, settings.environment, settings.shim);
    const auto handle_line = [&](const std::string& text) { reader.handle_line(text); };
    for (;;) {
        const int before = reader.rows;
        const auto begun = Clock::now();
        if (begun >= settings.until) {
            reader.fail(no_time_left);
            return true;
        }
        const ProcessOutcome ended = run_process(worker_words(section, variant, settings, before), run.environment(),
                                                 settings.until, handle_line);
        if (ended.has_succeeded()) {
            if (!run.add_recorded_decisions(reader.prefix, findings))
                reader.fail(ended.errors.find(not_preloaded) == std::string::npos ? nothing_recorded
                                                                                  : last_line(ended.errors));
            return true;
        }
        if (reader.has_no_device) throw NoDeviceError(reader.reason);
        // If this worker began no row, another worker would get no further.
        const bool may_go_on = reader.rows > before;
        // If the worker had less time than one row may take, it ran out of time and did not hang.
        const auto used = Clock::now() - begun;
        if (ended.timed_out && used < std::chrono::seconds(settings.row_seconds)) {
            reader.fail(no_time_left);
            return true;
        }
        const std::string end =
            describe_failure(ended, ended.timed_out ? used : std::chrono::seconds(settings.row_seconds));
        reader.fail(ended.has_hung() || ended.errors.empty() ? end : end + ", " + last_line(ended.errors));
        if (!may_go_on) return !ended.has_hung();
    }
}

/// Measures a section as a worker, and ends the process.
[[noreturn]] void run_as_worker(const std::vector<std::string>& words,
                                const Section& (*section_named)(const std::string&)) {
    Environment options;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) options[words[i]] = words[i + 1];
    int status = 0;
    try {
        const auto number = [&](const char* name) { return std::atoi(options[name].c_str()); };
        Worker worker(parse_sizes(options["--size"]), options["--variant"], number("--first"),
                      static_cast<unsigned>(number("--row-seconds")));
        section_named(options["--worker"]).measure(worker);
    } catch (const NoDeviceError& absent) {
        send_message(line::no_device, {absent.what()});
        status = exit_skipped;
    } catch (const std::exception& error) {
        send_message(line::failed, {error.what()});
        status = 1;
    }
    // _exit runs no destructors. The memory of a faulted context cannot be freed, and a sound context ends with its
    // process.
    std::fflush(nullptr);
    _exit(status);
}

}  // namespace

std::vector<std::string> worker_words(const Section& section, const Variant& variant,
                                      const MeasurementSettings& settings, int first_row) {
    std::string sizes;
    for (const int size : settings.sizes) sizes.append(sizes.empty() ? "" : ",").append(std::to_string(size));
    return {std::filesystem::read_symlink("/proc/self/exe").string(),
            "--worker",
            section.name,
            "--variant",
            variant.name,
            "--first",
            std::to_string(first_row),
            "--row-seconds",
            std::to_string(settings.row_seconds),
            "--size",
            sizes};
}

void measure_section(const Section& section, const MeasurementSettings& settings, FindingMap& findings,
                     const RowHandler& sink) {
    if (section.variants.empty()) static_cast<void>(ask_variant(section, {"", ""}, settings, findings, sink));
    for (const Variant& variant : section.variants) {
        if (variables_mention(variant, "SHIM") && !std::filesystem::exists(settings.shim)) {
            const std::string why = "left out: there is no " + settings.shim;
            findings.add(std::string(variant.name) + "/failure", why);
            sink(variant, "-", why);
        } else if (!ask_variant(section, variant, settings, findings, sink)) {
            return;
        }
    }
}

int run_program(int argc, char** argv, const Section& (*section_named)(const std::string&),
                int (*run)(const std::vector<std::string>&)) {
    const std::vector<std::string> words(argv + (argc > 0), argv + argc);
    const auto fail = [](const std::exception& error, int status) {
        std::fprintf(stderr, "gpu-check: %s\n", error.what());
        return status;
    };
    try {
        if (!words.empty() && words.front() == "--worker") run_as_worker(words, section_named);
        return run(words);
    } catch (const NoDeviceError& absent) {
        return fail(absent, exit_skipped);
    } catch (const std::invalid_argument& error) {
        return fail(error, 2);
    } catch (const std::exception& error) {
        return fail(error, 1);
    }
}

std::vector<int> parse_sizes(const std::string& given) {
    std::vector<int> sizes;
    for (const std::string& word : split(given, ',')) {
        char* end = nullptr;
        const long size = std::strtol(word.c_str(), &end, 10);
        if (end == word.c_str() || *end != '\0' || size < 16 || size > 16384)
            throw std::invalid_argument("--size: found '" + given +
                                        "', expected numbers from 16 to 16384, separated by commas");
        sizes.push_back(static_cast<int>(size));
    }
    if (sizes.empty()) throw std::invalid_argument("--size: found '', expected numbers from 16 to 16384");
    return sizes;
}

}  // namespace gpu
