"""Programs of torch for test_module_paths.py, which know nothing of the shim: module_paths.py SCENARIO... Each prints
what must not change with module paths as scopes. Its products have sizes by which the test finds them."""

import contextlib
import copy
import gc
import hashlib
import os
import pickle
import random
import signal
import sys
import threading
import warnings
import weakref

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)


def bits(*tensors):
    return hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)).hexdigest()[:12]


def gradients(model):
    return bits(*(parameter.grad for parameter in model.parameters() if parameter.grad is not None))


def outside(size):
    """Multiplies matrices of this size outside of all modules."""
    torch.mm(torch.ones(size, 3), torch.ones(3, size))


class Block(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(width, inner), nn.Linear(inner, width)])

    def forward(self, x):
        return x + self.parts[1](torch.relu(self.parts[0](x)))


class Model(nn.Module):
    """Linear layers of width 8 and of the inner widths."""

    def __init__(self, *inners):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(8, inner) for inner in inners))

    def forward(self, x):
        return self.blocks(x)


def graph_of(tensor):
    """Returns the names of all nodes and their edges, in a fixed order."""
    numbers, lines, todo = {}, [], [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in numbers:
            continue
        numbers[node] = len(numbers)
        lines.append(f"{node.name()}({', '.join(n.name() + str(i) for n, i in node.next_functions if n is not None)})")
        todo += [following for following, _ in node.next_functions]
    return lines


def scenario_graph():
    model = Model(101, 102)
    x = torch.linspace(-1, 1, 40).reshape(5, 8).requires_grad_()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        y = model(x)
        print(graph_of(y))
        y.sum().backward()
    print([event.name for event in sorted(profile.events(), key=lambda event: (event.time_range.start, event.id))
           if event.name.startswith("aten::") or "Backward" in event.name])
    print(gradients(model), bits(x.grad))


class Stop(BaseException):
    pass


class Raises(nn.Module):
    def __init__(self, problem):
        super().__init__()
        self.problem = problem

    def forward(self, x):
        raise self.problem


class Catches(nn.Module):
    def __init__(self, problem, width):
        super().__init__()
        self.first, self.then = Raises(problem), nn.Linear(8, width)

    def forward(self, x):
        try:
            self.first(x)
        except BaseException as problem:
            print("caught", type(problem).__name__)
        return self.then(x)


def scenario_raising():
    x = torch.ones(5, 8)
    for number, problem in enumerate((ValueError("no"), KeyboardInterrupt(), Stop())):
        Catches(problem, 111 + number)(x)
        try:
            nn.Sequential(nn.Linear(8, 8), Raises(problem))(x)
        except BaseException as seen:
            print(type(seen).__name__, seen)
        outside(114 + number)


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        outside(121)
        raise ValueError("in backward")


class FailsInBackward(nn.Module):
    def forward(self, x):
        return Fails.apply(x)


def scenario_raising_in_backward():
    for number in range(3):
        model = nn.Sequential(nn.Linear(8, 8), FailsInBackward(), nn.Linear(8, 8))
        try:
            model(torch.ones(5, 8)).sum().backward()
        except ValueError as problem:
            print(problem)
    nn.Linear(8, 122)(torch.ones(5, 8)).sum().backward()
    outside(123)


def scenario_twice():
    model = Model(131)
    x = torch.linspace(-1, 1, 40).reshape(5, 8).requires_grad_()
    y = model(x).pow(2).sum()
    y.backward(retain_graph=True)
    y.backward()
    print(gradients(model))
    model.zero_grad()
    gradient, = torch.autograd.grad(model(x).pow(2).sum(), x, create_graph=True)
    gradient.pow(2).sum().backward()
    print(gradients(model), len(graph_of(gradient)))
    outside(132)


class Checkpointed(nn.Module):
    def __init__(self, inner, reentrant):
        super().__init__()
        self.block, self.reentrant = Block(8, inner), reentrant

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=self.reentrant)


def scenario_checkpoint():
    for inner, reentrant in ((141, True), (142, False)):
        model = Checkpointed(inner, reentrant)
        x = torch.linspace(-1, 1, 40).reshape(5, 8).requires_grad_()
        model(x).pow(2).sum().backward()
        print(gradients(model), bits(x.grad))
    outside(143)


def scenario_hooks():
    order = []
    model = nn.Sequential(nn.Linear(8, 151), nn.ReLU(inplace=True), nn.Linear(151, 8))
    note = lambda word: lambda module, *rest: order.append((word, type(module).__name__))  # noqa: E731
    handles = [model[0].register_forward_pre_hook(note("pre")), model[0].register_forward_hook(note("after")),
               model[2].register_full_backward_hook(note("backward")),
               model[2].register_full_backward_pre_hook(note("before backward")),
               nn.modules.module.register_module_forward_pre_hook(note("global pre")),
               nn.modules.module.register_module_forward_hook(note("global after"), always_call=True)]
    y = model(torch.ones(5, 8))
    y.grad_fn.register_prehook(lambda gradients: order.append(("node", len(gradients))))
    y.grad_fn.register_hook(lambda inputs, outputs: order.append(("node after", len(inputs), len(outputs))))
    y.sum().backward()
    for handle in handles:
        handle.remove()
    print(order, gradients(model), nn.modules.module._has_any_global_hook())


