"""A device, a handle of cuBLAS on a stream of its own, and memory: by the libraries that the loader finds."""

import ctypes

import numpy as np

NON_BLOCKING = 1
OWN_ERRNO = 4711


class Gpu:
    def __init__(self, scalars_on_device=False):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.cublas = ctypes.CDLL("libcublas.so.13", use_errno=True)
        self.cublas_lt = ctypes.CDLL("libcublasLt.so.13")
        self.scalars_on_device = scalars_on_device
        self.kept = []
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.drive("cuInit", 0)
        self.drive("cuDeviceGet", ctypes.byref(device), 0)
        self.drive("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.drive("cuCtxSetCurrent", self.context)
        self.handle, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.drive("cuStreamCreate", ctypes.byref(self.stream), NON_BLOCKING)
        self.ask("cublasCreate_v2", ctypes.byref(self.handle))
        self.ask("cublasSetStream_v2", self.handle, self.stream)
        self.ask("cublasSetPointerMode_v2", self.handle, int(scalars_on_device))

    def drive(self, function, *arguments):
        result = getattr(self.driver, function)(*arguments)
        assert result == 0, f"{function}: CUresult {result}"

    def ask(self, function, *arguments):
        status = getattr(self.cublas, function)(*arguments)
        assert status == 0, f"{function}: status {status}"

    def call(self, function, *arguments):
        """Calls a function with the handle. Checks that errno stays the same. Python's integers are sizes and options."""
        size = ctypes.c_int64 if function.endswith("_64") else ctypes.c_int
        ctypes.set_errno(OWN_ERRNO)
        self.ask(function, self.handle, *(size(word) if isinstance(word, int) else word for word in arguments))
        assert ctypes.get_errno() == OWN_ERRNO

    def lt(self, function, *arguments):
        status = getattr(self.cublas_lt, f"cublasLt{function}")(*arguments)
        assert status == 0, f"cublasLt{function}: status {status}"

    def lt_object(self, function, attributes, *arguments):
        """Returns a descriptor or layout with these attributes: {number: value}."""
        address = ctypes.c_void_p()
        self.lt(f"{function}Create", ctypes.byref(address), *arguments)
        for number, value in attributes.items():
            self.lt(f"{function}SetAttribute", address, number, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))
        return address

    def put(self, matrix, leading_dimension):
        """Copies the columns of a matrix to the device, with NaN in the gaps between them."""
        columns = np.full((leading_dimension, matrix.shape[1]), np.nan if matrix.dtype.kind in "fc" else 0, matrix.dtype,
                          order="F")
        columns[:matrix.shape[0]] = matrix
        address = ctypes.c_uint64()
        self.drive("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(columns.nbytes))
        self.drive("cuMemcpyHtoD_v2", address, columns.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(columns.nbytes))
        return address

    def get(self, address, like, leading_dimension):
        self.drive("cuStreamSynchronize", self.stream)
        columns = np.empty((leading_dimension, like.shape[1]), like.dtype, order="F")
        self.drive("cuMemcpyDtoH_v2", columns.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(columns.nbytes))
        return columns[:like.shape[0]]

    def scalar(self, value, dtype):
        number = np.array([[value]], dtype)
        if self.scalars_on_device:
            return self.put(number, 1)
        self.kept.append(number)
        return number.ctypes.data_as(ctypes.c_void_p)

    def check_modes(self):
        """Checks that the program's own modes and stream are in force."""
        word, stream = ctypes.c_int(-1), ctypes.c_void_p()
        self.ask("cublasGetMathMode", self.handle, ctypes.byref(word))
        assert word.value == 0
        self.ask("cublasGetPointerMode_v2", self.handle, ctypes.byref(word))
        assert word.value == int(self.scalars_on_device)
        self.ask("cublasGetStream_v2", self.handle, ctypes.byref(stream))
        assert stream.value == self.stream.value
