"""Loads a module with cuda.bindings, and launches its kernel. Then launches it from a graph.

    cuda_bindings_launch.py KERNEL COUNT REPLAYS [IMAGE_FILE]

IMAGE_FILE: a cubin, a fatbin or PTX with the kernel; default: PTX with an empty kernel of that name. Prints nothing.
"""

import pathlib
import sys

from cuda.bindings import driver

PTX = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry %s() { ret; }\n"


def checked(answer):
    """Checks the status of a function of the driver. Returns the function's other results."""
    status, *values = answer
    assert status == driver.CUresult.CUDA_SUCCESS, status
    return values[0] if len(values) == 1 else tuple(values)


def main(kernel, count, replays, image=None):
    checked(driver.cuInit(0))
    checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(0))))))
    data = pathlib.Path(image).read_bytes() if image else (PTX % kernel).encode()
    module = checked(driver.cuModuleLoadData(data + b"\0"))
    function = checked(driver.cuModuleGetFunction(module, kernel.encode()))
    stream = checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))

    def launch():
        checked(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, 0, 0))

    for _ in range(int(count)):
        launch()
    checked(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
    launch()
    executable = checked(driver.cuGraphInstantiate(checked(driver.cuStreamEndCapture(stream)), 0))
    for _ in range(int(replays)):
        checked(driver.cuGraphLaunch(executable, stream))
    checked(driver.cuStreamSynchronize(stream))


if __name__ == "__main__":
    main(*sys.argv[1:])
