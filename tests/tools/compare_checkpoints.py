"""Writes checkpoints with the original tools, converts them with sotto-convert, and compares the results.

    python3 tests/tools/compare_checkpoints.py build/release/bin/sotto-convert [PYTHON...]

Needs torch, transformers, peft, safetensors and megatron-core, and minGPT (its directory in PYTHONPATH). CI does not
run it. The same weights must give the same bytes from
every format. Each PYTHON is an interpreter with another version of torch, which writes the same files. A merged adapter
may differ in the last bit of a weight from PEFT's, so a few of the quantized bytes may differ. The program `sotto`,
which must be next to sotto-convert, scores a model for each activation, and inspects files. The library of the same
build evaluates embeddings.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import megatron.core
import mingpt.model
import peft
import safetensors.torch
import torch
import transformers

CONVERT = pathlib.Path(sys.argv[1]).resolve()
failures = []


def convert(checkpoint, *options):
    """Returns the bytes of the model file, or the message of an error."""
    with tempfile.TemporaryDirectory() as directory:
        output = pathlib.Path(directory) / "m.sotto"
        run = subprocess.run([CONVERT, checkpoint, "-o", output, "--name", "n", "--source", "s", "--quiet", *options],
                             capture_output=True, text=True)
        return output.read_bytes() if run.returncode == 0 else run.stderr.strip()


def check(name, holds, detail=""):
    print("ok  " if holds else "FAIL", name, "" if holds else detail)
    if not holds:
        failures.append(name)


def check_equal(name, expected, actual):
    check(name, actual == expected, actual if isinstance(actual, str) else "other bytes")


def tiny_gpt2(**settings):
    torch.manual_seed(1)
    config = transformers.GPT2Config(vocab_size=97, n_positions=32, n_embd=48, n_head=4, n_layer=3, eos_token_id=96,
                                     bos_token_id=96, **settings)
    model = transformers.GPT2LMHeadModel(config).eval()
    return add_noise(model)


def save_torch(folder, model, state, legacy=False, name="pytorch_model.bin"):
    folder.mkdir(parents=True)
    model.config.save_pretrained(folder)
    torch.save(state, folder / name, _use_new_zipfile_serialization=not legacy)
    return folder


def compare_formats(root):
    model = tiny_gpt2()
    model.save_pretrained(root / "safetensors")
    expected = convert(root / "safetensors")
    check("safetensors", isinstance(expected, bytes), expected)
    state = model.state_dict()
    check_equal("zip", expected, convert(save_torch(root / "zip", model, state)))
    check_equal("a file", expected, convert(root / "zip/pytorch_model.bin"))
    check_equal("legacy", expected, convert(save_torch(root / "legacy", model, state, legacy=True)))
    bare = model.transformer.state_dict()
    check_equal("without prefix", expected, convert(save_torch(root / "bare", model, bare)))
    parameters = {name: torch.nn.Parameter(tensor) for name, tensor in state.items()}
    check_equal("parameters", expected, convert(save_torch(root / "parameters", model, parameters)))
    views = {name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor for name, tensor in state.items()}
    check_equal("strides", expected, convert(save_torch(root / "views", model, views)))
    folder = save_torch(root / "shards", model, dict(list(state.items())[::2]), name="a.bin")
    torch.save(dict(list(state.items())[1::2]), folder / "b.bin")
    places = {name: "ab"[i % 2] + ".bin" for i, name in enumerate(state)}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    check_equal("shards", expected, convert(folder))
    for dtype in torch.float16, torch.bfloat16, torch.float64:
        half = {name: tensor.to(dtype) for name, tensor in state.items()}
        rounded = tiny_gpt2()
        rounded.load_state_dict({name: tensor.float() for name, tensor in half.items()})
        rounded.save_pretrained(root / f"rounded_{dtype}")
        check_equal(str(dtype), convert(root / f"rounded_{dtype}"),
                    convert(save_torch(root / str(dtype), model, half)))
    model.half().save_pretrained(root / "small_shards", max_shard_size="30KB")
    check_equal("shards of save_pretrained", convert(root / "torch.float16"), convert(root / "small_shards"))


def nanogpt_state(state):
    """Renames and transposes a state of transformers as nanoGPT's from_pretrained() does."""
    conv1d = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
    return {name: tensor.t().contiguous() if name.endswith(conv1d) else tensor for name, tensor in state.items()}


