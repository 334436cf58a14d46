// A driver with one device of compute capability 9.0, which is current on every thread.
#include "empty_cublas.h"

enum { success = 0, invalid_value = 1 };
// Values of CUdevice_attribute.
enum { compute_capability_major = 75, compute_capability_minor = 76 };

int cuInit(unsigned flags) { return flags == 0 ? success : invalid_value; }

int cuCtxGetDevice(int* device) {
    *device = 0;
    return success;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
    if (device != 0 || (attribute != compute_capability_major && attribute != compute_capability_minor))
        return invalid_value;
    *value = attribute == compute_capability_major ? 9 : 0;
    return success;
}
