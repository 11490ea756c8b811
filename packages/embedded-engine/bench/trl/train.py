"""CPU time per training step of TRL on a small Llama with random weights, one thread, 32 bit floats.

    python train.py sft|grpo [steps]

Prints one JSON object: medians of the process's CPU milliseconds per step after the warm-up.
"""

import json
import os
import statistics
import sys
import tempfile
import time

os.environ.update(
    OMP_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
    TOKENIZERS_PARALLELISM="false",
    HF_HUB_OFFLINE="1",
    CUDA_VISIBLE_DEVICES="",
)

import datasets  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import trl  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402

WARM_UP = 5
VOCABULARY = 2304
PROMPT = COMPLETION = 16

torch.set_num_threads(1)
torch.manual_seed(1)
transformers.logging.set_verbosity_error()
datasets.disable_progress_bars()


def new_model():
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=128,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=4,
            intermediate_size=352,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=1,
            dtype="float32",
        )
    ).float()


def new_tokenizer():
    words = {f"w{token}": token for token in range(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="w2"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="w0", eos_token="w1", unk_token="w2"
    )


def sequence(length, seed):
    token, tokens = seed, []
    for _ in range(length):
        token = (token * 7 + 3) % (VOCABULARY - 3)
        tokens.append(token + 3)
    return tokens


class StepTimes(transformers.TrainerCallback):
    """Measures from the end of one step to the end of the next."""

    def __init__(self):
        self.ends = []

    def on_step_end(self, args, state, control, **kwargs):
        self.ends.append(time.process_time())

    def milliseconds(self):
        return [1000 * (after - before) for before, after in zip(self.ends, self.ends[1:])][WARM_UP:]


def common(directory, steps):
    return dict(
        output_dir=directory,
        max_steps=steps + WARM_UP + 1,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
        save_strategy="no",
        report_to=[],
        logging_steps=10**6,
        disable_tqdm=True,
        seed=1,
    )


def sft(directory, steps):
    rows = [{"input_ids": sequence(221, seed)} for seed in range(64)]
    times = StepTimes()
    trainer = trl.SFTTrainer(
        model=new_model(),
        args=trl.SFTConfig(
            per_device_train_batch_size=8,
            max_length=None,
            dataset_kwargs={"skip_prepare_dataset": True},
            **common(directory, steps),
        ),
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=new_tokenizer(),
        callbacks=[times],
    )
    trainer.train()
    return {"step": statistics.median(times.milliseconds())}


def grpo(directory, steps):
    prompts = [{"prompt": " ".join(f"w{token}" for token in sequence(PROMPT, seed))} for seed in range(64)]
    times = StepTimes()
    sampling = []

    class Timed(trl.GRPOTrainer):
        def _generate(self, *args, **kwargs):
            start = time.process_time()
            result = super()._generate(*args, **kwargs)
            sampling.append(1000 * (time.process_time() - start))
            return result

    trainer = Timed(
        model=new_model(),
        reward_funcs=lambda completions, **kwargs: [float(index % 2) for index, _ in enumerate(completions)],
        args=trl.GRPOConfig(
            per_device_train_batch_size=16,
            num_generations=16,
            max_completion_length=COMPLETION,
            generation_kwargs={"min_new_tokens": COMPLETION},
            beta=0.0,
            **common(directory, steps),
        ),
        train_dataset=datasets.Dataset.from_list(prompts),
        processing_class=new_tokenizer(),
        callbacks=[times],
    )
    trainer.train()
    steps_taken = times.milliseconds()
    sampled = sampling[-len(steps_taken) :]
    updates = [step - sample for step, sample in zip(steps_taken, sampled)]
    return {
        "step": statistics.median(steps_taken),
        "sampling": statistics.median(sampled),
        "update": statistics.median(updates),
    }


if __name__ == "__main__":
    task = {"sft": sft, "grpo": grpo}[sys.argv[1]]
    with tempfile.TemporaryDirectory(prefix="heddle-trl-") as scratch:
        result = task(scratch, int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    result["weights"] = sum(weight.numel() for weight in new_model().parameters())
    result["versions"] = f"TRL {trl.__version__}, torch {torch.__version__}, transformers {transformers.__version__}"
    print(json.dumps(result))