def compare_nanogpt(root):
    model = tiny_gpt2(activation_function="gelu")
    model.save_pretrained(root / "gelu")
    state = nanogpt_state(model.state_dict())
    arguments = dict(n_layer=3, n_head=4, n_embd=48, block_size=32, bias=True, vocab_size=97, dropout=0.0)

    def save(name, state, **changes):
        folder = root / name
        folder.mkdir()
        parameters = [torch.nn.Parameter(tensor.clone()) for tensor in state.values()]
        optimizer = torch.optim.AdamW(parameters)
        sum(parameter.sum() for parameter in parameters).backward()
        optimizer.step()
        torch.save({"model": state, "optimizer": optimizer.state_dict(), "model_args": arguments | changes,
                    "iter_num": 7, "best_val_loss": torch.tensor(1.5), "config": {"dtype": "bfloat16"}},
                   folder / "ckpt.pt")
        return folder

    folder = save("nanogpt", state)
    check_equal("nanoGPT: equal to itself by file", convert(folder), convert(folder / "ckpt.pt"))
    compiled = save("compiled", {"_orig_mod." + name: tensor for name, tensor in state.items()})
    check_equal("nanoGPT: compiled", convert(folder), convert(compiled))
    config = json.loads((root / "gelu/config.json").read_text())
    config["eos_token_id"] = []
    (root / "gelu/config.json").write_text(json.dumps(config))
    (root / "gelu/generation_config.json").unlink(missing_ok=True)
    check_equal("nanoGPT", convert(root / "gelu"), convert(folder))
    check_equal("nanoGPT: gelu_new", convert(root / "gelu", "--activation", "gelu_new"),
                convert(folder, "--activation", "gelu_new"))


def compare_other_torch(root, python):
    """Writes the files again with another version of torch."""
    program = """if True:
        import sys, torch
        state = torch.load(sys.argv[1])
        for legacy in False, True:
            torch.save(state, sys.argv[2 + legacy], _use_new_zipfile_serialization=not legacy)
        print(torch.__version__)"""
    model = tiny_gpt2()
    folders = [save_torch(root / f"{kind}_{len(list(root.iterdir()))}", model, model.state_dict())
               for kind in ("old_zip", "old_legacy")]
    version = subprocess.run([python, "-c", program, root / "legacy/pytorch_model.bin",
                              *(folder / "pytorch_model.bin" for folder in folders)],
                             capture_output=True, text=True, check=True).stdout.strip()
    for folder in folders:
        check_equal(f"torch {version}: {folder.name}", convert(root / "safetensors"), convert(folder))


def gpt2_like(config, state, prefix, final_norm, embedding_scale):
    """Returns a GPT-2 with the weights of an OPT or BioGPT."""
    result = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=97, n_positions=32, n_embd=48, n_head=4, n_layer=3, n_inner=64, eos_token_id=2,
        activation_function="relu" if config.model_type == "opt" else "gelu", tie_word_embeddings=embedding_scale == 1))
    tensors = {"wte.weight": (state[prefix + "embed_tokens.weight"].double() * embedding_scale).float(),
               "wpe.weight": state[prefix + "embed_positions.weight"][2:]}
    for kind in "weight", "bias":
        tensors["ln_f." + kind] = state[prefix + final_norm + "." + kind]
        for i in range(3):
            part = f"{prefix}layers.{i}."
            linears = {"attn.c_attn": torch.cat([state[f"{part}self_attn.{x}_proj.{kind}"] for x in "qkv"]),
                       "attn.c_proj": state[f"{part}self_attn.out_proj.{kind}"],
                       "mlp.c_fc": state[f"{part}fc1.{kind}"], "mlp.c_proj": state[f"{part}fc2.{kind}"]}
            tensors |= {f"h.{i}.{name}.{kind}": tensor.t() for name, tensor in linears.items()}
            tensors[f"h.{i}.ln_1.{kind}"] = state[f"{part}self_attn_layer_norm.{kind}"]
            tensors[f"h.{i}.ln_2.{kind}"] = state[f"{part}final_layer_norm.{kind}"]
    tensors = {"transformer." + name: tensor.contiguous() for name, tensor in tensors.items()}
    tensors["lm_head.weight"] = state[prefix + "embed_tokens.weight"]
    result.load_state_dict(tensors)
    return result.eval()


