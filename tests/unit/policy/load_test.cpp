// Tests how environment, user's file and site's file are joined.
#include "policy/load.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "../in_child.hpp"
#include "policy/sha256.hpp"

namespace fp32shim::policy {
namespace {

/// A folder for the files of one test.
class Load : public testing::Test {
  protected:
    void SetUp() override {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        folder_ = std::filesystem::path(testing::TempDir()) / ("fp32shim-load-" + std::string(test->name()));
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }

    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return folder_ / name; }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name), std::ios::binary) << text;
        return path(name);
    }

    /// Writes the site's policy, which load() then finds.
    void site(const std::string& text) const { write("site.toml", "schema = 1\n" + text); }

    /// Writes the user's policy. Returns the variable that names it.
    std::string user(const std::string& text) const {
        return "FP32_MATMUL_POLICY=" + write("user.toml", "schema = 1\n" + text);
    }

    LoadedPolicy load(const std::vector<std::string>& variables, bool elevated = false) const {
        return policy::load_policy(Environment(variables.begin(), variables.end()),
                                   {.site_policy = path("site.toml"), .elevated = elevated, .site_owner = geteuid()});
    }

    Policy load_without_errors(const std::vector<std::string>& variables) const {
        const LoadedPolicy loaded = load(variables);
        for (const auto& error : loaded.errors) ADD_FAILURE() << error.text();
        for (const auto& warning : loaded.warnings) ADD_FAILURE() << warning.text();
        return loaded.policy;
    }

  private:
    std::filesystem::path folder_;
};

// ---- variables --------------------------------------------------------------------------------------------------

TEST_F(Load, ChangesNothingWhereNothingIsSet) {
    const Policy policy = load_without_errors({"PATH=/bin", "HOME=/root", "FP32=1"});
    EXPECT_EQ(policy.default_precision, Precision::native);
    EXPECT_EQ(policy.default_source, Source::native);
    EXPECT_EQ(policy.floor, Floor::none);
    EXPECT_EQ(policy.on_error, OnError::continue_untouched);
    EXPECT_EQ(policy.file, "");
    EXPECT_EQ(policy.sha256, "");
    EXPECT_FALSE(policy.disabled);
}

TEST_F(Load, ReadsEveryVariable) {
    const Policy policy = load_without_errors(
        {"FP32_MATMUL_PRECISION=TF32", "FP32_MATMUL_FLOOR=bf16", "FP32_MATMUL_CPU=emulate",
         "FP32_MATMUL_LOG=/tmp/%h.%p.jsonl", "FP32_MATMUL_LOG_LEVEL=calls", "FP32_MATMUL_WHERE=python, Torch",
         "FP32_MATMUL_AUDIT=0.25, Fingerprint,nonfinite", "FP32_MATMUL_ON_ERROR=highest", "FP32_MATMUL_DISABLE=0"});
    EXPECT_EQ(policy.default_precision, Precision::high);
    EXPECT_EQ(policy.default_source, Source::environment);
    EXPECT_EQ(policy.floor, Floor::bf16);
    EXPECT_EQ(policy.cpu_mode, CpuMode::emulate);
    EXPECT_EQ(policy.log_path, "/tmp/%h.%p.jsonl");
    EXPECT_EQ(policy.log_level, LogLevel::calls);
    EXPECT_EQ(to_string(policy.log_where), "python,torch");
    EXPECT_EQ(policy.audit_sample, 0.25);
    EXPECT_TRUE(policy.audit_fingerprint);
    EXPECT_TRUE(policy.audit_nonfinite);
    EXPECT_EQ(policy.on_error, OnError::highest);
    EXPECT_FALSE(policy.disabled);
}

TEST_F(Load, TakesAnEmptyVariableForUnset) {
    const Policy policy = load_without_errors({"FP32_MATMUL_PRECISION=", "FP32_MATMUL_FLOOR=", "FP32_MATMUL_POLICY=",
                                               "FP32_MATMUL_ON_ERROR=", "FP32_MATMUL_DISABLE=", "FP32_MATMUL_NOPE="});
    EXPECT_EQ(policy.default_source, Source::native);
    EXPECT_EQ(policy.on_error, OnError::continue_untouched);
}

