// Finds the rounding of operands that explains a run of qtlq; the published TF32 column is one of several.
//
//   qtlq_columns FOLDER FILE     FOLDER has L.f32 and Q.f32; FILE is the output of `qtlq --csv`
//
// Prints the largest difference from each column, in units of qtlq's tolerance, and `column: NAME` for the closest
// column within the tolerance. Ends with 1 if there is none.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu_check/products/format.hpp"

namespace {

constexpr int n = 128;

std::vector<float> read_matrix(const std::string& path) {
    std::vector<float> matrix(static_cast<std::size_t>(n) * n);
    std::ifstream file(path, std::ios::binary);
    const auto bytes = static_cast<std::streamsize>(matrix.size() * sizeof(float));
    if (!file.read(reinterpret_cast<char*>(matrix.data()), bytes)) {
        throw std::runtime_error(path + ": is no 128x128 float32 matrix");
    }
    return matrix;
}

std::vector<double> read_run(const std::string& path) {
    std::ifstream file(path);
    std::vector<double> values;
    for (std::string line; std::getline(file, line);) {
        int index = 0;
        double value = 0;
        if (std::sscanf(line.c_str(), "%d,%lf", &index, &value) == 2) values.push_back(value);
    }
    if (values.size() != n) throw std::runtime_error(path + ": is not what `qtlq --csv` prints");
    return values;
}

/// Computes a column as qtlq does: the product in the given format with exact sums, the rest in float32, in order.
std::vector<double> column(const std::vector<float>& l, const std::vector<float>& q, gpu::Rounding rounding) {
    std::vector<double> rounded_l(l.size()), rounded_q(q.size());
    for (std::size_t i = 0; i < l.size(); ++i) {
        rounded_l[i] = gpu::rounded(l[i], rounding);
        rounded_q[i] = gpu::rounded(q[i], rounding);
    }
    std::vector<double> result;
    for (std::size_t i = 0; i < n; ++i) {
        float sum = 0;
        for (std::size_t j = 0; j < n; ++j) {
            double product = 0;
            for (std::size_t k = 0; k < n; ++k) product += rounded_q[k * n + i] * rounded_l[k * n + j];
            sum += static_cast<float>(product) * q[j * n + i];
        }
        result.push_back(sum);
    }
    return result;
}

double distance(const std::vector<double>& run, const std::vector<double>& column) {
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double each = std::abs(run[i] - column[i]) / (0.05 + 1e-4 * std::abs(column[i]));
        worst = std::isnan(each) ? INFINITY : std::max(worst, each);
    }
    return worst;
}

int compare(const std::string& folder, const std::string& file) {
    struct Column {
        const char* name;
        gpu::Rounding rounding;
    };
    constexpr Column columns[] = {{"FP32", {}},
                                  {"TF32, ties away from zero", {gpu::Rounding::tf32, gpu::Rounding::away}},
                                  {"TF32, ties to even", {gpu::Rounding::tf32, gpu::Rounding::even}},
                                  {"TF32, truncated", {gpu::Rounding::tf32, gpu::Rounding::truncate}},
                                  {"BF16", {gpu::Rounding::bf16, gpu::Rounding::even}}};
    const auto l = read_matrix(folder + "/L.f32");
    const auto q = read_matrix(folder + "/Q.f32");
    const auto run = read_run(file);
    const char* nearest = nullptr;
    double least = 1;
    for (const Column& each : columns) {
        const double found = distance(run, column(l, q, each.rounding));
        std::printf("  from %-26s %.2f\n", each.name, found);
        if (found <= least) {
            least = found;
            nearest = each.name;
        }
    }
    std::printf("column: %s\n", nearest ? nearest : "none of these");
    return nearest ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: qtlq_columns FOLDER FILE\n");
        return 2;
    }
    try {
        return compare(argv[1], argv[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "qtlq_columns: %s\n", error.what());
        return 2;
    }
}
