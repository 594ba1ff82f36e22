"""Writes one GPT-2 124M with random weights as a checkpoint, as GGUF Q8_0, Q4_0 and Q4_K_M, as CTranslate2 int8, and as
ONNX in int8, for ONNX Runtime GenAI and for transformers.js.

    python3 tests/bench/peers/make_models.py DIRECTORY

setup.sh runs it. Although speed depends only on shapes, all formats contain the same weights, so that all programs do
the same work. Programs are measured on token ids, so only the GGUF files have a vocabulary.
"""
import argparse
import json
import pathlib
import shutil

import ctranslate2
import gguf
import llama_cpp.llama_cpp as llama
import numpy
import onnx
from ctranslate2.specs import common_spec, transformer_spec
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file, save_file

LAYERS, HEADS, WIDTH, POSITIONS, VOCABULARY = 12, 12, 768, 1024, 50257
EPSILON = 1e-5


def make_checkpoint(folder):
    """Returns weights as GPT-2 is initialised before training. Linear weights are (inputs, outputs)."""
    random = numpy.random.default_rng(1)
    draw = lambda *shape: random.normal(scale=0.02, size=shape).astype(numpy.float32)
    tensors = {"wte.weight": draw(VOCABULARY, WIDTH), "wpe.weight": draw(POSITIONS, WIDTH)}

    def add_norm(name):
        tensors[f"{name}.weight"] = numpy.ones(WIDTH, numpy.float32)
        tensors[f"{name}.bias"] = numpy.zeros(WIDTH, numpy.float32)

    def add_linear(name, inputs, outputs):
        tensors[f"{name}.weight"] = draw(inputs, outputs)
        tensors[f"{name}.bias"] = numpy.zeros(outputs, numpy.float32)

    for layer in range(LAYERS):
        add_norm(f"h.{layer}.ln_1")
        add_linear(f"h.{layer}.attn.c_attn", WIDTH, 3 * WIDTH)
        add_linear(f"h.{layer}.attn.c_proj", WIDTH, WIDTH)
        add_norm(f"h.{layer}.ln_2")
        add_linear(f"h.{layer}.mlp.c_fc", WIDTH, 4 * WIDTH)
        add_linear(f"h.{layer}.mlp.c_proj", 4 * WIDTH, WIDTH)
    add_norm("ln_f")
    folder.mkdir()
    save_file(tensors, folder / "model.safetensors")
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new",
              "n_embd": WIDTH, "n_head": HEADS, "n_layer": LAYERS, "n_positions": POSITIONS, "n_ctx": POSITIONS,
              "vocab_size": VOCABULARY, "layer_norm_epsilon": EPSILON}
    (folder / "config.json").write_text(json.dumps(config, indent=2))