def compare_fairseq(root):
    torch.manual_seed(2)
    common = dict(vocab_size=97, hidden_size=48, num_hidden_layers=3, num_attention_heads=4,
                  max_position_embeddings=32)
    opt = transformers.OPTForCausalLM(transformers.OPTConfig(ffn_dim=64, word_embed_proj_dim=48, **common))
    biogpt = transformers.BioGptForCausalLM(transformers.BioGptConfig(intermediate_size=64, **common))
    for model, prefix, final_norm, scale in ((opt, "model.decoder.", "final_layer_norm", 1),
                                             (biogpt, "biogpt.", "layer_norm", 48 ** 0.5)):
        name = model.config.model_type
        add_noise(model).save_pretrained(root / name)
        folded = gpt2_like(model.config, model.state_dict(), prefix, final_norm, scale)
        tokens = torch.randint(3, 97, (2, 20))
        error = (model(tokens).logits - folded(tokens).logits).abs().max().item()
        check(name + ": GPT-2 computes the same", error < 1e-4, f"logits differ by {error}")
        folded.save_pretrained(root / (name + "_gpt2"))
        check_equal(name, convert(root / (name + "_gpt2")), convert(root / name))
        save_torch(root / (name + "_bin"), model, model.state_dict())
        check_equal(name + ": zip", convert(root / name), convert(root / (name + "_bin")))


def exact_scores(logits, tokens):
    """Returns the log probabilities of the tokens after the first."""
    return logits.detach().log_softmax(-1)[0, :-1].gather(1, tokens[0, 1:, None])[:, 0]


def scores(checkpoint, tokens):
    """Converts the checkpoint and returns the log probabilities of the tokens after the first."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "m.sotto"
        subprocess.run([CONVERT, checkpoint, "-o", file, "--quiet"], check=True)
        run = subprocess.run([CONVERT.parent / "sotto", "score", "-m", file, "--json", "--ids",
                              *map(str, tokens[0].tolist())], capture_output=True, text=True, check=True)
        return torch.tensor(json.loads(run.stdout)["log_probabilities"][1:])


def check_scores(name, checkpoint, tokens, logits):
    """The probabilities must be those of the model that wrote the checkpoint, as far as int8 allows."""
    exact = exact_scores(logits, tokens)
    error = (scores(checkpoint, tokens) - exact).abs().mean().item()
    check(name, error < 0.02 and exact.std() > 0.2, f"ln p differs by {error:.4f}, its deviation is {exact.std():.3f}")


def add_noise(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def compare_mingpt(root):
    """Writes the files of a run of minGPT: a configuration with the model's type or sizes, and the state."""
    tokens = torch.randint(0, 97, (1, 32), generator=torch.Generator().manual_seed(8))
    for name, settings in (("type", {"model_type": "gpt-nano"}),
                           ("sizes", {"model_type": None, "n_layer": 2, "n_head": 4, "n_embd": 64})):
        torch.manual_seed(8)
        folder = root / ("mingpt_" + name)
        folder.mkdir()
        config = mingpt.model.GPT.get_default_config()
        config.merge_from_dict(settings)
        run = mingpt.utils.CfgNode(model=config, system=mingpt.utils.CfgNode(seed=1, work_dir=str(folder)))
        (folder / "config.json").write_text(json.dumps(run.to_dict(), indent=4))
        config.vocab_size, config.block_size = 97, 32
        model = add_noise(mingpt.model.GPT(config))
        torch.save(model.state_dict(), folder / "model.pt")
        check_scores("minGPT: " + name, folder, tokens, model(tokens)[0])