class Shares(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Sequential(self.a, nn.Linear(8, 161))
        self.deep = Recurses()

    def forward(self, x):
        nn.Sequential(nn.Linear(8, 162))(x)  # not a part of the model
        self.deep(x, self.b)
        return self.b(self.a(x))


class Recurses(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 163)

    def forward(self, x, other, depth=2):
        other(x)
        return self(x, other, depth - 1) if depth else self.up(x)


def scenario_names():
    model = Shares()
    model(torch.ones(5, 8))
    model.deep.up = nn.Linear(8, 164)  # another module under the same name, and a second name
    model.deep.late = nn.Linear(8, 165)
    model.deep.register_forward_hook(lambda module, inputs, output: (module.late(inputs[0]), None)[1])
    model(torch.ones(5, 8))
    odd = type("Größe/1", (nn.Linear,), {})
    odd(8, 166)(torch.ones(5, 8))


def scenario_threads():
    models = {171: Model(171), 172: Model(172)}
    results = {}

    def work(inner):
        for _ in range(20):
            y = models[inner](torch.ones(5, 8)).sum()
        y.backward()
        results[inner] = y.item()

    threads = [threading.Thread(target=work, args=(inner,)) for inner in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(results), all(parameter.grad is not None for model in models.values() for parameter in model.parameters()))
    outside(173)


def scenario_modes():
    model = Model(181)
    x = torch.linspace(-1, 1, 40).reshape(5, 8)
    with torch.no_grad():
        print(model(x).grad_fn)
    with torch.inference_mode():
        print(model(x).is_inference())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print(model(x).dtype)
    parameters = dict(model.named_parameters())
    loss = lambda parameters, x: torch.func.functional_call(model, parameters, (x,)).pow(2).sum()  # noqa: E731
    print(bits(*torch.func.grad(loss)(parameters, x).values()))
    print(bits(*torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x).values()))
    print(bits(torch.func.vmap(model)(x)))
    print(bits(torch.func.jacrev(model)(x[0])))
    with torch.device("cpu"):
        print(bits(model(x)))


def scenario_models_as_before():
    model = Model(191)
    before = pickle.dumps(model)
    x = torch.ones(5, 8)
    model(x).sum().backward()
    model.zero_grad()
    print(pickle.dumps(model) == before, sorted(vars(model)), len(pickle.loads(before)(x)))
    twin = copy.deepcopy(model)
    print(bits(twin(x)) == bits(model(x)), len(model._forward_hooks), sorted(twin.state_dict()) == sorted(model.state_dict()))
    print(pickle.loads(pickle.dumps(nn.Module.__call__)) is nn.Module.__call__, repr(model) == repr(twin))


def scenario_nothing_is_kept():
    gc.collect()
    gc.disable()
    model = Model(201, 202)
    x = torch.ones(5, 8, requires_grad=True)
    y = model(x)
    node = weakref.ref(x)
    parts = [weakref.ref(part) for part in model.modules()] + [weakref.ref(p) for p in model.parameters()]
    inner = weakref.ref(y)
    y.sum().backward()
    del y, x
    print(inner() is None, node() is None)
    del model
    print([part() is None for part in parts].count(False))
    gc.enable()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(30):
        Model(203)(torch.ones(5, 8)).sum().backward()
    gc.collect()
    print(len(gc.get_objects()) - before < 300)


def scenario_outputs():
    """Nodes are found through dicts, dataclasses and tuples, and for a loss that a module computes."""
    import dataclasses

    @dataclasses.dataclass
    class Output:
        value: torch.Tensor
        others: tuple

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8, 211))

        def forward(self, x):
            return {"out": Output(torch.matmul(x, self.weight), (x, None))}

    Own()(torch.ones(5, 8))["out"].value.sum().backward()


def scenario_scripts():
    model = Model(221)
    x = torch.ones(5, 8)
    traced = torch.jit.trace(model, x)
    scripted = torch.jit.script(nn.Sequential(nn.Linear(8, 222), nn.ReLU()))
    print(hashlib.sha256(str(traced.graph).encode()).hexdigest(), bits(traced(x)) == bits(model(x)))
    print(scripted.code, scripted(x).shape)
    print(torch.fx.symbolic_trace(model).code)
    outside(223)