def add_vocabulary(writer, size):
    """Adds a token per byte, named as in GPT-2, and others that no text contains, because wllama needs a vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    writer.add_vocab_size(size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*(chr(byte if byte in printable else next(others)) for byte in range(256)),
                           *(f"<{token}>" for token in range(256, size))])
    writer.add_token_types([gguf.TokenType.NORMAL] * size)
    writer.add_token_merges(["a b"])  # of a token that does not exist
    writer.add_bos_token_id(size - 1)
    writer.add_eos_token_id(size - 1)


def write_gguf(tensors, path, config):
    """Writes every tensor as float32, with linear weights as (outputs, inputs), the order of llama.cpp. `config` is the
    configuration of transformers."""
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_block_count(config["n_layer"])
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(4 * config["n_embd"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    add_vocabulary(writer, config["vocab_size"])
    names = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm",
             "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up",
             "mlp.c_proj": "ffn_down"}
    for name, tensor in tensors.items():
        module, kind = name.rsplit(".", 1)
        block = ""
        if module.startswith("h."):
            _, layer, module = module.split(".", 2)
            block = f"blk.{layer}."
        is_linear_weight = module[:4] in ("attn", "mlp.") and kind == "weight"
        writer.add_tensor(f"{block}{names[module]}.{kind}",
                          numpy.ascontiguousarray(tensor.T) if is_linear_weight else tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def quantize_gguf(source, path, kind):
    params = llama.llama_model_quantize_default_params()
    params.ftype = kind
    if llama.llama_model_quantize(str(source).encode(), str(path).encode(), params) != 0:
        raise SystemExit(f"{path}: llama.cpp could not quantize")


def write_ctranslate2(tensors, folder):
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        LAYERS, HEADS, pre_norm=True, activation=common_spec.Activation.GELUTanh)
    decoder = spec.decoder

    def set_norm(target, name):
        target.gamma, target.beta = tensors[f"{name}.weight"], tensors[f"{name}.bias"]

    def set_linear(target, name):
        target.weight = numpy.ascontiguousarray(tensors[f"{name}.weight"].T)
        target.bias = tensors[f"{name}.bias"]

    decoder.scale_embeddings = False
    decoder.embeddings.weight = tensors["wte.weight"]
    decoder.position_encodings.encodings = tensors["wpe.weight"]
    decoder.projection.weight = tensors["wte.weight"]
    set_norm(decoder.layer_norm, "ln_f")
    for index, layer in enumerate(decoder.layer):
        set_norm(layer.self_attention.layer_norm, f"h.{index}.ln_1")
        set_linear(layer.self_attention.linear[0], f"h.{index}.attn.c_attn")
        set_linear(layer.self_attention.linear[1], f"h.{index}.attn.c_proj")
        set_norm(layer.ffn.layer_norm, f"h.{index}.ln_2")
        set_linear(layer.ffn.linear_0, f"h.{index}.mlp.c_fc")
        set_linear(layer.ffn.linear_1, f"h.{index}.mlp.c_proj")
    spec.register_vocabulary([str(token) for token in range(VOCABULARY)])
    end = str(VOCABULARY - 1)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = end, end, end
    spec.validate()
    spec.optimize(quantization="int8")
    folder.mkdir()
    spec.save(str(folder))


def make_onnx_graph(tensors):
    """Returns the graph with float32 weights, of the fused operators that GenAI's own model builder uses. That builder
    does not know GPT-2. The logits are those of the last token only. The names of keys and values, and of the dimension
    batch_size, are those that transformers.js looks for; GenAI takes any."""
    nodes, integer, real = [], onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    value = onnx.helper.make_tensor_value_info
    constants = {**tensors, "head": numpy.ascontiguousarray(tensors["wte.weight"].T),
                 "one": numpy.array([1]), "last": numpy.array([-1])}

    def add(operation, inputs, outputs, **attributes):
        nodes.append(onnx.helper.make_node(operation, inputs, outputs, **attributes))

    def add_fused(operation, inputs, outputs, **attributes):
        add(operation, inputs, outputs, domain="com.microsoft", **attributes)

    def add_norm(inputs, norm, output, biases=()):
        """Adds the two inputs and the bias to `output`, and its norm to `norm`."""
        add_fused("SkipLayerNormalization", [*inputs, f"{norm}.weight", f"{norm}.bias", *biases],
                  [norm, "", "", output], epsilon=EPSILON)

    # GroupQueryAttention needs the position of the last token and the number of tokens.
    add("ReduceSum", ["attention_mask", "one"], ["mask_sum"])
    add("Sub", ["mask_sum", "one"], ["last_position"])
    add("Cast", ["last_position"], ["last_position_int32"], to=onnx.TensorProto.INT32)
    add("Shape", ["attention_mask"], ["mask_length"], start=1, end=2)
    add("Squeeze", ["mask_length"], ["count"])
    add("Cast", ["count"], ["count_int32"], to=onnx.TensorProto.INT32)
    add("Gather", ["wte.weight", "input_ids"], ["token"])
    add("Gather", ["wpe.weight", "position_ids"], ["position"])
    add_norm(["token", "position"], "h.0.ln_1", "h.0.input")
    for layer in range(LAYERS):
        h = f"h.{layer}"
        following, norm = (f"h.{layer + 1}.input", f"h.{layer + 1}.ln_1") if layer + 1 < LAYERS else ("output", "ln_f")
        add("MatMul", [f"{h}.ln_1", f"{h}.attn.c_attn.weight"], [f"{h}.products"])
        add("Add", [f"{h}.products", f"{h}.attn.c_attn.bias"], [f"{h}.qkv"])
        add_fused("GroupQueryAttention", [f"{h}.qkv", "", "", f"past_key_values.{layer}.key",
                                          f"past_key_values.{layer}.value", "last_position_int32", "count_int32"],
                  [f"{h}.heads", f"present.{layer}.key", f"present.{layer}.value"], num_heads=HEADS, kv_num_heads=HEADS)
        add("MatMul", [f"{h}.heads", f"{h}.attn.c_proj.weight"], [f"{h}.attn"])
        add_norm([f"{h}.input", f"{h}.attn"], f"{h}.ln_2", f"{h}.middle", [f"{h}.attn.c_proj.bias"])
        add("MatMul", [f"{h}.ln_2", f"{h}.mlp.c_fc.weight"], [f"{h}.wide"])
        add_fused("FastGelu", [f"{h}.wide", f"{h}.mlp.c_fc.bias"], [f"{h}.gelu"])
        add("MatMul", [f"{h}.gelu", f"{h}.mlp.c_proj.weight"], [f"{h}.mlp"])
        add_norm([f"{h}.middle", f"{h}.mlp"], norm, following, [f"{h}.mlp.c_proj.bias"])
    add("Gather", ["ln_f", "last"], ["ln_f_last"], axis=1)
    add("MatMul", ["ln_f_last", "head"], ["logits"])

    def keys_and_values(when):
        return [value(f"{when}.{layer}.{kind}", real, ["batch_size", HEADS, when, WIDTH // HEADS])
                for layer in range(LAYERS) for kind in ("key", "value")]

    inputs = [*(value(name, integer, ["batch_size", "tokens"]) for name in ("input_ids", "position_ids")),
              value("attention_mask", integer, ["batch_size", "all"]), *keys_and_values("past_key_values")]
    outputs = [value("logits", real, ["batch_size", 1, VOCABULARY]), *keys_and_values("present")]
    graph = onnx.helper.make_graph(nodes, "gpt2", inputs, outputs,
                                   [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
    return onnx.helper.make_model(graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", 21),
                                                                       onnx.helper.make_opsetid("com.microsoft", 1)])


def write_onnx(tensors, folder):
    """Quantizes activations dynamically. MatMulNBits with 8 bits is slower: 1.3 times to decode, 3 times for prompts."""
    folder.mkdir()
    quantize_dynamic(make_onnx_graph(tensors), folder / "model.onnx", op_types_to_quantize=["MatMul"],
                     per_channel=True, weight_type=QuantType.QInt8, use_external_data_format=True,
                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    names = lambda when: {f"{when.split('_')[0]}_{kind}_names": f"{when}.%d.{kind}" for kind in ("key", "value")}
    end = VOCABULARY - 1
    decoder = {"filename": "model.onnx", "head_size": WIDTH // HEADS, "hidden_size": WIDTH,
               "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "num_hidden_layers": LAYERS,
               "inputs": {name: name for name in ("input_ids", "position_ids", "attention_mask")} | names("past_key_values"),
               "outputs": {"logits": "logits"} | names("present"), "session_options": {"provider_options": []}}
    config = {"model": {"type": "decoder", "vocab_size": VOCABULARY, "context_length": POSITIONS, "bos_token_id": end,
                        "eos_token_id": end, "pad_token_id": end, "decoder": decoder},
              "search": {"max_length": POSITIONS, "do_sample": False, "past_present_share_buffer": True}}
    (folder / "genai_config.json").write_text(json.dumps(config, indent=2))


def write_transformers_js(tensors, folder):
    """Quantizes as the script of transformers.js does for its dtype "q8": per tensor, with the embeddings, and with
    unsigned weights because of GroupQueryAttention."""
    (folder / "onnx").mkdir(parents=True)
    quantize_dynamic(make_onnx_graph(tensors), folder / "onnx" / "model_quantized.onnx",
                     op_types_to_quantize=["MatMul", "Gather"], weight_type=QuantType.QUInt8,
                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    shutil.copy(folder.parent / "checkpoint" / "config.json", folder)


def complete(path, make):
    """Creates missing files under a temporary name first, so that each file is complete or absent."""
    if path.exists():
        return
    print(path.name, flush=True)
    unfinished = path.with_name("unfinished-" + path.name)
    if unfinished.is_dir():
        shutil.rmtree(unfinished)
    make(unfinished)
    unfinished.rename(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    directory = parser.parse_args().directory
    silent = llama.llama_log_callback(lambda *_: None)
    llama.llama_log_set(silent, None)
    complete(directory / "checkpoint", make_checkpoint)
    tensors = load_file(directory / "checkpoint" / "model.safetensors")
    config = json.loads((directory / "checkpoint" / "config.json").read_text())
    whole = directory / "gpt2-f32.gguf"
    complete(whole, lambda path: write_gguf(tensors, path, config))
    for name, kind in (("q8_0", llama.LLAMA_FTYPE_MOSTLY_Q8_0), ("q4_0", llama.LLAMA_FTYPE_MOSTLY_Q4_0),
                       ("q4_k_m", llama.LLAMA_FTYPE_MOSTLY_Q4_K_M)):
        complete(directory / f"gpt2-{name}.gguf", lambda path, kind=kind: quantize_gguf(whole, path, kind))
    complete(directory / "ctranslate2", lambda path: write_ctranslate2(tensors, path))
    complete(directory / "onnxruntime", lambda path: write_onnx(tensors, path))
    complete(directory / "transformers.js", lambda path: write_transformers_js(tensors, path))


if __name__ == "__main__":
    main()
