#include "driver/stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace stand_in {
namespace {

constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

bool is_legacy(CUstream stream) { return stream == &stream->context->legacy_stream; }

bool capturing(const CUstream_st& stream) { return stream.capture_status != CU_STREAM_CAPTURE_STATUS_NONE; }

CUgraphNode append(CUgraph graph, GraphWork content) {
    graph->nodes.push_back(std::make_unique<CUgraphNode_st>());
    graph->nodes.back()->content = std::move(content);
    return graph->nodes.back().get();
}

// The stream whose work the running thread executes.
thread_local CUstream executing = nullptr;

CUresult do_nothing() { return CUDA_SUCCESS; }

bool is_kernel(const GraphWork& work) { return work.launches != nullptr; }

void add_work_of(const CUgraph_st& graph, std::vector<CUgraphExec_st::Node>& work) {
    for (const auto& node : graph.nodes) {
        if (node->child != nullptr)
            add_work_of(*node->child, work);
        else
            work.push_back({node.get(), node->content});
    }
}

}  // namespace

bool Scheduler::known(CUstream stream) const { return streams_.contains(stream) || legacy_streams_.contains(stream); }

void Scheduler::adopt(CUcontext context) {
    std::lock_guard lock(mutex_);
    context->legacy_stream.context = context;
    legacy_streams_.insert(&context->legacy_stream);
}

