#include "cli/command_line/commands.hpp"

#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

constexpr Command table[] = {
    {.name = "run",
     .summary = "Run a program, and print at the end what its products ran at",
     .examples =
         R"(  fp32shim run -- python3 model.py                       what does it multiply?
  fp32shim run --precision high -- ./prog                TF32, on newer GPUs
  fp32shim run --precision high --cpu emulate -- ./prog  what would TF32 do?
  fp32shim run --pin -- ./prog                           nothing below float32
  fp32shim run --log calls.%p.fp32rec --level calls -- ./prog
                                                         record every call)",
     .define = define_run,
     .takes_program = true,
     .usage_failure = exit_code::own_failure},
    {.name = "doctor",
     .summary = "Show what fp32shim can and cannot observe here",
     .examples =
         R"(  fp32shim doctor                               processor, GPUs, BLAS, settings
  fp32shim doctor -- python3 -c 'import torch'  what can be seen of it)",
     .define = define_doctor,
     .takes_program = true},
    {.name = "explain",
     .summary = "Explain how the settings treat a call",
     .examples = R"(  fp32shim explain --policy policy.toml --function sgemm_ --m 64 --n 64 --k 64
  fp32shim explain --function cublasSgemm_v2 --compute-capability 9.0)",
     .define = define_explain},
    {.name = "verify",
     .summary = "Decide whether recordings show that nothing ran below a format",
     .examples =
         R"(  fp32shim verify --at-least fp32              0 shown; 1 violated; 3 unknown
  fp32shim verify --at-least tf32 recordings/  every recording in a folder
  fp32shim verify --at-least fp32 --assume-unused oneDNN run.fp32rec)",
     .define = define_verify},
    {.name = "suggest",
     .summary = "Name the commands that find products for a lower precision",
     .examples = R"(  fp32shim suggest
  fp32shim suggest run.fp32rec  its audits decide what is tried first)",
     .define = define_suggest},
    {.name = "bisect",
     .summary = "Find products to keep exact, by running a program",
     .examples =
         R"(  fp32shim bisect --cpu emulate -- ./test.sh      its exit status 0: acceptable
  fp32shim bisect --precision medium --repeat 20 --jobs 4 -- python3 test.py
  fp32shim bisect --compare out.npy --rtol 1e-3 -- python3 model.py
  fp32shim bisect --runner 'srun -n1' --max-runs 40 -- ./solver)",
     .define = define_bisect,
     .takes_program = true},
    {.name = "sensitivity",
     .summary = "Measure which lines of a program tolerate a lower precision",
     .examples =
         R"(  fp32shim sensitivity --cpu emulate -- python3 solve.py      compares the numbers that it prints
  fp32shim sensitivity --compare out.npy --tolerance 1e-3 -- python3 model.py
  fp32shim sensitivity --precision tf32 --precision bf16 --by scope -- python3 train.py)",
     .define = define_sensitivity,
     .takes_program = true},
    {.name = "diff",
     .summary = "Compare two runs: results, precisions, times and calls",
     .examples =
         R"(  fp32shim run --audit fingerprint -- ./prog
  fp32shim run --audit fingerprint --reproducible -- ./prog
  fp32shim diff                        0: all results are the same; 1: not
  fp32shim diff --by scope before/ after/   calls, times and precisions only
  fp32shim diff --bound 1e-5 --format html -o diff.html a.fp32rec b.fp32rec
  fp32shim diff --by row a.fp32rec b.fp32rec   same rows in other batches?)",
     .define = define_diff},
    {.name = "check",
     .summary = "Report all errors in policy files",
     .examples = R"(  fp32shim check policy.toml  0: valid; 1: errors; 2: cannot be read
  fp32shim check --format json config/*.toml)",
     .define = define_check},
    {.name = "report",
     .summary = "Summarise recordings: totals, formats, call sites",
     .examples = R"(  fp32shim report                                the last run of this folder
  fp32shim report --format html -o report/report.html run.fp32rec
  fp32shim report recordings/ 'other/*.fp32rec'  many processes and hosts
  fp32shim report --by function,size-class run.fp32rec  where sizes are many
  fp32shim report --format json run.fp32rec | jq .totals.calls
  fp32shim report --format benchdnn -o shapes.txt run.fp32rec
  fp32shim report --caller 'libtorch_*' --max-dim '>=4096' --top 0 run.fp32rec)",
     .define = define_report},
    {.name = "log",
     .summary = "Write the calls of recordings one by one",
     .examples = R"(  fp32shim log                                          every call, or decision
  fp32shim log --follow run.fp32rec                     as a process runs
  fp32shim log --format chrome run.fp32rec >trace.json  opens in Perfetto
  fp32shim log --format jsonl --dtype complex64 run.fp32rec)",
     .define = define_log},
    {.name = "top",
     .summary = "Watch the processes that are recording",
     .examples = R"(  fp32shim top
  fp32shim top 4711                         where the time of one process goes
  fp32shim top --interval 0.5 --sort calls)",
     .define = define_top},
    {.name = "ps",
     .summary = "List the processes that are recording",
     .examples = R"(  fp32shim ps
  fp32shim ps --format json)",
     .define = define_ps},
    {.name = "set",
     .summary = "Change the precision of running processes from their next product",
     .examples = R"(  fp32shim set 4711 highest
  fp32shim set 4711 4712 high
  fp32shim set --all default  undo: as environments and policies say)",
     .define = define_set},
    {.name = "reload",
     .summary = "Make running processes read their policies again",
     .examples = R"(  fp32shim reload 4711
  fp32shim reload --all)",
     .define = define_reload},
    {.name = "kernel",
     .summary = "Add a kernel to Jupyter that runs under fp32shim",
     .examples = R"(  fp32shim kernel install                 for the Python beside this command
  fp32shim kernel install --user --python .venv/bin/python3)",
     .define = define_kernel},
    {.name = "gpu-check",
     .summary = "Show on this GPU that TF32, pins and floors work",
     .examples = R"(  fp32shim gpu-check               0: all holds; 1: not; 77: there is no GPU
  fp32shim gpu-check --seconds 30 --python .venv/bin/python -o report.json)",
     .define = define_gpu_check},
    {.name = "completion",
     .summary = "Write a completion file for a shell",
     .examples = R"(  source <(fp32shim completion bash)
  fp32shim completion zsh >"${fpath[1]}/_fp32shim"
  fp32shim completion fish >~/.config/fish/completions/fp32shim.fish)",
     .define = define_completion},
};

}  // namespace

std::span<const Command> commands() { return table; }

int usage_error(std::string_view command, std::string_view problem) {
    say(command, problem);
    return exit_code::usage;
}

}  // namespace fp32shim::cli
