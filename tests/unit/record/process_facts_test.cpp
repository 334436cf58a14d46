// Tests facts about the process, and the names of files: record/process_facts.hpp and record/log_path.hpp.
#include "record/process_facts.hpp"

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "record/log_path.hpp"
#include "record/pinned_variables.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::record {
namespace {

using Environment = std::vector<std::string_view>;

ProcessFacts example() {
    ProcessFacts facts;
    facts.pid = 4711;
    facts.host = "node17";
    facts.job_id = "99.head";
    facts.rank = 3;
    facts.start_ns = 1'795'250'520'123'456'789;
    return facts;
}

std::string expand(std::string_view name, const ProcessFacts& facts = example()) {
    std::array<char, path_capacity> buffer;
    const ExpandedPath expanded = expand_path(name, facts, buffer);
    EXPECT_EQ(expanded.problem, PathProblem::none);
    EXPECT_EQ(*expanded.path.end(), '\0');
    return std::string(expanded.path);
}

TEST(Facts, AreThoseOfThisProcess) {
    errno = 77;
    const ProcessFacts facts = gather_process_facts({});
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(facts.pid, getpid());
    char host[256] = {};
    ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
    EXPECT_EQ(facts.host, host);
    EXPECT_TRUE(facts.executable.starts_with('/'));
    EXPECT_EQ(system::base_name(facts.executable), "record_tests");
    EXPECT_NE(facts.command.find("record_tests"), std::string::npos);
    EXPECT_EQ(facts.command.find('\0'), std::string::npos);
    EXPECT_GT(facts.start_ns, 1'700'000'000'000'000'000);
    EXPECT_EQ(facts.rank, -1);
    EXPECT_EQ(facts.job_id, "");
}

TEST(Facts, TakeJobAndRankFromTheFirstVariableThatHasOne) {
    const Environment slurm = {"JOB_ID=1",   "PBS_JOBID=2.head",       "SLURM_JOB_ID=3", "RANK=7",
                               "PMI_RANK=6", "OMPI_COMM_WORLD_RANK=5", "SLURM_PROCID=4"};
    const ProcessFacts facts = gather_process_facts(slurm);
    EXPECT_EQ(facts.job_id, "3");
    EXPECT_EQ(facts.job_id_from, "SLURM_JOB_ID");
    EXPECT_EQ(facts.rank, 5);
    EXPECT_EQ(facts.rank_from, "OMPI_COMM_WORLD_RANK");

    const Environment pbs = {"SLURM_JOB_ID=", "PBS_JOBID=2.head", "RANK=7", "SLURM_PROCID=", "PMIX_RANK=x"};
    const ProcessFacts other = gather_process_facts(pbs);
    EXPECT_EQ(other.job_id, "2.head");
    EXPECT_EQ(other.job_id_from, "PBS_JOBID");
    EXPECT_EQ(other.rank, 7);
    EXPECT_EQ(other.rank_from, "RANK");
}

TEST(Facts, TakeTheRankOfTheInnermostLauncher) {
    // A batch script of Slurm passes SLURM_PROCID=0 to everything that it starts.
    EXPECT_EQ(gather_process_facts(Environment{"SLURM_PROCID=0", "PMIX_RANK=3"}).rank, 3);
    EXPECT_EQ(gather_process_facts(Environment{"SLURM_PROCID=0", "PMI_RANK=3"}).rank, 3);
    EXPECT_EQ(gather_process_facts(Environment{"SLURM_PROCID=1", "RANK=11", "TORCHELASTIC_RUN_ID=x"}).rank, 11);
    // RANK alone may have any meaning.
    EXPECT_EQ(gather_process_facts(Environment{"SLURM_PROCID=1", "RANK=11"}).rank, 1);
    EXPECT_EQ(gather_process_facts(Environment{"SLURM_PROCID=1", "RANK=11", "TORCHELASTIC_RUN_ID="}).rank, 1);
}

TEST(Facts, IgnoreRanksThatAreNoNumbersAndNamesThatOnlyBeginAlike) {
    const Environment odd = {"RANK=-1", "RANKS=3", "PMI_RANK=3x", "PMIX_RANK=99999999999", "JOB_ID_X=1"};
    const ProcessFacts facts = gather_process_facts(odd);
    EXPECT_EQ(facts.rank, -1);
    EXPECT_EQ(facts.rank_from, "");
    EXPECT_EQ(facts.job_id, "");
}

TEST(Facts, KnowWhichVariablesPinOtherLibraries) {
    EXPECT_EQ(gather_process_facts({}).pins, pins_known);
    const Environment environment{"NVIDIA_TF32_OVERRIDE=0", "CUBLAS_EMULATE_SINGLE_PRECISION=1",
                                  "ONEDNN_DEFAULT_FPMATH_MODE=STRICT"};
    const ProcessFacts facts = gather_process_facts(environment);
    EXPECT_EQ(facts.pins, pins_known | pin_onednn | pin_nvidia);
    EXPECT_EQ(pinned_entries(facts.pins),
              (std::vector<std::string_view>{"ONEDNN_DEFAULT_FPMATH_MODE=STRICT", "NVIDIA_TF32_OVERRIDE=0"}));
    // If a name occurs twice, the first entry counts, as for getenv().
    const Environment twice{"NVIDIA_TF32_OVERRIDE=1", "NVIDIA_TF32_OVERRIDE=0"};
    EXPECT_EQ(gather_process_facts(twice).pins, pins_known);
}

TEST(LogPath, ReplacesEveryPlaceholder) {
    EXPECT_EQ(expand("/var/log/%h.%p.r%r.j%j.%t.%%.jsonl"),
              "/var/log/node17.4711.r3.j99.head.20261121T084200Z.%.jsonl");
    EXPECT_EQ(expand("plain.jsonl"), "plain.jsonl");
    EXPECT_EQ(expand("%%p"), "%p");
}

TEST(LogPath, WritesNoneForWhatIsUnknown) {
    ProcessFacts facts = example();
    facts.host.clear();
    facts.job_id.clear();
    facts.rank = -1;
    EXPECT_EQ(expand("%h-%j-%r", facts), "none-none-none");
}

TEST(LogPath, KeepsValuesFromOutsideInTheirFolder) {
    ProcessFacts facts = example();
    facts.job_id = "../../etc/x y\n";
    EXPECT_EQ(expand("/logs/%j/a", facts), "/logs/_._.._etc_x_y_/a");
    facts.job_id = "..";
    EXPECT_EQ(expand("/logs/%j/a", facts), "/logs/_./a");
}

TEST(LogPath, NamesTheUnknownPlaceholder) {
    std::array<char, 100> buffer;
    const ExpandedPath unknown = expand_path("a%xb", example(), buffer);
    EXPECT_EQ(unknown.problem, PathProblem::unknown_placeholder);
    EXPECT_EQ(unknown.placeholder, 'x');
    EXPECT_EQ(unknown.path, "");
    const ExpandedPath lone = expand_path("a%", example(), buffer);
    EXPECT_EQ(lone.problem, PathProblem::unknown_placeholder);
    EXPECT_EQ(lone.placeholder, '\0');
}

TEST(LogPath, SaysWhenItIsTooLong) {
    std::array<char, 6> buffer;
    EXPECT_EQ(expand_path("12345", example(), buffer).problem, PathProblem::none);
    EXPECT_EQ(expand_path("123456", example(), buffer).problem, PathProblem::too_long);
}

TEST(LogPath, KnowsWhichPlaceholdersItHas) {
    EXPECT_TRUE(has_placeholder("a.%p", 'p'));
    EXPECT_TRUE(has_placeholder("%%%p", 'p'));
    EXPECT_FALSE(has_placeholder("%%p", 'p'));
    EXPECT_FALSE(has_placeholder("p%", 'p'));
}

}  // namespace
}  // namespace fp32shim::record
