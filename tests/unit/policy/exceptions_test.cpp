// Tests whom exceptions to a floor are for ([[limits.except]]). tests/deploy/test_exceptions.py has other users.
#include "policy/exceptions.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "../in_child.hpp"

namespace fp32shim::policy {
namespace {

struct Site : testing::Test {
    Site() : folder(std::filesystem::path(testing::TempDir()) / ("fp32shim-except-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(folder);
    }
    ~Site() override { std::filesystem::remove_all(folder); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(folder / name) << text;
        return folder / name;
    }
    LoadedPolicy load(const std::string& limits, const JobIdentity& process, Environment environment = {}) const {
        return policy::load_policy(environment, {.site_policy = write("site.toml", "schema = 1\n[limits]\n" + limits),
                                                 .site_owner = geteuid(),
                                                 .process = &process});
    }
    std::filesystem::path folder;
};

const JobIdentity alice{
    .user = 1017, .groups = {100, 4242}, .command = "python3 train.py --fast", .job = "4711", .account = "vision"};

JobIdentity user_in(std::uint32_t user, std::vector<std::uint32_t> groups = {}) {
    JobIdentity process;
    process.user = user;
    process.groups = std::move(groups);
    return process;
}

TEST_F(Site, ExceptsThoseForWhomAllConditionsHold) {
    const struct {
        std::string conditions;
        bool holds;
    } cases[] = {{"user = 1017", true},
                 {"user = \"1017\"", true},
                 {"user = \"root\"", false},
                 {"user = [\"root\", \"daemon\", 1017]", true},
                 {"user = 101", false},
                 {"group = 4242", true},
                 {"group = [1, 100]", true},
                 {"group = \"root\"", false},
                 {"group = 1017", false},
                 {"command = \"*train.py*\"", true},
                 {"command = \"train.py\"", false},
                 {"job = \"4711\"", true},
                 {"job = 4711", true},
                 {"job = [\"1\", 4711]", true},
                 {"job = \"471\"", false},
                 {"job = \"47*\"", false},
                 {"account = \"vision\"", true},
                 {"account = [\"other\", \"vision\"]", true},
                 {"account = \"vis\"", false},
                 {"user = 1017\ngroup = 100\ncommand = \"*\"\njob = 4711\naccount = \"vision\"", true},
                 {"user = 1017\ngroup = 5", false},
                 {"user = 5\ngroup = 100", false},
                 {"job = 4711\naccount = \"other\"", false}};
    for (const auto& c : cases) {
        const LoadedPolicy loaded = load(
            "floor = \"fp32\"\n[[limits.except]]\nname = \"x\"\nfloor = \"tf32\"\n" + c.conditions + "\n", alice);
        EXPECT_TRUE(loaded.errors.empty() && loaded.warnings.empty()) << c.conditions;
        EXPECT_EQ(loaded.policy.floor, c.holds ? Floor::tf32 : Floor::fp32) << c.conditions;
        EXPECT_EQ(loaded.policy.floor_exception, c.holds ? "x" : "") << c.conditions;
        ASSERT_EQ(loaded.policy.exceptions.size(), 1u);
        EXPECT_EQ(loaded.policy.exceptions[0].holds, c.holds) << c.conditions;
        EXPECT_EQ(loaded.policy.exceptions[0].file_floor, Floor::fp32);
    }
}

TEST_F(Site, TakesTheFirstExceptionThatHoldsAndNoneByDefault) {
    const std::string two =
        "floor = \"fp32\"\n[[limits.except]]\nuser = 1017\nfloor = \"bf16x9\"\n[[limits.except]]\ngroup = 100\n";
    EXPECT_EQ(load(two, alice).policy.floor, Floor::bf16x9);
    EXPECT_EQ(load(two, alice).policy.floor_exception, "exception 1");
    EXPECT_EQ(load(two, user_in(5, {100})).policy.floor, Floor::none);
    EXPECT_EQ(load(two, user_in(5, {100})).policy.floor_exception, "exception 2");
    EXPECT_EQ(load(two, user_in(5)).policy.floor, Floor::fp32);
}

TEST_F(Site, NeverRaisesAFloorByAnException) {
    EXPECT_EQ(load("floor = \"tf32\"\n[[limits.except]]\nuser = 1017\nfloor = \"fp32\"\n", alice).policy.floor,
              Floor::tf32);
}

TEST_F(Site, CombinesWhatIsLeftWithOtherFloors) {
    const std::string site = "floor = \"fp32\"\n[[limits.except]]\nuser = 1017\nfloor = \"bf16\"\n";
    const auto file = [&](const std::string& limits) {
        return "FP32_MATMUL_POLICY=" + write("user.toml", "schema = 1\n[limits]\n" + limits);
    };
    EXPECT_EQ(load(site, alice, {"FP32_MATMUL_FLOOR=tf32"}).policy.floor, Floor::tf32);
    const std::string strict = file("floor = \"tf32\"\n");
    EXPECT_EQ(load(site, alice, {strict}).policy.floor, Floor::tf32);
    // An exception in a user's own file replaces the floor of that file only.
    const std::string own = file("floor = \"tf32\"\n[[limits.except]]\nname = \"own\"\nuser = 1017\n");
    EXPECT_EQ(load(site, alice, {own}).policy.floor, Floor::bf16);
    EXPECT_EQ(load(site, alice, {own}).policy.floor_exception, "exception 1, own");
    EXPECT_EQ(load("floor = \"fp32\"\n", alice, {own}).policy.floor, Floor::fp32);
}

TEST_F(Site, AllowsBf16x9ToSomeOnly) {
    const std::string text =
        "floor = \"fp32\"\n[[limits.except]]\nuser = 1017\nfloor = \"fp32\"\nallow_bf16x9 = true\n";
    EXPECT_TRUE(load(text, alice).policy.allow_bf16x9);
    EXPECT_FALSE(load(text, user_in(5)).policy.allow_bf16x9);
}

TEST_F(Site, WarnsOnceOfANameWithoutANumberAndKeepsTheFloor) {
    const LoadedPolicy loaded =
        load("floor = \"fp32\"\n[[limits.except]]\nname = \"x\"\ngroup = [\"no-such-group\", \"nor-this\"]\n", alice);
    EXPECT_EQ(loaded.policy.floor, Floor::fp32);
    ASSERT_EQ(loaded.warnings.size(), 1u);
    EXPECT_EQ(loaded.warnings[0].where, (folder / "site.toml").string() + ":4");
    EXPECT_EQ(loaded.warnings[0].message,
              "exception \"x\" does not hold for the group \"no-such-group\", which is not in /etc/group, the only "
              "place that is asked; write its number");
}

TEST_F(Site, BelievesNoIdsOfAUserNamespace) {
    const int status = test::in_child([&] {
        if (unshare(CLONE_NEWUSER) != 0) return 77;
        const JobIdentity process = own_job_identity({});
        const std::string user = "floor = \"fp32\"\n[[limits.except]]\nuser = " + std::to_string(process.user);
        return !process.has_real_user_ids && load(user, process).policy.floor == Floor::fp32 ? 0 : 1;
    });
    if (status == 77) GTEST_SKIP() << "no user namespaces here";
    EXPECT_EQ(status, 0);
}

TEST(JobInCgroups, IsThatOfSlurmAndPbsAtTheRootOnly) {
    const struct {
        const char *text, *job;
    } cases[] = {{"0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n", "4711"},
                 {"0::/system.slice/node7_slurmstepd.scope/job_4711/step_batch/user/task_special\n", "4711"},
                 {"0::/system.slice/slurmstepd.scope/job_4711", "4711"},
                 {"5:cpu,cpuacct:/\n4:memory:/slurm/uid_1000/job_88/step_0/task_0\n0::/\n", "88"},
                 {"10:devices:/slurm_node7/uid_1000/job_88/step_extern\n", "88"},
                 {"3:memory:/pbs_jobs.service/jobid/12345.pbs\n", "12345.pbs"},
                 {"0::/pbs_jobs.service/jobs/12345.pbs\n", "12345.pbs"},
                 {"0::/system.slice/slurmstepd.scope/system\n", ""},
                 {"0::/system.slice/slurmstepd.scope/job_\n", ""},
                 {"0::/user.slice/user-1000.slice/user@1000.service/system.slice/slurmstepd.scope/job_1\n", ""},
                 {"0::/user.slice/slurm/uid_1000/job_1\n", ""},
                 {"0::/\n", ""},
                 {"", ""},
                 {"garbage", ""}};
    for (const auto& c : cases) EXPECT_EQ(job_in_cgroups(c.text), c.job) << c.text;
}

TEST_F(Site, TakesJobAndAccountFromTheFirstBatchSystemsVariables) {
    const struct {
        Environment environment;
        const char *job, *account;
    } cases[] = {{{"SLURM_JOB_ID=1", "SLURM_JOB_ACCOUNT=a"}, "1", "a"},
                 {{"PBS_JOBID=2.srv", "PBS_ACCOUNT=b"}, "2.srv", "b"},
                 {{"LSB_JOBID=3", "LSB_PROJECT_NAME=c"}, "3", "c"},
                 {{"JOB_ID=4"}, "4", ""},
                 {{"SLURM_JOB_ID=1", "PBS_JOBID=2", "PBS_ACCOUNT=b"}, "1", ""},
                 {{"SLURM_JOB_ID=", "PBS_JOBID=2"}, "2", ""},
                 {{"SLURM_JOB_ACCOUNT=a"}, "", ""},
                 {{}, "", ""}};
    const bool is_in_job = !own_job_identity({}, "/nowhere").job.empty();
    if (is_in_job) GTEST_SKIP() << "this is a job here";
    for (const auto& c : cases) {
        const JobIdentity process = own_job_identity(c.environment, "/nowhere");
        EXPECT_EQ(process.job, c.job);
        EXPECT_EQ(process.account, c.account);
        EXPECT_EQ(process.user, getuid());
        EXPECT_GT(std::ranges::count(process.groups, getgid()), 0);
    }
}

TEST_F(Site, BelievesNoVariableWhereTheSiteVouches) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can vouch";
    const Environment variables = {"SLURM_JOB_ID=1", "SLURM_JOB_ACCOUNT=a"};
    chmod(folder.c_str(), 0755);
    EXPECT_EQ(own_job_identity(variables, folder).job, "");
    EXPECT_EQ(own_job_identity(variables, folder).account, "");
    chmod(folder.c_str(), 0777);  // others may write there, so the site does not vouch
    EXPECT_EQ(own_job_identity(variables, folder).account, "a");
}

}  // namespace
}  // namespace fp32shim::policy