CUresult Scheduler::create_stream(CUcontext context, unsigned flags, CUstream* stream) {
    if (stream == nullptr || (flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(mutex_);
    *stream = new CUstream_st;
    (*stream)->context = context;
    (*stream)->blocking = flags != CU_STREAM_NON_BLOCKING;
    streams_.insert(*stream);
    context->streams.insert(*stream);
    return CUDA_SUCCESS;
}

CUresult Scheduler::destroy_stream(CUstream stream) {
    {
        std::lock_guard lock(mutex_);
        if (!streams_.contains(stream)) return CUDA_ERROR_INVALID_HANDLE;
    }
    // CUDA would finish the work in the background. For the program it makes no difference that it runs now.
    std::lock_guard executing(execution_);
    run_stream(stream, everything);
    std::lock_guard lock(mutex_);
    streams_.erase(stream);
    stream->context->streams.erase(stream);
    for (CUevent event : events_)
        if (event->stream == stream) event->stream = nullptr;
    delete stream;
    return CUDA_SUCCESS;
}

CUresult Scheduler::launch_locked(CUstream stream, const Kernel& kernel) {
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    CUcontext context = stream->context;
    if (context->fault != CUDA_SUCCESS) return context->fault;
    if (stream->capture_status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture_status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
        append(stream->captured.get(), {.work = kernel});
        return CUDA_SUCCESS;
    }
    if (is_legacy(stream)) {
        for (CUstream other : context->streams) {
            if (!other->blocking || !capturing(*other)) continue;
            invalidate_captures(context);
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
    stream->queue.push_back({++sequence_, kernel});
    stream->queried = false;
    return CUDA_SUCCESS;
}

CUresult Scheduler::launch(CUstream stream, const Kernel& kernel) {
    std::lock_guard lock(mutex_);
    return launch_locked(stream, kernel);
}

CUresult Scheduler::launch_named(CUstream stream, LaunchCounts* launches, const CUDA_KERNEL_NODE_PARAMS& parameters) {
    std::lock_guard lock(mutex_);
    const CUresult result = launch_locked(stream, do_nothing);
    if (result != CUDA_SUCCESS) return result;
    if (capturing(*stream))
        stream->captured->nodes.back()->content = {do_nothing, launches, parameters};
    else
        ++launches->direct;
    return CUDA_SUCCESS;
}

CUresult Scheduler::launch_uncaptured(CUstream stream, const Kernel& kernel) {
    std::lock_guard lock(mutex_);
    if (known(stream) && capturing(*stream)) {
        stream->capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return launch_locked(stream, kernel);
}

void Scheduler::invalidate_captures(CUcontext context) {
    for (CUstream stream : context->streams)
        if (capturing(*stream)) stream->capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

template <class Next>
CUresult Scheduler::run(CUcontext context, Next next) {
    for (;;) {
        Kernel kernel;
        CUstream stream = nullptr;
        {
            std::lock_guard lock(mutex_);
            if (context->fault != CUDA_SUCCESS) return context->fault;
            stream = next();
            if (stream == nullptr) return CUDA_SUCCESS;
            kernel = std::move(stream->queue.front().kernel);
            stream->queue.pop_front();
            ++stream->executing;
        }
        CUstream const outer = std::exchange(executing, stream);
        const CUresult result = kernel();
        executing = outer;
        std::lock_guard lock(mutex_);
        --stream->executing;
        if (result != CUDA_SUCCESS) context->fault = result;
    }
}

CUstream Scheduler::earliest_blocking(CUcontext context, std::uint64_t last) {
    CUstream earliest = nullptr;
    auto consider = [&](CUstream stream) {
        if (!stream->blocking || stream->queue.empty() || stream->queue.front().sequence > last) return;
        if (earliest == nullptr || stream->queue.front().sequence < earliest->queue.front().sequence)
            earliest = stream;
    };
    consider(&context->legacy_stream);
    for (CUstream stream : context->streams) consider(stream);
    return earliest;
}

CUresult Scheduler::run_stream(CUstream stream, std::uint64_t last) {
    CUcontext context = stream->context;
    return run(context, [this, context, stream, last]() -> CUstream {
        if (is_legacy(stream)) return earliest_blocking(context, last);
        if (stream->queue.empty() || stream->queue.front().sequence > last) return nullptr;
        if (!stream->blocking) return stream;
        // Earlier work of the default stream must run first, together with everything that it waits for.
        std::uint64_t before = 0;
        for (const auto& work : context->legacy_stream.queue)
            if (work.sequence < stream->queue.front().sequence) before = work.sequence;
        return before == 0 ? stream : earliest_blocking(context, before);
    });
}

CUresult Scheduler::synchronize(CUstream stream) {
    {
        std::lock_guard lock(mutex_);
        if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
        if (capturing(*stream)) {
            stream->capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    if (is_legacy(stream)) return synchronize_legacy(stream->context);
    std::lock_guard executing(execution_);
    return run_stream(stream, everything);
}

CUresult Scheduler::synchronize_legacy(CUcontext context) {
    {
        std::lock_guard lock(mutex_);
        for (CUstream stream : context->streams) {
            if (!stream->blocking || !capturing(*stream)) continue;
            invalidate_captures(context);
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
    std::lock_guard executing(execution_);
    return run_stream(&context->legacy_stream, everything);
}

CUresult Scheduler::synchronize_context(CUcontext context) {
    {
        std::lock_guard lock(mutex_);
        for (CUstream stream : context->streams) {
            if (!capturing(*stream)) continue;
            invalidate_captures(context);
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    std::lock_guard executing(execution_);
    const CUresult result = run_stream(&context->legacy_stream, everything);
    if (result != CUDA_SUCCESS) return result;
    std::set<CUstream> streams;
    {
        std::lock_guard lock(mutex_);
        streams = context->streams;
    }
    for (CUstream stream : streams) {
        const CUresult one = run_stream(stream, everything);
        if (one != CUDA_SUCCESS) return one;
    }
    return CUDA_SUCCESS;
}

CUresult Scheduler::query(CUstream stream) {
    std::uint64_t first = 0;
    {
        std::lock_guard lock(mutex_);
        if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
        if (stream->context->fault != CUDA_SUCCESS) return stream->context->fault;
        if (capturing(*stream)) {
            stream->capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        if (stream->queue.empty()) return stream->executing == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
        if (!std::exchange(stream->queried, true)) return CUDA_ERROR_NOT_READY;
        first = stream->queue.front().sequence;
    }
    // If another thread is running this stream's work, that thread holds the lock.
    std::unique_lock executing(execution_, std::try_to_lock);
    if (executing.owns_lock()) run_stream(stream, first);
    return CUDA_ERROR_NOT_READY;
}

CUresult Scheduler::allow_unsafe_call(CUcontext context) {
    std::lock_guard lock(mutex_);
    if (context->fault != CUDA_SUCCESS) return context->fault;
    for (CUstream stream : context->streams) {
        if (!capturing(*stream) || stream->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
        if (stream->capture_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
            stream->capture_thread != std::this_thread::get_id())
            continue;
        stream->capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult Scheduler::create_event(CUcontext context, unsigned flags, CUevent* event) {
    if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(mutex_);
    *event = new CUevent_st;
    (*event)->context = context;
    (*event)->timing = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    events_.insert(*event);
    return CUDA_SUCCESS;
}

CUresult Scheduler::destroy_event(CUevent event) {
    // The event must not be destroyed yet: queued records and waits still refer to it.
    CUresult result = synchronize(event);
    if (result == CUDA_ERROR_INVALID_HANDLE) return result;
    std::lock_guard executing(execution_);
    std::lock_guard lock(mutex_);
    events_.erase(event);
    delete event;
    return CUDA_SUCCESS;
}

CUresult Scheduler::record(CUevent event, CUstream stream) {
    std::lock_guard lock(mutex_);
    if (!events_.contains(event) || !known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
    event->captured = capturing(*stream);
    // launch_locked will give this number to the record.
    const std::uint64_t sequence = sequence_ + 1;
    const CUresult result = launch_locked(stream, [this, event, sequence] {
        std::lock_guard run_lock(mutex_);
        if (!events_.contains(event)) return CUDA_SUCCESS;
        event->reached = sequence;
        event->time = std::chrono::steady_clock::now();
        event->simulated_time = executing->clock;
        return CUDA_SUCCESS;
    });
    if (result != CUDA_SUCCESS || event->captured) return result;
    event->stream = stream;
    event->sequence = sequence;
    return CUDA_SUCCESS;
}

CUresult Scheduler::wait(CUstream stream, CUevent event) {
    std::lock_guard lock(mutex_);
    if (!events_.contains(event) || !known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    CUstream other = event->stream;
    const std::uint64_t sequence = event->sequence;
    if (other == nullptr || event->captured) return CUDA_SUCCESS;
    return launch_locked(stream, [this, other, sequence] {
        {
            std::lock_guard run_lock(mutex_);
            if (!known(other)) return CUDA_SUCCESS;
        }
        return run_stream(other, sequence);
    });
}

CUresult Scheduler::synchronize(CUevent event) {
    CUstream stream = nullptr;
    std::uint64_t sequence = 0;
    {
        std::lock_guard lock(mutex_);
        if (!events_.contains(event)) return CUDA_ERROR_INVALID_HANDLE;
        if (event->captured) return CUDA_ERROR_CAPTURED_EVENT;
        stream = event->stream;
        sequence = event->sequence;
    }
    if (stream == nullptr) return CUDA_SUCCESS;
    std::lock_guard executing(execution_);
    return run_stream(stream, sequence);
}

CUresult Scheduler::query(CUevent event) {
    CUstream stream = nullptr;
    std::uint64_t first = 0;
    {
        std::lock_guard lock(mutex_);
        if (!events_.contains(event)) return CUDA_ERROR_INVALID_HANDLE;
        if (event->captured) return CUDA_ERROR_CAPTURED_EVENT;
        if (event->context->fault != CUDA_SUCCESS) return event->context->fault;
        if (event->stream == nullptr || event->reached >= event->sequence) return CUDA_SUCCESS;
        stream = event->stream;
        if (stream->queue.empty()) return CUDA_ERROR_NOT_READY;
        first = stream->queue.front().sequence;
    }
    std::unique_lock executing_lock(execution_, std::try_to_lock);
    if (executing_lock.owns_lock()) run_stream(stream, first);
    return CUDA_ERROR_NOT_READY;
}

void Scheduler::take_time(std::uint64_t nanoseconds) {
    if (executing != nullptr) executing->clock += nanoseconds;
}

CUresult Scheduler::elapsed(CUevent start, CUevent end, float* milliseconds) {
    std::lock_guard lock(mutex_);
    if (!events_.contains(start) || !events_.contains(end)) return CUDA_ERROR_INVALID_HANDLE;
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!start->timing || !end->timing || start->sequence == 0 || end->sequence == 0)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->reached != start->sequence || end->reached != end->sequence) return CUDA_ERROR_NOT_READY;
    static const bool simulates = std::getenv("STAND_IN_CLOCK") != nullptr;
    if (simulates)
        *milliseconds = static_cast<float>(end->simulated_time - start->simulated_time) * 1e-6F;
    else
        *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return CUDA_SUCCESS;
}

CUresult Scheduler::begin_capture(CUstream stream, CUstreamCaptureMode mode) {
    std::lock_guard lock(mutex_);
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (is_legacy(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (capturing(*stream)) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->capture_mode = mode;
    stream->capture_thread = std::this_thread::get_id();
    stream->captured = std::make_unique<CUgraph_st>();
    return CUDA_SUCCESS;
}

CUresult Scheduler::end_capture(CUstream stream, CUgraph* graph) {
    std::lock_guard lock(mutex_);
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!capturing(*stream)) return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        stream->capture_thread != std::this_thread::get_id())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    *graph = nullptr;
    const bool valid = stream->capture_status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    stream->capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    auto captured = std::move(stream->captured);
    if (!valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *graph = captured.release();
    graphs_.insert(*graph);
    return CUDA_SUCCESS;
}

CUresult Scheduler::capture_status(CUstream stream, CUstreamCaptureStatus* status) {
    std::lock_guard lock(mutex_);
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (is_legacy(stream))
        for (CUstream other : stream->context->streams)
            if (other->blocking && capturing(*other)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = stream->capture_status;
    return CUDA_SUCCESS;
}

CUresult Scheduler::create_graph(CUgraph* graph) {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(mutex_);
    *graph = *graphs_.insert(new CUgraph_st).first;
    return CUDA_SUCCESS;
}

CUgraph Scheduler::copy_of(const CUgraph_st& original) {
    CUgraph copy = *graphs_.insert(new CUgraph_st).first;
    for (const auto& node : original.nodes) {
        CUgraphNode copied = append(copy, node->content);
        if (node->child != nullptr) copied->child.reset(copy_of(*node->child));
    }
    return copy;
}

void Scheduler::forget(CUgraph graph) {
    graphs_.erase(graph);
    for (const auto& node : graph->nodes)
        if (node->child != nullptr) forget(node->child.get());
}

CUresult Scheduler::clone(CUgraph original, CUgraph* copy) {
    std::lock_guard lock(mutex_);
    if (copy == nullptr || !graphs_.contains(original)) return CUDA_ERROR_INVALID_VALUE;
    *copy = copy_of(*original);
    return CUDA_SUCCESS;
}

CUresult Scheduler::add_node(CUgraph graph, LaunchCounts* launches, const CUDA_KERNEL_NODE_PARAMS& parameters,
                             CUgraphNode* node) {
    std::lock_guard lock(mutex_);
    if (node == nullptr || !graphs_.contains(graph)) return CUDA_ERROR_INVALID_VALUE;
    *node = append(graph, {do_nothing, launches, parameters});
    return CUDA_SUCCESS;
}

CUresult Scheduler::add_child(CUgraph graph, CUgraph child, CUgraphNode* node) {
    std::lock_guard lock(mutex_);
    if (node == nullptr || !graphs_.contains(graph) || !graphs_.contains(child)) return CUDA_ERROR_INVALID_VALUE;
    CUgraph copy = copy_of(*child);
    *node = append(graph, {});
    (*node)->child.reset(copy);
    return CUDA_SUCCESS;
}

CUresult Scheduler::child_of(CUgraphNode node, CUgraph* child) {
    std::lock_guard lock(mutex_);
    if (child == nullptr || !is_node(node) || node->child == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *child = node->child.get();
    return CUDA_SUCCESS;
}

CUresult Scheduler::nodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
    std::lock_guard lock(mutex_);
    if (count == nullptr || !graphs_.contains(graph)) return CUDA_ERROR_INVALID_VALUE;
    if (nodes != nullptr)
        for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < graph->nodes.size() ? graph->nodes[i].get() : nullptr;
    if (nodes == nullptr || *count > graph->nodes.size()) *count = graph->nodes.size();
    return CUDA_SUCCESS;
}

bool Scheduler::is_node(CUgraphNode node) const {
    return std::any_of(graphs_.begin(), graphs_.end(), [node](CUgraph graph) {
        return std::any_of(graph->nodes.begin(), graph->nodes.end(),
                           [node](const auto& n) { return n.get() == node; });
    });
}

CUresult Scheduler::node_type(CUgraphNode node, CUgraphNodeType* type) {
    std::lock_guard lock(mutex_);
    if (type == nullptr || !is_node(node)) return CUDA_ERROR_INVALID_VALUE;
    // The stand-in's own work, such as products, runs on the host and has no kernel that it could name.
    *type = node->child != nullptr     ? CU_GRAPH_NODE_TYPE_GRAPH
            : is_kernel(node->content) ? CU_GRAPH_NODE_TYPE_KERNEL
                                       : CU_GRAPH_NODE_TYPE_HOST;
    return CUDA_SUCCESS;
}

CUresult Scheduler::get_parameters(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
    std::lock_guard lock(mutex_);
    if (parameters == nullptr || !is_node(node) || !is_kernel(node->content)) return CUDA_ERROR_INVALID_VALUE;
    *parameters = node->content.parameters;
    return CUDA_SUCCESS;
}

CUresult Scheduler::set_parameters(CUgraphNode node, LaunchCounts* launches,
                                   const CUDA_KERNEL_NODE_PARAMS& parameters) {
    std::lock_guard lock(mutex_);
    if (!is_node(node) || !is_kernel(node->content)) return CUDA_ERROR_INVALID_VALUE;
    node->content = {do_nothing, launches, parameters};
    return CUDA_SUCCESS;
}

CUresult Scheduler::set_kernel(CUgraphExec exec, CUgraphNode node, LaunchCounts* launches) {
    std::lock_guard lock(mutex_);
    if (!executables_.contains(exec)) return CUDA_ERROR_INVALID_VALUE;
    for (auto& each : exec->nodes) {
        if (each.original != node || !is_kernel(each.content)) continue;
        each.content.launches = launches;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult Scheduler::update(CUgraphExec exec, CUgraph graph) {
    std::lock_guard lock(mutex_);
    if (!executables_.contains(exec) || !graphs_.contains(graph)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphExec_st::Node> work;
    add_work_of(*graph, work);
    const auto same_type = [](const auto& a, const auto& b) { return is_kernel(a.content) == is_kernel(b.content); };
    if (!std::equal(work.begin(), work.end(), exec->nodes.begin(), exec->nodes.end(), same_type))
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    for (std::size_t i = 0; i < work.size(); ++i) exec->nodes[i].content = std::move(work[i].content);
    return CUDA_SUCCESS;
}

CUresult Scheduler::instantiate(CUgraph graph, CUgraphExec* exec) {
    std::lock_guard lock(mutex_);
    if (exec == nullptr || !graphs_.contains(graph)) return CUDA_ERROR_INVALID_VALUE;
    *exec = new CUgraphExec_st;
    add_work_of(*graph, (*exec)->nodes);
    executables_.insert(*exec);
    return CUDA_SUCCESS;
}

CUresult Scheduler::launch_graph(CUgraphExec exec, CUstream stream) {
    std::lock_guard lock(mutex_);
    if (!executables_.contains(exec)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult launched = launch_locked(stream, [nodes = exec->nodes] {
        for (const auto& node : nodes) {
            const CUresult result = node.content.work();
            if (result != CUDA_SUCCESS) return result;
        }
        return CUDA_SUCCESS;
    });
    if (launched != CUDA_SUCCESS) return launched;
    if (capturing(*stream)) {
        // CUDA adds one node for the whole graph; here it is a child graph, so that its kernels have names.
        CUgraph child = *graphs_.insert(new CUgraph_st).first;
        for (const auto& node : exec->nodes) append(child, node.content);
        stream->captured->nodes.back()->child.reset(child);
        return CUDA_SUCCESS;
    }
    for (const auto& node : exec->nodes)
        if (is_kernel(node.content)) ++node.content.launches->replayed;
    return CUDA_SUCCESS;
}

CUresult Scheduler::destroy(CUgraph graph) {
    std::lock_guard lock(mutex_);
    if (!graphs_.contains(graph)) return CUDA_ERROR_INVALID_VALUE;
    forget(graph);
    delete graph;
    return CUDA_SUCCESS;
}

CUresult Scheduler::destroy(CUgraphExec exec) {
    std::lock_guard lock(mutex_);
    if (executables_.erase(exec) == 0) return CUDA_ERROR_INVALID_VALUE;
    delete exec;
    return CUDA_SUCCESS;
}

void Scheduler::reset(CUcontext context) {
    std::lock_guard executing(execution_);
    std::lock_guard lock(mutex_);
    context->legacy_stream.queue.clear();
    for (CUstream stream : context->streams) {
        streams_.erase(stream);
        for (CUevent event : events_)
            if (event->stream == stream) event->stream = nullptr;
        delete stream;
    }
    context->streams.clear();
    std::erase_if(events_, [context](CUevent event) { return event->context == context; });
    context->fault = CUDA_SUCCESS;
}

CUresult Scheduler::fault(CUcontext context) {
    std::lock_guard lock(mutex_);
    return context->fault;
}

}  // namespace stand_in
