// Computes diag(Q^T L Q) of a symmetric 128x128 matrix with a spectrum from 0.1 to 2.5e6. In this textbook case TF32
// turns small positive eigenvalues into large negative ones. The program makes one float32 product, through plain
// CBLAS, and knows nothing of fp32shim. qtlq.py does the same in torch; make_data.py made the input.
//
//   qtlq [--csv] [DIRECTORY]     DIRECTORY has L.f32, Q.f32 and reference.csv
#include <cblas.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int n = 128;
using Matrix = std::vector<float>;  // n×n elements in row-major order

static_assert(std::endian::native == std::endian::little, "the stored matrices are little-endian");

/// One published row. The values have five digits.
struct Published {
    int index;
    double exact, fp32, tf32;
};

Matrix read_matrix(const std::filesystem::path& path) {
    Matrix matrix(static_cast<std::size_t>(n) * n);
    const auto bytes = static_cast<std::streamsize>(matrix.size() * sizeof(float));
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path.string() + ": cannot be opened; give the directory that holds it");
    if (!file.read(reinterpret_cast<char*>(matrix.data()), bytes) || file.peek() != EOF) {
        throw std::runtime_error(path.string() + ": is not " + std::to_string(bytes) +
                                 " bytes, a 128x128 float32 matrix; make_data.py makes it again");
    }
    return matrix;
}

std::vector<Published> read_published(const std::filesystem::path& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path.string() + ": cannot be opened; give the directory that holds it");
    std::vector<Published> rows;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#' || line.starts_with("index,")) continue;
        Published row{};
        if (std::sscanf(line.c_str(), "%d,%lf,%lf,%lf", &row.index, &row.exact, &row.fp32, &row.tf32) != 4 ||
            row.index < 0 || row.index >= n) {
            throw std::runtime_error(path.string() + ": found '" + line + "', expected index,true,fp32,tf32");
        }
        rows.push_back(row);
    }
    if (rows.empty()) throw std::runtime_error(path.string() + ": has no rows");
    return rows;
}

/// Returns the diagonal of Q^T L Q: multiplies Q^T L by Q^T element by element, and sums each row. Only the matrix
/// product Q^T L may run at another precision; the sums are float32, in order.
std::vector<float> diagonal(const Matrix& l, const Matrix& q) {
    Matrix qt_l(l.size());
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, n, 1.0F, q.data(), n, l.data(), n, 0.0F, qt_l.data(),
                n);
    std::vector<float> result(n, 0.0F);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) result[i] += qt_l[i * n + j] * q[j * n + i];
    }
    return result;
}

/// The row with the largest difference from a published column, in units of the tolerance 0.05 + 1e-4 |value|.
/// Rounding to the five printed digits changes a value by up to 5e-5 of it, and the order in which a BLAS sums
/// changes the small values by some 0.01.
struct Furthest {
    double distance = 0;
    int index = 0;
};

Furthest furthest(const std::vector<float>& result, const std::vector<Published>& rows, double Published::*column) {
    Furthest worst;
    for (const Published& row : rows) {
        const double published = row.*column;
        double distance = std::abs(result[row.index] - published) / (0.05 + 1e-4 * std::abs(published));
        if (std::isnan(distance)) distance = std::numeric_limits<double>::infinity();
        if (distance >= worst.distance) worst = {distance, row.index};
    }
    return worst;
}

void print_table(const std::vector<float>& result, const std::vector<Published>& rows) {
    std::printf("diag(Q^T L Q), 128x128, float32\n\n");
    std::printf("%5s  %12s  %14s  %14s  %12s\n", "index", "exact", "published FP32", "published TF32", "this run");
    for (const Published& row : rows) {
        std::printf("%5d  %12.5g  %14.5g  %14.5g  %12.5g\n", row.index, row.exact, row.fp32, row.tf32,
                    static_cast<double>(result[row.index]));
    }
    const Furthest fp32 = furthest(result, rows, &Published::fp32);
    const Furthest tf32 = furthest(result, rows, &Published::tf32);
    std::printf("\nlargest difference, in units of the tolerance 0.05 + 1e-4*|value|:\n");
    std::printf("  from published FP32 %.2f (index %d), from published TF32 %.2f (index %d)\n", fp32.distance,
                fp32.index, tf32.distance, tf32.index);
    if (fp32.distance <= 1) {
        std::printf("agrees with: published FP32 (every value within the tolerance)\n");
    } else if (tf32.distance <= 1) {
        std::printf("agrees with: published TF32 (every value within the tolerance)\n");
    } else {
        std::printf("agrees with: neither published column\n");
    }
}

/// Returns the folder `given`; if it is empty, the folder of the source, or else the folder of the executable.
std::filesystem::path find_data(const std::string& given) {
    if (!given.empty()) return given;
    if (std::filesystem::exists(std::filesystem::path(QTLQ_DATA_DIR) / "L.f32")) return QTLQ_DATA_DIR;
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace

int main(int argc, char** argv) {
    bool csv = false;
    std::string directory;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--csv") {
            csv = true;
        } else if (directory.empty() && !argument.empty() && argument[0] != '-') {
            directory = argument;
        } else {
            std::fprintf(stderr, "usage: qtlq [--csv] [DIRECTORY]\n");
            return 2;
        }
    }
    try {
        const std::filesystem::path data = find_data(directory);
        const std::vector<Published> rows = read_published(data / "reference.csv");
        const Matrix l = read_matrix(data / "L.f32");
        const Matrix q = read_matrix(data / "Q.f32");
        const std::vector<float> result = diagonal(l, q);
        if (csv) {
            // Nine digits identify a float32. So two runs with equal texts are bitwise equal.
            std::printf("index,value\n");
            for (int i = 0; i < n; ++i) std::printf("%d,%.9g\n", i, static_cast<double>(result[i]));
        } else {
            print_table(result, rows);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "qtlq: %s\n", error.what());
        return 1;
    }
    return 0;
}
