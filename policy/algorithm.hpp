// Describes algorithms of cublasLt: their configuration as numbers, and as the short word that recordings contain.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fp32shim::policy {

/// The configuration of an algorithm, as cublasLtMatmulAlgoConfigGetAttribute tells it. If this version of cublasLt
/// lacks an attribute, the member keeps its initial value, which is cublasLt's default.
struct Algorithm {
    std::uint32_t id = 0;
    /// A value of cublasLt's enumeration cublasLtMatmulTile_t. In `tile`, `stages`, `inner_shape` and
    /// `cluster_shape`, 0 means that nothing is set.
    std::uint32_t tile = 0;
    std::uint32_t stages = 0;
    std::uint32_t split_k = 1;    ///< the number of parts of each sum that are computed at the same time
    std::uint32_t reduction = 0;  ///< the way in which the parts are added, a cublasLtReductionScheme_t
    std::uint32_t swizzle = 0;
    std::uint32_t inner_shape = 0;
    std::uint32_t cluster_shape = 0;

    bool operator==(const Algorithm&) const = default;
};

/// One number of an algorithm's configuration, and its names.
struct AlgorithmAttribute {
    char letter;             ///< the letter before the number in an AlgorithmText; 0 if there is no letter
    std::string_view key;    ///< the name in JSON
    std::string_view words;  ///< the name in sentences
    std::uint32_t Algorithm::*value;
    std::int32_t attribute;      ///< cublasLt's number for the attribute (cublasLtMatmulAlgoConfigAttributes_t)
    std::uint8_t bytes;          ///< the size of the attribute's value in cublasLt
    bool has_no_number = false;  ///< true if the initial value means that nothing is set, which JSON shows as null
};
inline constexpr AlgorithmAttribute algorithm_attributes[] = {
    {0, "id", "algorithm", &Algorithm::id, 0, 4},
    {'t', "tile", "tile", &Algorithm::tile, 1, 4, true},
    {'s', "stages", "stages", &Algorithm::stages, 6, 4, true},
    {'k', "split_k", "split-K", &Algorithm::split_k, 2, 4},
    {'r', "reduction", "reduction", &Algorithm::reduction, 3, 4},
    {'w', "swizzle", "swizzle", &Algorithm::swizzle, 4, 4},
    {'i', "inner_shape", "inner shape", &Algorithm::inner_shape, 7, 2, true},
    {'c', "cluster_shape", "cluster shape", &Algorithm::cluster_shape, 8, 2, true},
};

/// Returns the word for `scheme`, a cublasLtReductionScheme_t, or its number as text if it has no word.
std::string reduction_text(std::uint32_t scheme);

/// A word such as `66:t20:s15:k4:r2:w1`: the id, then each attribute whose value is not the initial one. The object
/// has 64 bytes, so code that keeps it can copy it as eight 64-bit words.
struct AlgorithmText {
    std::array<char, 63> text;  ///< the word; only its first `size` bytes are set
    std::uint8_t size = 0;

    std::string_view view() const { return {text.data(), size}; }
};
AlgorithmText format_algorithm(const Algorithm& algorithm);
/// Parses the text of an AlgorithmText. Returns nullopt if the text is invalid.
std::optional<Algorithm> parse_algorithm(std::string_view word);

/// Returns the attributes in which two algorithm words differ, such as `split-K 4 -> 1`. Returns an empty text if
/// none differs, or if a word is invalid.
std::string algorithm_difference(std::string_view a, std::string_view b);

/// Restrictions on the algorithms that may run a product of cublasLt.
struct AlgorithmLimits {
    bool no_split_k = false;  ///< true if each sum must be computed in one part
    /// True if parts of sums must be added in the compute type, not in a narrower type.
    bool reduces_in_compute_type = false;
    bool avoids_known_wrong = false;  ///< true if no algorithm of known_wrong.def may run

    bool any() const { return no_split_k || reduces_in_compute_type || avoids_known_wrong; }
    /// Returns the reduction schemes that are allowed, as a mask for a search of algorithms. The mask 0 allows only
    /// sums in one part.
    std::uint32_t allowed_reduction_schemes() const { return no_split_k ? 0 : reduces_in_compute_type ? 2 : 7; }
    AlgorithmLimits& operator|=(const AlgorithmLimits& other) {
        no_split_k |= other.no_split_k;
        reduces_in_compute_type |= other.reduces_in_compute_type;
        avoids_known_wrong |= other.avoids_known_wrong;
        return *this;
    }
    bool operator==(const AlgorithmLimits&) const = default;
};
/// Returns the limits in words, such as `no split-K; none that is known to be wrong`, or an empty text if there are
/// none.
std::string limits_text(const AlgorithmLimits& limits);

/// An algorithm of cublasLt that gives wrong results: a line of known_wrong.def.
struct KnownWrongAlgorithm {
    std::int32_t from, to;  ///< the first and last version of cublasLt that is wrong: 120603 is 12.6.3
    std::uint32_t id;
    std::uint32_t least_split_k;  ///< the results are wrong if `split_k` is this number or larger
    std::string_view what;        ///< completes the sentence "its results may "
    std::string_view source;

    bool concerns(std::int32_t version) const { return from <= version && version <= to; }
};
inline constexpr std::int32_t newest = INT32_MAX;
inline constexpr KnownWrongAlgorithm known_wrong_algorithms[] = {
#define KNOWN_WRONG(from, to, id, least_split_k, what, source) {from, to, id, least_split_k, what, source},
#include "policy/known_wrong.def"
};
/// Returns the line of known_wrong.def for an algorithm of a version of cublasLt, or nullptr if there is none. The
/// `version` 0 means that the version is unknown; no line has it.
const KnownWrongAlgorithm* find_known_wrong_algorithm(const Algorithm& algorithm, std::int32_t version);

}  // namespace fp32shim::policy
