// Findings of the workers, by name: "native/sgemm_ns" is the finding "sgemm_ns" of the variant "native". Without a
// variant there is no prefix.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gpu {

class Findings {
  public:
    void add(const std::string& name, const std::string& value) { values_[name].push_back(value); }

    /// All of them, as they came; empty where nothing was found.
    const std::vector<std::string>& all(const std::string& name) const;
    /// The only one, or the lowest format of several; "not measured" where there is none.
    std::string lowest(const std::string& name) const;
    /// Each distinct one once, with + between them; "not measured" where there is none.
    std::string distinct(const std::string& name) const;
    /// Returns the numbers among the findings of this name, ascending.
    std::vector<double> numbers(const std::string& name) const;
    const std::map<std::string, std::vector<std::string>>& values() const { return values_; }

  private:
    std::map<std::string, std::vector<std::string>> values_;
};

inline constexpr const char* not_measured = "not measured";

/// Returns true if an answer names a format that a product ran in, not a refusal.
bool is_format(const std::string& answer);
/// The lower of two formats; a refusal is lower than none.
std::string lower_format(const std::string& left, const std::string& right);
/// 0 of none.
double median(const std::vector<double>& ascending);

}  // namespace gpu
