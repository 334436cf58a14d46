// Runs with descriptors 0, 1 and 2 closed, so that its own files get these numbers, and multiplies between writes.
// Closes after that every descriptor that it did not open itself, as daemons do, and multiplies again.
//
//   closed_descriptors FILE

#include <fcntl.h>
#include <unistd.h>

#include "client.h"

static float product(void) {
    const blas_int one = 1;
    const float a = 2, b = 3, alpha = 1, beta = 0;
    float c = 0;
    sgemm_("N", "N", &one, &one, &one, &alpha, &a, &one, &b, &one, &beta, &c, &one);
    return c;
}

static void write_result(int file, const char* when) {
    char line[64];
    const int size = snprintf(line, sizeof line, "%s: %g\n", when, product());
    if (write(file, line, (size_t)size) != size) _exit(1);
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    for (int i = 0; i < 3; ++i) close(i);
    int files[3];
    for (int i = 0; i < 3; ++i) files[i] = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (files[2] != 2) return 3;
    for (int i = 0; i < 3; ++i) write_result(files[i], "descriptor");
    for (int i = 3; i < 1024; ++i) close(i);
    // The closed numbers now belong to files of this program, which nobody else may write to.
    int reused[200];
    for (int i = 0; i < 200; ++i) reused[i] = open(argv[1], O_WRONLY | O_APPEND);
    write_result(0, "after closing");
    write_result(reused[199], "reused");
    return 0;
}
