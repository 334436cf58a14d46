// Streams and events, captures and graphs.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "driver/driver.hpp"

using stand_in::driver;

namespace {

// Returns the number of calls of cuStreamQuery that get a true answer; -1: all.
long queries_until_streams_are_busy() {
    const char* const streams = std::getenv("STAND_IN_STREAMS");
    if (streams == nullptr || std::strncmp(streams, "busy", 4) != 0) return -1;
    return streams[4] == ':' ? std::atol(streams + 5) : 0;
}

// Counts the calls of each function for events, and at the end appends them to a file if STAND_IN_EVENT_CALLS names
// one.
struct EventCalls {
    std::atomic<long> created = 0, recorded = 0, queried = 0, read = 0;

    void zero() { created = recorded = queried = read = 0; }

    // A child counts only its own calls.
    EventCalls();
    ~EventCalls() {
        const char* const path = std::getenv("STAND_IN_EVENT_CALLS");
        std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a");
        if (file == nullptr) return;
        std::fprintf(file, "%d %ld %ld %ld %ld\n", getpid(), created.load(), recorded.load(), queried.load(),
                     read.load());
        std::fclose(file);
    }
} event_calls;

EventCalls::EventCalls() {
    pthread_atfork(nullptr, nullptr, [] { event_calls.zero(); });
}

bool events_are(std::string_view word) {
    const char* const events = std::getenv("STAND_IN_EVENTS");
    return events != nullptr && events == word;
}

bool replays_nothing() {
    const char* const graphs = std::getenv("STAND_IN_GRAPHS");
    return graphs != nullptr && std::string_view(graphs) == "empty";
}

CUresult launch_graph(CUgraphExec exec, CUstream stream) {
    stand_in::hang_if_told("cuGraphLaunch");
    const CUresult result = stand_in::require_stream(&stream);
    if (result == CUDA_SUCCESS && replays_nothing()) return CUDA_SUCCESS;
    return result != CUDA_SUCCESS ? result : driver().scheduler.launch_graph(exec, stream);
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int flags) {
    CUcontext context = nullptr;
    const CUresult result = stand_in::require_context(&context);
    return result != CUDA_SUCCESS ? result : driver().scheduler.create_stream(context, flags, stream);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream stream) {
    if (!driver().initialized) return CUDA_ERROR_NOT_INITIALIZED;
    return driver().scheduler.destroy_stream(stream);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.synchronize(stream);
}

CUresult CUDAAPI cuStreamQuery(CUstream stream) {
    static std::atomic<long> asked{0};
    static const long limit = queries_until_streams_are_busy();
    if (limit >= 0 && asked.fetch_add(1) >= limit) return CUDA_ERROR_NOT_READY;
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.query(stream);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.wait(stream, event);
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned int flags) {
    ++event_calls.created;
    CUcontext context = nullptr;
    const CUresult result = stand_in::require_context(&context);
    return result != CUDA_SUCCESS ? result : driver().scheduler.create_event(context, flags, event);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event) { return driver().scheduler.destroy_event(event); }

CUresult CUDAAPI cuEventQuery(CUevent event) {
    ++event_calls.queried;
    static const bool are_busy = events_are("busy");
    CUcontext context = nullptr;
    CUresult result = stand_in::require_context(&context);
    if (result == CUDA_SUCCESS) result = stand_in::allow_unsafe_call(context);
    if (result != CUDA_SUCCESS) return result;
    return are_busy ? CUDA_ERROR_NOT_READY : driver().scheduler.query(event);
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
    ++event_calls.recorded;
    static const bool fails = events_are("fail");
    if (fails) return CUDA_ERROR_UNKNOWN;
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.record(event, stream);
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) { return driver().scheduler.synchronize(event); }

CUresult CUDAAPI cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    return driver().scheduler.elapsed(start, end, milliseconds);
}

// cuda.h renames the old function to the new one. The two differ in their answers about events that have not
// occurred.
#undef cuEventElapsedTime
#pragma GCC visibility push(default)
CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    ++event_calls.read;
    return driver().scheduler.elapsed(start, end, milliseconds);
}
#pragma GCC visibility pop

// ---- capture and graphs

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.begin_capture(stream, mode);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.end_capture(stream, graph);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    const CUresult result = stand_in::require_stream(&stream);
    return result != CUDA_SUCCESS ? result : driver().scheduler.capture_status(stream, status);
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *mode = std::exchange(stand_in::thread_capture_mode(), *mode);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
    return driver().scheduler.instantiate(graph, exec);
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream) { return launch_graph(exec, stream); }

// The form for programs whose default stream is the thread's own. In the stand-in it is the legacy one.
#pragma GCC visibility push(default)
CUresult CUDAAPI cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) { return launch_graph(exec, stream); }
#pragma GCC visibility pop

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) { return driver().scheduler.destroy(exec); }

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) { return driver().scheduler.destroy(graph); }
}
