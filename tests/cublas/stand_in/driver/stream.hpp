// Streams, events and graphs of the stand-in. Work is queued at launch and runs when something waits for it: nothing
// runs earlier than it must, so that a program which forgets to synchronise reads old data.
//
// The order is that of CUDA: within a stream as launched; the legacy default stream waits for the earlier work of all
// blocking streams, and they for its. Capture puts work into a graph instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "driver/driver_private.hpp"

struct CUgraph_st {
    std::vector<stand_in::Kernel> nodes;
};

struct CUgraphExec_st {
    std::vector<stand_in::Kernel> nodes;
};

struct CUstream_st {
    struct Work {
        std::uint64_t sequence;  // order of launches over all streams
        stand_in::Kernel kernel;
    };

    CUcontext context = nullptr;
    bool blocking = true;
    std::deque<Work> queue;
    int executing = 0;     // taken from the queue and not yet done
    bool queried = false;  // since the latest launch

    CUstreamCaptureStatus capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id capture_thread;
    std::unique_ptr<CUgraph_st> captured;
};

struct CUevent_st {
    CUcontext context = nullptr;
    CUstream stream = nullptr;   // where it was recorded last; NULL: nowhere
    std::uint64_t sequence = 0;  // of the latest record
    std::uint64_t reached = 0;   // the latest record that has run
    bool captured = false;       // the latest record is part of a graph
    bool timing = true;
    std::chrono::steady_clock::time_point time;
};

// A primary context; there are no others.
struct CUctx_st {
    int device = 0;
    int retained = 0;
    CUresult fault = CUDA_SUCCESS;  // stays until the context is gone
    CUstream_st legacy_stream;
    std::set<CUstream> streams;  // created ones
};

namespace stand_in {

class Scheduler {
  public:
    void adopt(CUcontext context);

    CUresult create_stream(CUcontext context, unsigned flags, CUstream* stream);
    CUresult destroy_stream(CUstream stream);
    CUresult launch(CUstream stream, const Kernel& kernel);
    // The same for work that cannot be part of a graph here: refused, and the end of a capture.
    CUresult launch_uncaptured(CUstream stream, const Kernel& kernel);

    // Run everything launched on the stream, or in the context, and return.
    CUresult synchronize(CUstream stream);
    CUresult synchronize_context(CUcontext context);
    // Runs the first piece of work that waits, after it has looked: so that a program which asks again and again sees
    // an end, as on a device.
    CUresult query(CUstream stream);
    // Synchronizes for calls that wait as the legacy default stream does.
    CUresult synchronize_legacy(CUcontext context);
    // Calls that allocate or free: forbidden while a stream of the context captures, unless in relaxed mode.
    CUresult allow_unsafe_call(CUcontext context);

    CUresult create_event(CUcontext context, unsigned flags, CUevent* event);
    CUresult destroy_event(CUevent event);
    CUresult record(CUevent event, CUstream stream);
    CUresult wait(CUstream stream, CUevent event);
    CUresult synchronize(CUevent event);
    CUresult elapsed(CUevent start, CUevent end, float* milliseconds);

    CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode);
    CUresult end_capture(CUstream stream, CUgraph* graph);
    CUresult capture_status(CUstream stream, CUstreamCaptureStatus* status);

    CUresult instantiate(CUgraph graph, CUgraphExec* exec);
    CUresult launch_graph(CUgraphExec exec, CUstream stream);
    CUresult destroy(CUgraph graph);
    CUresult destroy(CUgraphExec exec);

    // Drops queued work and the fault: the context is being destroyed.
    void reset(CUcontext context);
    CUresult fault(CUcontext context);

  private:
    bool known(CUstream stream) const;
    CUresult launch_locked(CUstream stream, const Kernel& kernel);
    void invalidate_captures(CUcontext context);
    // Runs work, in order, as long as next() names a stream whose front is due.
    template <class Next>
    CUresult run(CUcontext context, Next next);
    CUresult run_stream(CUstream stream, std::uint64_t last);
    CUstream earliest_blocking(CUcontext context, std::uint64_t last);

    // Held while kernels run. Recursive: waiting for an event is itself queued work.
    std::recursive_mutex execution_;
    // Guards everything below, and the streams, events and contexts; never held while a kernel runs.
    std::mutex mutex_;
    std::uint64_t sequence_ = 0;
    std::set<CUstream> legacy_streams_;
    std::set<CUstream> streams_;
    std::set<CUevent> events_;
    std::set<CUgraph> graphs_;
    std::set<CUgraphExec> executables_;
};

}  // namespace stand_in