class NoRandomState:
    """Replaces Megatron's random states of dropout, which need CUDA."""
    def fork(self):
        return contextlib.nullcontext()


def compare_megatron(root):
    """Writes a model of Megatron Core as Megatron-LM's --ckpt-format torch does, and with its distributed saver."""
    from megatron.core import dist_checkpointing, parallel_state, tensor_parallel
    from megatron.core.models.gpt import GPTModel, gpt_layer_specs
    from megatron.core.transformer import TransformerConfig

    tensor_parallel.get_cuda_rng_tracker = NoRandomState
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.cuda.synchronize = lambda: None
    torch.distributed.init_process_group("gloo", init_method=f"file://{root}/processes", rank=0, world_size=1)
    parallel_state.initialize_model_parallel()
    tokens = torch.randint(0, 97, (1, 32), generator=torch.Generator().manual_seed(9))
    positions = torch.arange(32)[None]
    mask = torch.ones(1, 1, 32, 32).triu(1).bool()
    torch.manual_seed(9)
    for is_tied in True, False:
        config = TransformerConfig(num_layers=3, hidden_size=48, num_attention_heads=4, hidden_dropout=0.0,
                                   attention_dropout=0.0, use_cpu_initialization=True)
        model = add_noise(GPTModel(config, gpt_layer_specs.get_gpt_layer_local_spec(), vocab_size=97,
                                   max_sequence_length=32, position_embedding_type="learned_absolute",
                                   share_embeddings_and_output_weights=is_tied))
        arguments = argparse.Namespace(
            hidden_size=48, num_attention_heads=4, num_layers=3, max_position_embeddings=32, ffn_hidden_size=192,
            padded_vocab_size=97, tensor_model_parallel_size=1, pipeline_model_parallel_size=1, bias_gelu_fusion=False,
            position_embedding_type="learned_absolute", normalization="LayerNorm", swiglu=False, num_experts=None,
            untie_embeddings_and_output_weights=not is_tied, params_dtype=torch.float32)
        state = {"args": arguments, "checkpoint_version": 3.0, "iteration": 7,
                 "model": model.state_dict_for_save_checkpoint()}
        name = "tied" if is_tied else "untied"
        file = root / ("megatron_" + name) / "mp_rank_00/model_optim_rng.pt"
        file.parent.mkdir(parents=True)
        torch.save(state, file)
        logits = model(tokens, positions, mask)
        check_scores("Megatron: " + name, file.parents[1], tokens, logits)
        torch.save(state | {"checkpoint_version": 1.0}, file)
        error = (scores(file, tokens) - exact_scores(logits, tokens)).abs().mean().item()
        check(f"Megatron: {name}, another order of queries, keys and values", error > 0.1, f"differs by only {error}")
    folder = root / "megatron_distributed"
    folder.mkdir()
    dist_checkpointing.save(model.sharded_state_dict(), folder)
    message = convert(folder)
    check("Megatron: a distributed checkpoint is named", "--ckpt-convert-format torch" in str(message), message)
    torch.distributed.destroy_process_group()


def compare_activations(root):
    """Converts one model per activation. Its probabilities must be those of transformers' model with the same one, as far
    as int8 allows. The forms of GELU differ by less than that."""
    names = "gelu_new", "gelu", "relu", "silu", "tanh", "quick_gelu", "relu2"
    tokens = torch.randint(0, 97, (1, 32), generator=torch.Generator().manual_seed(4))
    exact = {}
    for name in names:
        model = tiny_gpt2(activation_function=name)
        model.save_pretrained(root / name)
        exact[name] = exact_scores(model(tokens).logits, tokens)
    for name in names:
        found = scores(root / name, tokens)
        errors = {other: (found - exact[other]).abs().mean().item() for other in names}
        others = [errors[other] for other in names if "gelu" not in name or "gelu" not in other if other != name]
        check("activation " + name, errors[name] < 0.02 and 4 * errors[name] < min(others), f"{errors}")