TEST_F(Load, TakesTheFirstOfTwoVariablesOfOneName) {
    const Policy policy = load_without_errors({"FP32_MATMUL_PRECISION=high", "FP32_MATMUL_PRECISION=nonsense"});
    EXPECT_EQ(policy.default_precision, Precision::high);
}

TEST_F(Load, RoundsToTf32AsTheNamedGpuDoesUnlessAPolicySaysHow) {
    EXPECT_EQ(load_without_errors({}).tf32_rounding, Tf32Rounding::away);
    for (const auto& [gpu, rounding] : {std::pair{"h200", Tf32Rounding::even},
                                        {"hopper", Tf32Rounding::even},
                                        {"a2", Tf32Rounding::away},
                                        {"b200", Tf32Rounding::away}})
        EXPECT_EQ(load_without_errors({user(std::string("cpu.accumulation = \"") + gpu + "\"\n")}).tf32_rounding,
                  rounding)
            << gpu;
    site("cpu.tf32_rounding = \"truncate\"\n");
    EXPECT_EQ(load_without_errors({user("cpu.accumulation = \"h200\"\n")}).tf32_rounding, Tf32Rounding::truncate);
}

TEST_F(Load, IsSwitchedOffAsAWhole) {
    site("limits.floor = \"fp32\"\nbroken = 1\n");
    const Policy policy = load_without_errors(
        {"FP32_MATMUL_PRECISION=nonsense", "FP32_MATMUL_POLICY=/nowhere.toml", "FP32_MATMUL_DISABLE=1"});
    EXPECT_TRUE(policy.disabled);
    EXPECT_EQ(policy.floor, Floor::none);
}

TEST_F(Load, ReportsEveryBrokenVariable) {
    const std::pair<std::string, std::string> cases[] = {
        {"PRECISION=hihg",
         "PRECISION: found \"hihg\"; allowed: native, highest, high, medium, auto, ieee, fp32, tf32, bf16; did you "
         "mean "
         "\"high\"?"},
        {"PRECISION=bf16x9",
         "PRECISION: found \"bf16x9\"; allowed: native, highest, high, medium, auto, ieee, fp32, tf32, bf16; bf16x9 "
         "is "
         "for rules only"},
        {"FLOOR=tf23",
         "FLOOR: found \"tf23\"; allowed: none, fp16, bf16, tf32, bf16x9, fp32; did you mean \"tf32\"?"},
        {"CPU=on", "CPU: found \"on\"; allowed: off, emulate, accelerate, reproducible"},
        {"LOG=run.txt", "LOG: found \"run.txt\"; allowed: stderr, NAME.jsonl, NAME.fp32rec"},
        {"WHERE=native:1", "WHERE: found \"native:1\"; allowed: native:2 to native:64, a number of callers"},
        {"WHERE=python,native:65", "WHERE: found \"native:65\"; allowed: native:2 to native:64, a number of callers"},
        {"WHERE=native:8x", "WHERE: found \"native:8x\"; allowed: native:2 to native:64, a number of callers"},
        {"WHERE=python,,nvtx", "WHERE: found \"\"; allowed: none, python, nvtx, itt, torch, native, auto, native:N"},
        {"LOG_LEVEL=all", "LOG_LEVEL: found \"all\"; allowed: summary, calls"},
        {"AUDIT=5%",
         "AUDIT: found \"5%\"; allowed: fingerprint, nonfinite, float64, or a fraction of calls from 0 to 1 (0.001); "
         "separate "
         "several with commas"},
        {"ON_ERROR=stop", "ON_ERROR: found \"stop\"; allowed: continue, highest, abort"},
        {"DISABLE=yes", "DISABLE: found \"yes\"; allowed: 0, 1"},
    };
    for (const auto& [variable, message] : cases) {
        const LoadedPolicy loaded = load({"FP32_MATMUL_" + variable});
        ASSERT_EQ(loaded.errors.size(), 1u) << variable;
        EXPECT_EQ(loaded.errors[0].text(), "FP32_MATMUL_" + message);
        EXPECT_TRUE(loaded.warnings.empty());
        EXPECT_FALSE(loaded.policy.disabled);
    }
}

