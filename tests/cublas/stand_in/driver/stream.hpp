// Streams, events and graphs of the stand-in. Work is queued at its launch and runs only when some call waits for it.
// A program that forgets to synchronise therefore reads old data.
//
// The order is CUDA's. Within a stream work runs in the order of launches. The legacy default stream waits for
// earlier work of all blocking streams, and they wait for its earlier work. Capture puts work into a graph instead.
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
#include "driver/launch_counts.hpp"

namespace stand_in {

struct GraphWork {
    Kernel work;
    LaunchCounts* launches = nullptr;      // NULL: not a kernel that the program named
    CUDA_KERNEL_NODE_PARAMS parameters{};  // of that kernel
};

}  // namespace stand_in

struct CUgraphNode_st {
    stand_in::GraphWork content;
    std::unique_ptr<CUgraph_st> child;  // this graph in place of the content
};

struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

struct CUgraphExec_st {
    struct Node {
        CUgraphNode original;  // only its address is used: the graph may be gone
        stand_in::GraphWork content;
    };
    std::vector<Node> nodes;  // also those of child graphs
};

struct CUstream_st {
    struct Work {
        std::uint64_t sequence;  // number of the launch, counted over all streams
        stand_in::Kernel kernel;
    };

    CUcontext context = nullptr;
    bool blocking = true;
    std::deque<Work> queue;
    int executing = 0;        // work that was taken from the queue and is not yet done
    bool queried = false;     // the stream was queried since the latest launch
    std::uint64_t clock = 0;  // simulated time in nanoseconds: the sum of what its work took

    CUstreamCaptureStatus capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id capture_thread;
    std::unique_ptr<CUgraph_st> captured;
};

struct CUevent_st {
    CUcontext context = nullptr;
    CUstream stream = nullptr;   // stream of the latest record; NULL: never recorded
    std::uint64_t sequence = 0;  // sequence number of the latest record
    std::uint64_t reached = 0;   // sequence number of the latest record that has run
    bool captured = false;       // the latest record is part of a graph
    bool timing = true;
    std::chrono::steady_clock::time_point time;
    std::uint64_t simulated_time = 0;  // clock of the stream
};

// A primary context. The stand-in has no other contexts.
struct CUctx_st {
    int device = 0;
    int retained = 0;
    std::uint64_t id = 0;           // another one each time that it is made anew
    CUresult fault = CUDA_SUCCESS;  // error of a fault; stays until the context is destroyed
    CUstream_st legacy_stream;
    std::set<CUstream> streams;  // streams that the program created
};

namespace stand_in {

class Scheduler {
  public:
    void adopt(CUcontext context);

    CUresult create_stream(CUcontext context, unsigned flags, CUstream* stream);
    CUresult destroy_stream(CUstream stream);
    CUresult launch(CUstream stream, const Kernel& kernel);
    // Launches a kernel that the program named. It does nothing but count.
    CUresult launch_named(CUstream stream, LaunchCounts* launches, const CUDA_KERNEL_NODE_PARAMS& parameters);
    // Launches work that no graph of the stand-in can have. If the stream captures, refuses it and ends the capture.
    CUresult launch_uncaptured(CUstream stream, const Kernel& kernel);

    // These run everything that was launched on the stream, or in the context, and then return.
    CUresult synchronize(CUstream stream);
    CUresult synchronize_context(CUcontext context);
    // Answers if the stream is idle, and then runs its first waiting work. So a program that queries repeatedly sees
    // the work end, as on a device.
    CUresult query(CUstream stream);
    // Synchronizes as a call does that waits for the legacy default stream.
    CUresult synchronize_legacy(CUcontext context);
    // Checks calls that allocate or free: they are forbidden while a stream of the context captures, unless in
    // relaxed mode.
    CUresult allow_unsafe_call(CUcontext context);

    CUresult create_event(CUcontext context, unsigned flags, CUevent* event);
    CUresult destroy_event(CUevent event);
    CUresult record(CUevent event, CUstream stream);
    CUresult wait(CUstream stream, CUevent event);
    CUresult synchronize(CUevent event);
    // Answers if the latest record has run. If it has not, runs the first waiting work of its stream.
    CUresult query(CUevent event);
    CUresult elapsed(CUevent start, CUevent end, float* milliseconds);

    CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode);
    CUresult end_capture(CUstream stream, CUgraph* graph);
    CUresult capture_status(CUstream stream, CUstreamCaptureStatus* status);

    CUresult create_graph(CUgraph* graph);
    // Copies the nodes. The copies have other addresses.
    CUresult clone(CUgraph original, CUgraph* copy);
    CUresult add_node(CUgraph graph, LaunchCounts* launches, const CUDA_KERNEL_NODE_PARAMS& parameters,
                      CUgraphNode* node);
    // Adds a copy of another graph as a node.
    CUresult add_child(CUgraph graph, CUgraph child, CUgraphNode* node);
    CUresult child_of(CUgraphNode node, CUgraph* child);
    // As cuGraphGetNodes: `nodes` may be NULL, and then `count` becomes the number of nodes.
    CUresult nodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count);
    CUresult node_type(CUgraphNode node, CUgraphNodeType* type);
    CUresult get_parameters(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters);
    CUresult set_parameters(CUgraphNode node, LaunchCounts* launches, const CUDA_KERNEL_NODE_PARAMS& parameters);
    // Changes the kernel that an executable graph launches in place of a node.
    CUresult set_kernel(CUgraphExec exec, CUgraphNode node, LaunchCounts* launches);
    // Takes the work of another graph that has as many nodes, and of the same types.
    CUresult update(CUgraphExec exec, CUgraph graph);
    CUresult instantiate(CUgraph graph, CUgraphExec* exec);
    CUresult launch_graph(CUgraphExec exec, CUstream stream);
    CUresult destroy(CUgraph graph);
    CUresult destroy(CUgraphExec exec);

    // Drops queued work and the fault, since the context is being destroyed.
    void reset(CUcontext context);
    CUresult fault(CUcontext context);
    // Adds simulated time to what the work takes that this thread is running.
    static void take_time(std::uint64_t nanoseconds);

  private:
    bool known(CUstream stream) const;
    bool is_node(CUgraphNode node) const;
    CUgraph copy_of(const CUgraph_st& original);
    void forget(CUgraph graph);
    CUresult launch_locked(CUstream stream, const Kernel& kernel);
    void invalidate_captures(CUcontext context);
    // Runs work in order, as long as next() returns a stream whose first work may run.
    template <class Next>
    CUresult run(CUcontext context, Next next);
    CUresult run_stream(CUstream stream, std::uint64_t last);
    CUstream earliest_blocking(CUcontext context, std::uint64_t last);

    // Held while kernels run. Recursive, since queued work may itself wait for an event.
    std::recursive_mutex execution_;
    // Guards all members below, and the streams, events and contexts. Never held while a kernel runs.
    std::mutex mutex_;
    std::uint64_t sequence_ = 0;
    std::set<CUstream> legacy_streams_;
    std::set<CUstream> streams_;
    std::set<CUevent> events_;
    std::set<CUgraph> graphs_;  // also child graphs
    std::set<CUgraphExec> executables_;
};

}  // namespace stand_in