def compiled(warn, make):
    """Compiles a model, and runs it at two sizes. Prints its graphs, and what torch says about them."""
    import torch._dynamo
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    graphs = []

    def backend(graph, inputs):
        graphs.append([node.format_node() for node in graph.graph.nodes])
        return graph.forward

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run = make(backend)
        for size in (5, 5, 6):
            run(torch.ones(size, 8)).sum().backward()
    counters = torch._dynamo.utils.counters
    print([line for graph in graphs for line in graph])
    print(dict(counters["frames"]), dict(counters["graph_break"]), dict(counters["unimplemented"]), counters["stats"])
    if warn:
        print([str(each.message)[:60] for each in said])


def scenario_compile():
    class Breaks(Model):
        def forward(self, x):
            y = self.blocks(x)
            print("break")
            return self.blocks(y)

    compiled(True, lambda backend: torch.compile(Model(231), backend=backend))
    compiled(True, lambda backend: torch.compile(Breaks(232), backend=backend))
    compiled(True, lambda backend: torch.compile(nn.Sequential(nn.Linear(8, 233)), backend=backend))

    def hooked(backend):
        model = Model(234)
        model.register_forward_hook(lambda module, inputs, output: print("hook", torch.compiler.is_compiling()))
        return torch.compile(model, backend=backend)

    def in_place(backend):
        model = Model(235)
        model.compile(backend=backend)
        return model

    compiled(True, hooked)
    compiled(True, in_place)
    exported = torch.export.export(Model(236), (torch.ones(5, 8),))
    print(exported.graph_module.code)
    model = torch.compile(Model(237), backend="aot_eager")
    model(torch.ones(5, 8)).sum().backward()
    print(gradients(model))
    outside(238)


def scenario_compiled_autograd():
    import torch._dynamo
    from torch._dynamo import compiled_autograd
    model = Model(241)
    torch._dynamo.utils.counters.clear()
    for _ in range(3):
        with compiled_autograd._enable(torch.compile(backend="eager")):
            model(torch.ones(5, 8)).sum().backward()
    print(gradients(model), torch._dynamo.utils.counters["compiled_autograd"], torch._dynamo.utils.counters["frames"],
          torch._dynamo.utils.counters["stats"])


class Twice(nn.Module):
    """Has a view whose base is changed in place, and outputs that the caller changes in place."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 251)

    def forward(self, x):
        y = self.up(x)
        half = y[:, :100]
        y.mul_(2)
        return half


def scenario_in_place():
    model = Twice()
    x = torch.linspace(-1, 1, 40).reshape(5, 8)
    y = model(x)
    y.add_(1)
    print(graph_of(y))
    y.sum().backward()
    print(gradients(model))


def scenario_generators():
    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(8, 261)

        def forward(self, x):
            for _ in range(2):
                yield self.up(x)

    outputs = list(Steps()(torch.ones(5, 8)))
    sum(output.sum() for output in outputs).backward()
    outside(262)


def scenario_deep():
    model = nn.Linear(8, 281)
    for _ in range(80):
        model = nn.Sequential(model)
    model(torch.ones(5, 8)).sum().backward()
    print(gradients(model))
    outside(282)


def work(way):
    """Runs in a worker process."""
    nn.Linear(8, 271)(torch.ones(5, 8))
    print("worker", way, flush=True)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, number):
        return torch.full((8,), float(number))


class Stop(BaseException):
    pass


def scenario_interrupted():
    """A signal handler raises, as Python's own does for Ctrl-C, at any place of forward and backward passes. A backward
    pass that it ends may leave a scope open until the next call of a module."""
    is_armed = False

    def stop(_number, _frame):
        nonlocal is_armed
        if is_armed:
            is_armed = False
            raise Stop

    signal.signal(signal.SIGALRM, stop)
    random.seed(1)
    model = nn.Sequential(nn.Identity(), nn.Sequential(nn.Linear(3, 3), nn.Identity()), nn.Identity())
    data = torch.ones(2, 3)
    for number in range(int(os.environ.get("INTERRUPTIONS", "6000"))):
        has_backward = number % 2 == 1
        model(data)
        try:
            is_armed = True
            signal.setitimer(signal.ITIMER_REAL, random.randrange(20, 400) * 1e-6)
            while is_armed:  # Python ignores what is raised in a callback of a weak reference
                output = model(data)
                if has_backward:
                    output.sum().backward()
        except Stop:
            pass
        if not has_backward:
            outside(141)
    nn.Linear(142, 142)(torch.ones(1, 142))
    outside(143)


def scenario_processes():
    import multiprocessing
    for way in ("fork", "spawn"):
        process = multiprocessing.get_context(way).Process(target=work, args=(way,))
        process.start()
        process.join()
        print(way, process.exitcode)
    batches = [batch.sum().item() for batch in torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=2)]
    print("worker loader" if batches == [8.0, 40.0] else batches)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for scenario in sys.argv[1:]:
        torch.manual_seed(1)
        print(f"=== {scenario}")
        with contextlib.suppress(AssertionError):
            globals()[f"scenario_{scenario}"]()