TEST_F(Load, AppliesTheOtherVariablesWhereOneIsBroken) {
    const LoadedPolicy loaded =
        load({"FP32_MATMUL_PRECISION=nonsense", "FP32_MATMUL_FLOOR=tf32", "FP32_MATMUL_CPU=on",
              "FP32_MATMUL_LOG=stderr", user("default = \"medium\"\n")});
    EXPECT_EQ(loaded.errors.size(), 2u);
    EXPECT_EQ(loaded.policy.floor, Floor::tf32);
    EXPECT_EQ(loaded.policy.log_path, "stderr");
    EXPECT_EQ(loaded.policy.default_precision, Precision::medium);
    EXPECT_EQ(loaded.policy.cpu_mode, CpuMode::off);
}

TEST_F(Load, WarnsAboutUnknownVariables) {
    const LoadedPolicy loaded = load({"FP32_MATMUL_PRECISON=high", "FP32_MATMUL_ALLOW_TF32=1", "FP32_MATMUL_=1"});
    EXPECT_TRUE(loaded.errors.empty());
    ASSERT_EQ(loaded.warnings.size(), 3u);
    EXPECT_EQ(loaded.warnings[0].text(),
              "FP32_MATMUL_PRECISON: unknown variable, ignored; did you mean FP32_MATMUL_PRECISION?");
    EXPECT_EQ(
        loaded.warnings[1].text(),
        "FP32_MATMUL_ALLOW_TF32: unknown variable, ignored; known variables: FP32_MATMUL_ followed by "
        "PRECISION, FLOOR, POLICY, "
        "CPU, THREADS, STOCHASTIC_SEED, LOG, LOG_LEVEL, WHERE, ONEDNN, KERNELS, VECTORS, GPU_TIMES, AUDIT, ON_ERROR, "
        "INSTRUCTIONS, DISABLE");
    EXPECT_EQ(loaded.policy.default_precision, Precision::native);
}

TEST_F(Load, ReadsNothingAndComplainsOfNothingInElevatedProcesses) {
    site("name = \"site\"\ntypo = 1\n");
    const LoadedPolicy loaded = load({"FP32_MATMUL_PRECISION=high", "FP32_MATMUL_FLOOR=nonsense",
                                      "FP32_MATMUL_NOPE=1", "FP32_MATMUL_DISABLE=1", user("default = \"medium\"\n")},
                                     true);
    EXPECT_TRUE(loaded.errors.empty());
    EXPECT_TRUE(loaded.warnings.empty());
    EXPECT_EQ(loaded.policy.name, "");
    EXPECT_EQ(loaded.policy.default_precision, Precision::native);
    EXPECT_EQ(loaded.policy.on_error, OnError::continue_untouched);
    EXPECT_FALSE(loaded.policy.disabled);
}

// ---- on_error ---------------------------------------------------------------------------------------------------

TEST_F(Load, AbortsOnErrorsWhereAFloorIsSet) {
    EXPECT_EQ(load({"FP32_MATMUL_FLOOR=fp32"}).policy.on_error, OnError::abort);
    EXPECT_EQ(load({user("limits.floor = \"tf32\"\n")}).policy.on_error, OnError::abort);
    site("limits.floor = \"fp16\"\n");
    EXPECT_EQ(load({}).policy.on_error, OnError::abort);
}

TEST_F(Load, ContinuesOnErrorsWhereNoFloorIsSet) {
    EXPECT_EQ(load({"FP32_MATMUL_FLOOR=none"}).policy.on_error, OnError::continue_untouched);
    EXPECT_EQ(load({"FP32_MATMUL_PRECISION=nonsense"}).policy.on_error, OnError::continue_untouched);
}

TEST_F(Load, LetsTheEnvironmentSayWhatErrorsDo) {
    EXPECT_EQ(load({"FP32_MATMUL_FLOOR=fp32", "FP32_MATMUL_ON_ERROR=continue"}).policy.on_error,
              OnError::continue_untouched);
    EXPECT_EQ(load({"FP32_MATMUL_ON_ERROR=abort"}).policy.on_error, OnError::abort);
}

