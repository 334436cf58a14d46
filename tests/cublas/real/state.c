// Queries the library, and a handle, which cannot be created without a device.
#include "client.h"

#include <cublas_api.h>

void call_state_functions(void) {
    cublasHandle_t handle = NULL;
    int number = -1;
    for (int i = 0; i < 3; ++i) {
        CALL(cublasGetProperty, (libraryPropertyType)i, &number);
        printf("  %d\n", number);
    }
    number = -1;
    CALL(cublasGetVersion_v2, NULL, &number);
    printf("  %d\n", number);

    CALL(cublasCreate_v2, &handle);
    printf("  %s\n", handle == NULL ? "no handle" : "a handle");
    CALL(cublasCreate_v2, NULL);
    CALL(cublasDestroy_v2, NULL);

    for (int mode = 0; mode < 20; ++mode) CALL(cublasSetMathMode, NULL, (cublasMath_t)mode);
    cublasMath_t mode = (cublasMath_t)-1;
    CALL(cublasGetMathMode, NULL, &mode);
    printf("  %d\n", (int)mode);
    CALL(cublasGetMathMode, NULL, NULL);

    cublasEmulationStrategy_t strategy = (cublasEmulationStrategy_t)-1;
    CALL_IF_THERE(cublasSetEmulationStrategy, NULL, CUBLAS_EMULATION_STRATEGY_EAGER);
    CALL_IF_THERE(cublasGetEmulationStrategy, NULL, &strategy);
    printf("  %d\n", (int)strategy);

    int bits = -1;
    int* count = NULL;
    CALL_IF_THERE(cublasSetFixedPointEmulationMaxMantissaBitCount, NULL, 40);
    CALL_IF_THERE(cublasGetFixedPointEmulationMaxMantissaBitCount, NULL, &bits);
    CALL_IF_THERE(cublasSetFixedPointEmulationMantissaBitCountPointer, NULL, &bits);
    CALL_IF_THERE(cublasGetFixedPointEmulationMantissaBitCountPointer, NULL, &count);
    printf("  %d %d\n", bits, count != NULL);

    cublasPointerMode_t pointer_mode = (cublasPointerMode_t)-1;
    CALL(cublasSetPointerMode_v2, NULL, CUBLAS_POINTER_MODE_DEVICE);
    CALL(cublasGetPointerMode_v2, NULL, &pointer_mode);
    CALL(cublasSetStream_v2, NULL, NULL);
    CALL(cublasSetWorkspace_v2, NULL, NULL, 0);
    CALL(cublasSetSmCountTarget, NULL, 4);
}
