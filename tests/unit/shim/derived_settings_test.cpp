// Tests settings that follow from a policy: shim/settings/derived_settings.hpp.
#include "shim/settings/derived_settings.hpp"

#include <gtest/gtest.h>

#include <string>

#include "policy/load.hpp"

namespace fp32shim {
namespace {

constexpr SettingsContext plain{.has_module_paths = true};
constexpr SettingsContext recorded{.has_module_paths = true, .log = LogKind::recording};
constexpr SettingsContext in_json{.has_module_paths = true, .log = LogKind::json_lines};
constexpr SettingsContext on_stderr{.has_module_paths = true, .log = LogKind::stderr_lines};

policy::Policy policy_of(const std::string& text) {
    const policy::LoadedPolicy loaded = policy::read_policy("schema = 1\n" + text, "policy.toml");
    for (const policy::Diagnostic& error : loaded.errors) ADD_FAILURE() << error.text();
    return loaded.policy;
}

/// Returns the names of the flags that are set, and the number of native frames.
std::string words_of(const DerivedSettings& settings) {
    std::string words;
    const auto add = [&](bool is_set, const char* name) {
        if (is_set) words += (words.empty() ? "" : " ") + std::string(name);
    };
    add(settings.forward_everything, "forward");
    add(settings.looks_at_sizes, "sizes");
    add(settings.looks_at_scopes, "scopes");
    add(settings.lacks_module_paths, "no_modules");
    add(settings.looks_at_call_numbers, "numbers");
    add(settings.looks_at_where, "where");
    add(settings.looks_at_text, "text");
    add(settings.looks_at_call_sites, "call_sites");
    add(settings.reads_python_lines, "python");
    add(settings.audits, "audits");
    add(settings.fingerprints, "fingerprints");
    add(settings.finds_nonfinite, "nonfinite");
    if (settings.native_frames != 0) words += " frames:" + std::to_string(settings.native_frames);
    return words;
}

std::string rule_with(const std::string& condition) {
    return "default = \"native\"\n[[rule]]\nprecision = \"highest\"\nwhen = { " + condition + " }\n";
}

struct Case {
    std::string policy;
    SettingsContext circumstances;
    std::string expected;
};

TEST(DerivedSettings, FollowFromThePolicyAndTheLog) {
    const std::string python = "[log]\nwhere = [\"python\"]\n", frames = "[log]\nwhere = [\"native:8\"]\n";
    const std::string sample = "[audit]\nsample = 0.5\n", pin = "[audit]\naction = \"pin\"\n";
    const std::string looks = "[audit]\nfingerprint = true\nnonfinite = true\n";
    const std::string tolerance = "[[rule]]\nprecision = { tolerance = 1e-3 }\n";
    const Case cases[] = {
        {"", plain, ""},
        {"", recorded, ""},
        {rule_with("m = \">8\""), plain, "sizes"},
        {rule_with("function = \"sgemm_\""), plain, ""},
        {rule_with("scope = \"train\""), plain, "scopes"},
        {rule_with("scope = \"train\""), {}, "scopes no_modules"},
        {rule_with("call_number = \"<10\""), plain, "sizes numbers"},
        {rule_with("where = \"train.py:3\""), plain, "sizes where python"},
        {rule_with("where = \"train.py f\", text = \"x = a @ b\""), plain, "sizes where text python"},
        {rule_with("call_site = \"libphysics.so!*\""), plain, "call_sites"},
        // Locations are read for every output that contains them.
        {python, plain, ""},
        {python, on_stderr, "python"},
        {python, in_json, "python"},
        {python, recorded, "python"},
        {frames, in_json, ""},
        {frames, recorded, " frames:8"},
        // Results are examined for a recording, and for settings that judge by results.
        {sample, plain, ""},
        {sample, in_json, ""},
        {sample, recorded, "audits"},
        {pin, plain, "audits"},
        {tolerance, plain, "audits"},
        {looks, plain, "nonfinite"},
        {looks, recorded, "fingerprints nonfinite"},
    };
    for (const Case& given : cases)
        EXPECT_EQ(words_of(derive_settings(policy_of(given.policy), given.circumstances)), given.expected)
            << given.policy;
}

TEST(DerivedSettings, AreNoneWhereEverythingIsForwarded) {
    policy::Policy policy =
        policy_of(rule_with("where = \"train.py:3\"") + "[audit]\nsample = 1\nnonfinite = true\n");
    SettingsContext elevated = recorded;
    elevated.has_elevated_rights = true;
    DerivedSettings forwards;
    forwards.forward_everything = true;
    EXPECT_EQ(derive_settings(policy, elevated), forwards);
    policy.disabled = true;
    EXPECT_EQ(derive_settings(policy, recorded), forwards);
}

TEST(DerivedSettings, KnowTheLogByItsPath) {
    EXPECT_EQ(log_kind(""), LogKind::none);
    EXPECT_EQ(log_kind("stderr"), LogKind::stderr_lines);
    EXPECT_EQ(log_kind("/var/log/%p.jsonl"), LogKind::json_lines);
    EXPECT_EQ(log_kind("run.fp32rec"), LogKind::recording);
}

TEST(DerivedSettings, NoteEachCallInARecordingOnlyIfToldTo) {
    const auto notes = [](const std::string& path, const std::string& level) {
        return logs_every_call(policy_of("[log]\npath = \"" + path + "\"\n" + level));
    };
    EXPECT_FALSE(notes("a.fp32rec", ""));
    EXPECT_FALSE(notes("a.fp32rec", "level = \"summary\""));
    EXPECT_TRUE(notes("a.fp32rec", "level = \"calls\""));
    EXPECT_TRUE(notes("a.jsonl", ""));
    EXPECT_FALSE(notes("a.jsonl", "level = \"summary\""));
}

TEST(DerivedSettings, AuditOneCallInAThousandForWhoeverJudgesByAudits) {
    EXPECT_EQ(effective_audit_sample(policy_of("")), 0);
    EXPECT_EQ(effective_audit_sample(policy_of("[audit]\naction = \"pin\"\n")), 1e-3);
    EXPECT_EQ(effective_audit_sample(policy_of("[audit]\naction = \"pin\"\nsample = 0.5\n")), 0.5);
}

}  // namespace
}  // namespace fp32shim