TEST_F(Load, FallsBackWhereOnErrorItselfIsBroken) {
    EXPECT_EQ(load({"FP32_MATMUL_ON_ERROR=stop"}).policy.on_error, OnError::continue_untouched);
    EXPECT_EQ(load({"FP32_MATMUL_ON_ERROR=stop", "FP32_MATMUL_FLOOR=fp32"}).policy.on_error, OnError::abort);
}

TEST_F(Load, CountsABrokenFloorAsOneThatWasWanted) {
    const LoadedPolicy loaded = load({"FP32_MATMUL_FLOOR=fp23"});
    EXPECT_EQ(loaded.policy.floor, Floor::none);
    EXPECT_EQ(loaded.policy.on_error, OnError::abort);
}

// ---- files ------------------------------------------------------------------------------------------------------

TEST_F(Load, LetsTheEnvironmentWinOverFilesButNotOverRules) {
    const Policy policy = load_without_errors(
        {user("default = \"medium\"\ncpu.mode = \"emulate\"\naudit.sample = 0.5\n"
              "log = { path = \"stderr\", level = \"summary\" }\n[[rule]]\nprecision = \"highest\"\n"),
         "FP32_MATMUL_PRECISION=high", "FP32_MATMUL_CPU=off", "FP32_MATMUL_LOG=a.jsonl",
         "FP32_MATMUL_LOG_LEVEL=calls", "FP32_MATMUL_AUDIT=0"});
    EXPECT_EQ(policy.default_precision, Precision::high);
    EXPECT_EQ(policy.default_source, Source::environment);
    EXPECT_EQ(policy.cpu_mode, CpuMode::off);
    EXPECT_EQ(policy.log_path, "a.jsonl");
    EXPECT_EQ(policy.log_level, LogLevel::calls);
    EXPECT_EQ(policy.audit_sample, 0);
    EXPECT_EQ(policy.rules.size(), 1u);
}

TEST_F(Load, JoinsTheUsersPolicyWithTheSites) {
    site(
        "name = \"site\"\nrevision = \"7\"\ndefault = \"medium\"\ncpu.mode = \"emulate\"\n"
        "[[rule]]\nname = \"s\"\nprecision = \"highest\"\nwhen = { m = 1 }\n");
    const Policy policy =
        load_without_errors({user("name = \"mine\"\ndefault = \"high\"\n"
                                  "[[rule]]\nname = \"u\"\nprecision = \"native\"\n")});
    EXPECT_EQ(policy.name, "mine");
    EXPECT_EQ(policy.revision, "");
    EXPECT_EQ(policy.file, path("user.toml"));
    EXPECT_EQ(policy.default_precision, Precision::high);
    EXPECT_EQ(policy.default_source, Source::file);
    EXPECT_EQ(policy.cpu_mode, CpuMode::emulate);
    ASSERT_EQ(policy.rules.size(), 2u);
    EXPECT_EQ(policy.rules[0].name, "u");
    EXPECT_EQ(policy.rules[0].file, path("user.toml"));
    EXPECT_EQ(policy.rules[1].name, "s");
    EXPECT_EQ(policy.rules[1].file, path("site.toml"));
}

TEST_F(Load, UsesTheSitesPolicyWhereTheUserHasNone) {
    site("name = \"site\"\nrevision = \"7\"\ndefault = \"medium\"\n");
    const Policy policy = load_without_errors({});
    EXPECT_EQ(policy.name, "site");
    EXPECT_EQ(policy.revision, "7");
    EXPECT_EQ(policy.file, path("site.toml"));
    EXPECT_EQ(policy.sha256, sha256("schema = 1\nname = \"site\"\nrevision = \"7\"\ndefault = \"medium\"\n"));
    EXPECT_EQ(policy.default_precision, Precision::medium);
    EXPECT_EQ(policy.default_source, Source::file);
}

TEST_F(Load, DoesNotReadTheSitesPolicyTwice) {
    site("[[rule]]\nprecision = \"high\"\n");
    EXPECT_EQ(load_without_errors({"FP32_MATMUL_POLICY=" + path("site.toml")}).rules.size(), 1u);
}