def compare_description(root):
    model = tiny_gpt2()
    model.generation_config = transformers.GenerationConfig(
        do_sample=True, temperature=0.7, top_p=0.9, repetition_penalty=1.3, no_repeat_ngram_size=3,
        bos_token_id=96, eos_token_id=[96, 95])
    model.save_pretrained(root / "described")
    (root / "described/README.md").write_text("---\nlanguage: en\nlicense: mit\n---\n")
    file = root / "described.sotto"
    subprocess.run([CONVERT, root / "described", "-o", file, "--quiet"], check=True)
    shown = json.loads(subprocess.run([CONVERT.parent / "sotto", "inspect", "--json", file], capture_output=True,
                                      check=True).stdout)
    found = [token["id"] for token in shown["end_of_text_tokens"]], shown["license"], shown["sampling_defaults"]
    expected = [95, 96], "mit", {"temperature": 0.7, "top_k": 50, "top_p": 0.9, "min_p": 0.0, "repetition_penalty": 1.3,
                                 "repetition_window": 2**32 - 1, "no_repeat_ngram": 3}
    check("description", found == expected, f"{found}")


def compare_adapters(root):
    tiny_gpt2().save_pretrained(root / "base")

    def train(name, **settings):
        torch.manual_seed(3)
        model = peft.get_peft_model(transformers.GPT2LMHeadModel.from_pretrained(root / "base"),
                                    peft.LoraConfig(**settings))
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if parameter.requires_grad:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
        model.save_pretrained(root / name)
        model.merge_and_unload().save_pretrained(root / (name + "_merged"))
        expected, actual = convert(root / (name + "_merged")), convert(root / "base", "--lora", root / name)
        if isinstance(expected, str) or isinstance(actual, str) or len(expected) != len(actual):
            return check("adapter " + name, False, f"{expected[:300]} {actual[:300]}")
        plain = convert(root / "base")
        differing = sum(a != b for a, b in zip(expected, actual)) / len(expected)
        moved = sum(a != b for a, b in zip(expected, plain)) / len(expected)
        check("adapter " + name, differing < 0.02 < moved, f"{differing:.3f} of the bytes differ, {moved:.3f} moved")

    train("fused", r=4, lora_alpha=16, target_modules=["c_attn"], fan_in_fan_out=True)
    train("all", r=8, lora_alpha=8, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)
    train("rslora", r=4, lora_alpha=16, target_modules=["c_attn", "c_proj"], use_rslora=True, fan_in_fan_out=True)
    train("patterns", r=4, lora_alpha=16, target_modules=["c_attn", "c_fc"], rank_pattern={"c_fc": 2},
          alpha_pattern={"h.1.attn.c_attn": 32}, fan_in_fan_out=True)
    train("biases", r=4, lora_alpha=16, target_modules=["c_attn"], bias="lora_only", fan_in_fan_out=True)
    for name, settings in (("dora", {"use_dora": True}), ("pissa", {"init_lora_weights": "pissa"})):
        model = peft.get_peft_model(transformers.GPT2LMHeadModel.from_pretrained(root / "base"), peft.LoraConfig(
            r=4, target_modules=["c_attn"], fan_in_fan_out=True, **settings))
        model.save_pretrained(root / name)
        message = convert(root / "base", "--lora", root / name)
        check(name + " is rejected", isinstance(message, str) and name in message, message)
    model = peft.get_peft_model(transformers.GPT2LMHeadModel.from_pretrained(root / "base"),
                                peft.IA3Config(target_modules=["c_attn"], feedforward_modules=[], fan_in_fan_out=True))
    model.save_pretrained(root / "ia3")
    message = convert(root / "base", "--lora", root / "ia3")
    check("IA3 is rejected", isinstance(message, str) and "IA3" in message, message)


