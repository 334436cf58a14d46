// The search of `bisect` on seeded random programs with planted culprits. A program is a function of the groups that
// are lowered, so that no process runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "cli/bisect/search.hpp"
#include "cli/trials/state.hpp"

namespace fp32shim::cli {
namespace {

/// Groups that fail once at least `least` of them are lowered. If `call` is not 0, the one group fails by that call.
struct Cause {
    Subset groups;
    std::size_t least = 1;
    std::uint64_t call = 0;
    double rate = 1;  ///< probability that a run with these groups lowered fails
};

class Program : public SetRunner {
  public:
    std::vector<ProductGroup> planted;
    std::vector<Cause> causes;
    double failure_rate = 0;
    std::mt19937_64 random;

    /// Returns true if the program fails by one of the causes; failures at random do not count. A cause makes it fail
    /// only if `luck` is below the cause's rate.
    bool fails(const Subset& lowered, const CallRange& calls = {}, double luck = 0) const {
        return std::ranges::any_of(causes, [&](const Cause& cause) {
            if (luck >= cause.rate) return false;
            std::size_t count = 0;
            for (const std::size_t group : cause.groups) {
                const bool is_cut = calls.last != 0 && calls.group == group;
                const bool has_call =
                    !is_cut || cause.call == 0 || (calls.first <= cause.call && cause.call <= calls.last);
                if (contains(lowered, group) && has_call) ++count;
            }
            return count >= cause.least;
        });
    }

    Subset all() const {
        Subset result(planted.size());
        std::iota(result.begin(), result.end(), std::size_t{0});
        return result;
    }

    std::vector<SetRunResult> run(const std::vector<const TestedSet*>& sets, bool) override {
        std::vector<SetRunResult> results;
        for (const TestedSet* tested : sets) {
            const bool is_only = tested->lowered == Lowered::only;
            const Subset lowered = is_only ? tested->set : without(all(), tested->set);
            const auto luck = [this] { return static_cast<double>(random() >> 11) * 0x1p-53; };
            const bool is_bad = luck() < failure_rate || fails(lowered, tested->calls, luck());
            SetRunResult result{.verdict = is_bad ? Verdict::not_acceptable : Verdict::acceptable};
            if (!is_only) result.lowered = lowered;
            if (!is_only || tested->set.empty()) result.ran = all();
            if (runs > 0) result.as_often = result.ran;
            results.push_back(result);
            ++runs;
        }
        return results;
    }
    void report_outcome(const TestedSet&) override {}