TEST_F(Load, HoldsTheStrictestOfAllFloors) {
    const char* floors[] = {"none", "tf32", "fp32"};
    for (const std::string of_site : floors) {
        for (const std::string of_user : floors) {
            for (const std::string of_environment : floors) {
                site("limits.floor = \"" + of_site + "\"\n");
                const Policy policy = load_without_errors(
                    {user("limits.floor = \"" + of_user + "\"\n"), "FP32_MATMUL_FLOOR=" + of_environment});
                EXPECT_EQ(policy.floor,
                          std::max({*parse_floor(of_site), *parse_floor(of_user), *parse_floor(of_environment)}));
            }
        }
    }
}

TEST_F(Load, DoesNotLetAUserLoosenTheSitesLimitsByBf16x9) {
    const std::string yes = "limits.allow_bf16x9 = true\n";
    const std::string no = "limits.allow_bf16x9 = false\n";
    const std::tuple<std::string, std::string, bool> cases[] = {
        {"", "", false},
        {"", yes, true},
        {yes, "", true},
        {yes, no, false},
        {no, yes, false},
        {"limits.floor = \"fp32\"\n", yes, false},
        {"limits.floor = \"bf16x9\"\n", yes, false},
        {"limits.floor = \"tf32\"\n", yes, true},
        {"limits = { floor = \"fp32\", allow_bf16x9 = true }\n", "", true},
    };
    for (const auto& [of_site, of_user, allowed] : cases) {
        site(of_site);
        EXPECT_EQ(load_without_errors({user(of_user)}).allow_bf16x9, allowed) << of_site << of_user;
    }
}

TEST_F(Load, AppliesNothingOfABrokenUsersFile) {
    site("name = \"site\"\nlimits.floor = \"tf32\"\n");
    const LoadedPolicy loaded =
        load({user("name = \"mine\"\ndefault = \"high\"\nlimits.floor = \"fp32\"\ntypo = 1\n"),
              "FP32_MATMUL_CPU=emulate"});
    ASSERT_EQ(loaded.errors.size(), 1u);
    EXPECT_TRUE(loaded.errors[0].where == path("user.toml") + ":5:1") << loaded.errors[0].text();
    EXPECT_EQ(loaded.policy.name, "site");
    EXPECT_EQ(loaded.policy.default_precision, Precision::native);
    EXPECT_EQ(loaded.policy.floor, Floor::tf32);
    EXPECT_EQ(loaded.policy.cpu_mode, CpuMode::emulate);
}

TEST_F(Load, KeepsTheEnvironmentsFloorWhereEveryFileIsBroken) {
    site("typo = 1\n");
    const LoadedPolicy loaded = load({user("typo = 2\n"), "FP32_MATMUL_FLOOR=fp32"});
    EXPECT_EQ(loaded.errors.size(), 2u);
    EXPECT_EQ(loaded.policy.floor, Floor::fp32);
    EXPECT_EQ(loaded.policy.on_error, OnError::abort);
}

TEST_F(Load, ReportsAUsersPolicyThatIsNotThere) {
    const LoadedPolicy loaded = load({"FP32_MATMUL_POLICY=" + path("absent.toml")});
    ASSERT_EQ(loaded.errors.size(), 1u);
    EXPECT_EQ(loaded.errors[0].text(), path("absent.toml") + ": cannot be read: No such file or directory");
}

TEST_F(Load, NeedsNoSitePolicy) {
    EXPECT_TRUE(policy::load_policy({}, {.site_policy = path("absent.toml")}).errors.empty());
    EXPECT_TRUE(policy::load_policy({}, {.site_policy = path("absent/absent.toml")}).errors.empty());
    EXPECT_TRUE(policy::load_policy({}, {.site_policy = ""}).errors.empty());
}

TEST(ReadPolicyFile, RefusesWhatIsNotARegularFile) {
    for (const std::string& path : {testing::TempDir(), std::string("/dev/null")}) {
        const LoadedPolicy loaded = read_policy_file(path);
        ASSERT_EQ(loaded.errors.size(), 1u);
        EXPECT_EQ(loaded.errors[0].text(), path + ": is not a regular file");
    }
}