def compare_rewards(root):
    """The rewards of a text must be those of transformers, as far as int8 allows."""
    torch.manual_seed(7)
    base = tiny_gpt2(num_labels=3, pad_token_id=96)
    model = transformers.GPT2ForSequenceClassification(base.config).eval()
    model.transformer.load_state_dict(base.transformer.state_dict())
    with torch.no_grad():
        model.score.weight.normal_()
    model.save_pretrained(root / "reward")
    message = convert(root / "reward")
    check("a reward model is rejected by default", isinstance(message, str) and "--keep-score" in message, message)
    tokens = torch.randint(0, 96, (1, 30))
    with torch.no_grad():
        expected = model(tokens).logits[0]
    file = root / "reward.sotto"
    subprocess.run([CONVERT, root / "reward", "--keep-score", "-o", file, "--quiet"], check=True)
    run = subprocess.run([CONVERT.parent / "sotto", "score", "-m", file, "--reward", "--ids",
                          *map(str, tokens[0].tolist())], capture_output=True, text=True, check=True)
    error = ((torch.tensor(json.loads(run.stdout)) - expected).norm() / expected.norm()).item()
    check("rewards", error < 0.03, f"they differ by {error:.3f} of their size")


def compare_embeddings(root):
    """Compares a backbone with Chatterbox's names with PyTorch's float32: first embeddings of the host, then tokens of
    speech. Uses the Python binding of the same build."""
    os.environ.setdefault("SOTTO_LIBRARY", str(CONVERT.parents[1] / "lib/libsotto.so"))
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "platforms/python"))
    import sotto

    torch.manual_seed(6)
    backbone = transformers.GPT2Model(transformers.GPT2Config(vocab_size=9, n_positions=64, n_embd=128, n_head=2,
                                                              n_layer=3)).eval()
    speech, head, text = torch.nn.Embedding(50, 128), torch.nn.Linear(128, 50), torch.nn.Embedding(40, 128)
    tensors = {"tfmr." + name: tensor for name, tensor in backbone.state_dict().items() if name != "wte.weight"}
    tensors |= {"speech_emb.weight": speech.weight, "speech_head.weight": head.weight, "speech_head.bias": head.bias,
                "text_emb.weight": text.weight}
    folder = root / "chatterbox"
    folder.mkdir()
    safetensors.torch.save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()},
                                folder / "t3_test.safetensors")
    model_file = convert(folder)
    check("Chatterbox", isinstance(model_file, bytes), model_file)
    (root / "chatterbox.sotto").write_bytes(model_file)
    with torch.no_grad(), sotto.Model.open(root / "chatterbox.sotto") as model, sotto.Session(model) as session:
        rows = torch.cat([torch.randn(12, 128), text(torch.randint(0, 40, (9,)))])
        tokens = torch.randint(0, 50, (8,))
        exact = head(backbone(inputs_embeds=torch.cat([rows, speech(tokens)])[None]).last_hidden_state[0])
        session.prefill_embeddings(rows.flatten().tolist())
        found = [torch.tensor(list(session.logits()))]
        for token in tokens.tolist():
            session.prefill([token])
            found.append(torch.tensor(list(session.logits())))
        exact, found = exact[len(rows) - 1:], torch.stack(found)
        error = ((found - exact).norm() / (exact - exact.mean(1, keepdim=True)).norm()).item()
        check("Chatterbox: logits after embeddings and tokens", error < 0.03, f"they differ by {error:.3f} of their size")


def main():
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        print("torch", torch.__version__, "transformers", transformers.__version__, "peft", peft.__version__)
        compare_formats(root)
        for python in sys.argv[2:]:
            compare_other_torch(root, python)
        compare_nanogpt(root)
        compare_mingpt(root)
        compare_megatron(root)
        compare_fairseq(root)
        compare_activations(root)
        compare_description(root)
        compare_adapters(root)
        compare_rewards(root)
        compare_embeddings(root)
    sys.exit(f"{len(failures)} failed" if failures else 0)


if __name__ == "__main__":
    main()