    std::uint64_t runs = 0;
};

enum class Plant { alone, pair, at_least, size_of_a_line, call, nothing, seldom };

std::size_t below(std::mt19937_64& random, std::size_t bound) { return random() % bound; }

ProductGroup group_at(std::size_t line, std::int64_t size, double work) {
    ProductGroup group;
    group.key = {.scope = line % 2 == 0 ? "even" : "",
                 .location = {"program.py:" + std::to_string(line) + " f"},
                 .function = "sgemm_",
                 .m = size,
                 .n = size,
                 .k = size};
    group.where = group.key.location.text;
    group.calls = 100;
    group.work = work;
    return group;
}

/// Returns a program of three to eight lines, one of which has several sizes.
Program make_program(std::uint64_t seed, Plant plant, double failure_rate) {
    Program program;
    program.random.seed(seed);
    program.failure_rate = failure_rate;
    std::mt19937_64& random = program.random;
    const std::size_t lines = 3 + below(random, 6);
    const std::size_t many = below(random, lines);  // line of several sizes
    Subset of_many;
    for (std::size_t line = 0; line < lines; ++line) {
        const std::size_t sizes = line == many ? 4 + below(random, 5) : 1;
        for (std::size_t size = 0; size < sizes; ++size) {
            if (line == many) of_many.push_back(program.planted.size());
            program.planted.push_back(
                group_at(line, static_cast<std::int64_t>(16 + size), 1.0 + static_cast<double>(below(random, 1000))));
        }
    }
    Subset mixed = program.all();
    std::ranges::shuffle(mixed, random);
    const auto first = [&mixed](std::size_t count) {
        Subset some(mixed.begin(), mixed.begin() + static_cast<std::ptrdiff_t>(count));
        std::ranges::sort(some);
        return some;
    };
    switch (plant) {
        case Plant::nothing:
            break;
        case Plant::alone:
            for (std::size_t i = 0; i <= below(random, 3); ++i) program.causes.push_back({{mixed[i]}});
            break;
        case Plant::pair:
            program.causes.push_back({first(2), 2});
            break;
        case Plant::at_least:
            program.causes.push_back({first(3), 2});
            break;
        case Plant::size_of_a_line:
            program.causes = {{{of_many[0]}}, {{of_many[2]}}};
            break;
        case Plant::seldom:
            program.causes.push_back({{mixed[0]}});
            break;
        case Plant::call:
            program.causes.push_back({{mixed[0]}, 1, 1 + below(random, 100)});
            break;
    }
    return program;
}

/// Judgement of a search's result. `wrong` is a statement of the result that is not true.
struct Judgement {
    bool is_certain = false;
    std::string wrong;
    SearchConclusion findings;
    double sought = 1;  ///< least rate of failure that the search claims to find
};

/// Returns the sentence of a result that is not true of the program; empty: all are.
std::string lie_in(const SearchConclusion& findings, const Program& program) {
    const Subset exact = groups_of_culprits(findings.culprits);
    if (program.fails(without(program.all(), exact))) return "the policy is not enough";
    for (const Culprit& culprit : findings.culprits) {
        const std::string name = std::to_string(culprit.groups.front());
        if (!program.fails(without(program.all(), without(exact, culprit.groups)))) return name + " is not needed";
        if (program.fails(culprit.groups) != culprit.partners.empty()) return name + " fails alone, or does not";
        if (!program.fails(union_of(culprit.groups, union_of_parts(culprit.partners))))
            return name + " has no such partners";
        if (culprit.calls.last != 0 &&
            !program.fails(union_of(culprit.groups, union_of_parts(culprit.partners)), culprit.calls))
            return name + " does not fail by these calls";
    }
    return {};
}

Judgement judged(Program& program, const BisectSettings& settings) {
    GroupList groups;
    for (const ProductGroup& group : program.planted) groups.find_or_add(group);
    SetTester answers(settings, program, groups);
    Judgement judgement;
    try {
        if (answers.test_everything_exact().verdict != Verdict::acceptable) return judgement;
        answers.test_everything_lowered();
        judgement.findings = find_culprits(settings, answers, groups);
        judgement.is_certain = judgement.findings.doubt.empty();
        if (const auto rates = answers.failure_rates()) judgement.sought = rates->by_cause;
    } catch (const SearchAborted&) {
    }
    if (judgement.is_certain) judgement.wrong = lie_in(judgement.findings, program);
    return judgement;
}

/// Number of programs; the nightly tests set more.
std::uint64_t program_count() {
    const char* const count = std::getenv("FP32SHIM_BISECT_PROGRAMS");
    return count == nullptr ? 100 : std::strtoull(count, nullptr, 10);
}

constexpr Plant plants[] = {Plant::alone,          Plant::pair, Plant::at_least,
                            Plant::size_of_a_line, Plant::call, Plant::nothing};

struct Tally {
    std::uint64_t certain = 0, wrong = 0, runs = 0;
    std::string first_wrong;
};

Tally tally_of(double failure_rate, const BisectSettings& settings) {
    Tally tally;
    for (std::uint64_t seed = 0; seed < program_count(); ++seed) {
        const Plant plant = plants[seed % std::size(plants)];
        BisectSettings own = settings;
        own.narrows_calls = plant == Plant::call;
        own.jobs = 1 + seed % 3;
        Program program = make_program(seed, plant, failure_rate);
        const Judgement judgement = judged(program, own);
        tally.certain += judgement.is_certain ? 1 : 0;
        tally.runs += program.runs;
        if (judgement.wrong.empty()) continue;
        ++tally.wrong;
        if (tally.first_wrong.empty()) tally.first_wrong = "program " + std::to_string(seed) + ": " + judgement.wrong;
    }
    std::printf("%llu programs failing at random in %.0f%%: %llu certain, %llu wrong, %.1f runs each\n",
                static_cast<unsigned long long>(program_count()), 100 * failure_rate,
                static_cast<unsigned long long>(tally.certain), static_cast<unsigned long long>(tally.wrong),
                static_cast<double>(tally.runs) / static_cast<double>(program_count()));
    return tally;
}

BisectSettings settings_with(std::uint64_t repeat) {
    BisectSettings settings;
    settings.policy = {"high", "", "bisect"};
    settings.repeat = repeat;
    return settings;
}

TEST(BisectSearch, IsRightAboutRandomProgramsThatAreDeterministic) {
    const Tally tally = tally_of(0, settings_with(1));
    EXPECT_EQ(tally.wrong, 0U) << tally.first_wrong;
    EXPECT_EQ(tally.certain, program_count());
}

class RandomFailures : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(BisectSearch, RandomFailures, testing::Values(0.0, 0.05, 0.2));

TEST_P(RandomFailures, DoNotMakeARepeatedSearchSayWhatIsNotTrue) {
    const Tally tally = tally_of(GetParam(), settings_with(20));
    EXPECT_EQ(tally.wrong, 0U) << tally.first_wrong;
    EXPECT_GE(tally.certain, program_count() * 9 / 10);
}

TEST_P(RandomFailures, AreMostlyNoticedByASearchThatDoesNotExpectThem) {
    const Tally tally = tally_of(GetParam(), settings_with(1));
    EXPECT_LE(tally.wrong, program_count() / 20) << tally.first_wrong;
}

/// Number of programs for each pair of rates. It is large because the test counts errors of a few in a hundred.
constexpr std::uint64_t seldom_programs = 2000;

struct SeldomFailures {
    double by_cause, at_random;
};

class FailuresOfACulprit : public testing::TestWithParam<SeldomFailures> {};
INSTANTIATE_TEST_SUITE_P(BisectSearch, FailuresOfACulprit,
                         testing::Values(SeldomFailures{0.05, 0}, SeldomFailures{0.1, 0}, SeldomFailures{0.2, 0},
                                         SeldomFailures{0.3, 0}, SeldomFailures{0.5, 0}, SeldomFailures{0.05, 0.05},
                                         SeldomFailures{0.1, 0.05}, SeldomFailures{0.2, 0.05},
                                         SeldomFailures{0.3, 0.05}, SeldomFailures{0.5, 0.05}));

/// A search with --repeat 20 ends with two sentences about its errors. Tests both with programs of three to eight
/// lines.
TEST_P(FailuresOfACulprit, AreMissedAndBlamedOnTheInnocentAsSeldomAsTheResultSays) {
    std::uint64_t missed = 0, blamed = 0, certain = 0, runs = 0, sought = 0, sought_missed = 0;
    for (std::uint64_t seed = 0; seed < seldom_programs; ++seed) {
        Program program = make_program(seed, Plant::seldom, GetParam().at_random);
        program.causes[0].rate = GetParam().by_cause;
        const Judgement judgement = judged(program, settings_with(20));
        runs += program.runs;
        if (!judgement.is_certain) continue;
        ++certain;
        const Subset exact = groups_of_culprits(judgement.findings.culprits);
        const bool is_missed = !contains(exact, program.causes[0].groups[0]);
        missed += is_missed ? 1 : 0;
        blamed += without(exact, program.causes[0].groups).empty() ? 0 : 1;
        const double rate = 1 - (1 - GetParam().by_cause) * (1 - GetParam().at_random);
        if (rate < judgement.sought) continue;
        ++sought;
        sought_missed += is_missed ? 1 : 0;
    }
    const auto percent = [](std::uint64_t count) { return 100 * static_cast<double>(count) / seldom_programs; };
    std::printf(
        "a culprit fails in %.0f%%, and each run in %.0f%%: missed %.1f%%, blamed an innocent %.1f%%, not "
        "certain %.1f%%, %.0f runs; sought by %llu, missed by %llu of these\n",
        100 * GetParam().by_cause, 100 * GetParam().at_random, percent(missed), percent(blamed),
        100 - percent(certain), static_cast<double>(runs) / seldom_programs, static_cast<unsigned long long>(sought),
        static_cast<unsigned long long>(sought_missed));
    EXPECT_LE(percent(blamed), 100 * error_of_a_search);
    EXPECT_LE(static_cast<double>(sought_missed),
              error_of_a_search * static_cast<double>(std::max<std::uint64_t>(sought, 1)));
    if (GetParam().at_random == 0 && GetParam().by_cause >= 0.3) {
        EXPECT_EQ(sought, certain);
    }
}

}  // namespace
}  // namespace fp32shim::cli