TEST(ReadPolicyFile, RefusesWhatTheKernelMakesUp) {
    for (const std::string& path : {std::string("/proc/self/environ"), std::string("/proc/kmsg")}) {
        if (access(path.c_str(), F_OK) != 0) continue;
        const LoadedPolicy loaded = read_policy_file(path);
        ASSERT_EQ(loaded.errors.size(), 1u);
        EXPECT_EQ(loaded.errors[0].text(), path + ": is a kernel file, not a file on a disk");
        EXPECT_FALSE(loaded.is_readable);
    }
}

TEST_F(Load, OpensNoPipe) {
    ASSERT_EQ(mkfifo(path("pipe.toml").c_str(), 0600), 0);
    const LoadedPolicy loaded = load({"FP32_MATMUL_POLICY=" + path("pipe.toml")});
    ASSERT_EQ(loaded.errors.size(), 1u);
    EXPECT_EQ(loaded.errors[0].text(), path("pipe.toml") + ": is not a regular file");
}

TEST_F(Load, ReadsASitesPolicyOfItsOwnerOnly) {
    site("name = \"site\"\n");
    EXPECT_EQ(load({}).policy.name, "site");
    const LoadedPolicy loaded =
        policy::load_policy({}, {.site_policy = path("site.toml"), .site_owner = geteuid() + 1});
    ASSERT_EQ(loaded.errors.size(), 1u);
    EXPECT_EQ(loaded.errors[0].where, path("site.toml"));
    EXPECT_EQ(loaded.errors[0].message.find("belongs to user " + std::to_string(geteuid()) + "; allowed: "), 0u)
        << loaded.errors[0].message;
    EXPECT_EQ(loaded.policy.name, "");
}

TEST_F(Load, RefusesASitesPolicyThatOthersMayWrite) {
    site("name = \"site\"\n");
    for (const mode_t mode : {0664, 0646, 0666, 0777}) {
        ASSERT_EQ(chmod(path("site.toml").c_str(), mode), 0);
        const LoadedPolicy loaded = load({});
        ASSERT_EQ(loaded.errors.size(), 1u) << mode;
        EXPECT_NE(loaded.errors[0].message.find("is writable by its group or by others"), std::string::npos);
        EXPECT_EQ(loaded.policy.name, "");
    }
    ASSERT_EQ(chmod(path("site.toml").c_str(), 0644), 0);
    EXPECT_EQ(load({}).policy.name, "site");
}

TEST_F(Load, LetsAUsersPolicyBelongToAnybody) {
    const std::string variable = user("name = \"user\"\n");
    ASSERT_EQ(chmod(path("user.toml").c_str(), 0666), 0);
    EXPECT_EQ(load_without_errors({variable}).name, "user");
}

/// In a sandbox that does not map root, root's files appear as those of user 65534, who is nobody there.
TEST_F(Load, ReadsASitesPolicyWhereRootHasNoNumber) {
    site("name = \"site\"\n");
    ASSERT_EQ(chmod(path("site.toml").c_str(), 0644), 0);
    const int status = test::in_child([&] {
        if (unshare(CLONE_NEWUSER) != 0) return 77;
        const LoadedPolicy loaded = policy::load_policy({}, {.site_policy = path("site.toml")});
        return loaded.errors.empty() && loaded.policy.name == "site" ? 0 : 1;
    });
    if (status == 77) GTEST_SKIP() << "no user namespaces here";
    EXPECT_EQ(status, 0);
}

TEST_F(Load, RefusesFilesOfMoreThanOneMebibyte) {
    const std::string large = write("large.toml", "schema = 1\n" + std::string(2 << 20, '#'));
    const LoadedPolicy loaded = read_policy_file(large);
    ASSERT_EQ(loaded.errors.size(), 1u);
    EXPECT_EQ(loaded.errors[0].text(), large + ":1:1: found more than 1 MiB; a policy may not be larger");
}

}  // namespace
}  // namespace fp32shim::policy
