// fp32shim suggest: prints the commands that find out which matrix products may run at a lower precision.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/shell_words.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/recordings.hpp"

namespace fp32shim::cli {

Action define_suggest(CLI::App& app) {
    auto recordings = std::make_shared<std::vector<std::string>>();
    app.add_option("RECORDING", *recordings, "Recordings whose audits are to decide what is tried first")
        ->type_name("FILE");
    return [recordings] {
        if (!recordings->empty() && print_errors_or_notes("suggest", find_recordings(*recordings)))
            return exit_code::usage;
        std::string audits;
        for (const std::string& path : *recordings) audits += " --audits " + quote_shell_path(path);
        print(wrapped(fmt::format(
            "Which products must stay exact for a test to pass:\n  fp32shim bisect{0} -- TEST\n"
            "How far the output moves when single places run at a lower precision:\n"
            "  fp32shim sensitivity{0} -- PROGRAM\n"
            "Audits judge products, not what the program makes of them, so no policy follows from them alone. "
            "fp32shim report lists their errors.\n",
            audits)));
        return exit_code::ok;
    };
}

}  // namespace fp32shim::cli
