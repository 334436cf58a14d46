"""What experiments.py measures of onnxruntime."""

import os

import onnx
import onnxruntime

import measured
from experiment_rules import NoDevice


def measure_onnxruntime_matmul():
    """The CUDA provider of onnxruntime asks for TF32 unless it is told not to. A floor has to prevent that."""
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        raise NoDevice("this onnxruntime has no CUDA provider")
    n = 1024
    value = onnx.helper.make_tensor_value_info
    matrix = (onnx.TensorProto.FLOAT, [n, n])
    node = onnx.helper.make_node("MatMul", ["a", "b"], ["c"])
    graph = onnx.helper.make_graph([node], "product", [value("a", *matrix), value("b", *matrix)], [value("c", *matrix)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    asks_for_tf32 = "FP32_MATMUL_FLOOR" in os.environ
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=[
        ("CUDAExecutionProvider", {"use_tf32": "1" if asks_for_tf32 else "0"})])
    if session.get_providers()[0] != "CUDAExecutionProvider":
        raise NoDevice("no CUDA device")
    a, b = measured.random_operands(n)
    result = session.run(None, {"a": a, "b": b})[0]
    return {"matmul": measured.ReferenceProduct(a, b).judge_result(result[:64])[0]}
