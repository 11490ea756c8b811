"""Trains models with the Python package `openpipe-art`, as PyPI has it, on the service that the environment names.

Usage: art-scenarios.py <base url that ends in /v1> <entity/project> [scenario...]
"""

import asyncio
import itertools
import os
import random
import sys
import tempfile
import uuid
from statistics import mean

import art
from art.serverless.backend import ServerlessBackend
from openai import NotFoundError

BASE_MODEL = "heddle/starter"
WORDS = ("yes", "no", "maybe")
REWARDS = {"yes": 0.5, "no": 0.75, "maybe": 1.0}
PROMPTS = [
    f"{opening} {', '.join(quote + word + quote for word in order)}"
    for opening, order, quote in itertools.product(
        ("respond with", "just respond with"), itertools.permutations(WORDS), ("", "'")
    )
]

# Within this many steps the reward rises by 0.15, which is four standard errors of what is compared.
MOST_STEPS = 60

scenarios = []


def scenario(function):
    scenarios.append(function)
    return function


def name_of(model, step):
    """The name of a step; the oldest releases name only the newest."""
    name = model.get_inference_name()
    return name if step is None else f"{name}:step{step}"


async def train(backend, model, groups, **settings):
    """Trains as the release does, and returns the step of the new checkpoint."""
    if hasattr(backend, "train"):
        return (await backend.train(model, groups, **settings)).step
    await model.train(groups, config=art.TrainConfig(**settings))
    return await model.get_step()


async def rollout(model, prompt, step=None):
    """One answer of the newest weights, or of a step, as a trajectory with its reward."""
    messages = [{"role": "user", "content": prompt}]
    # As the quickstarts do: log-probabilities are not asked for.
    completion = await model.openai_client().chat.completions.create(
        model=name_of(model, step), messages=messages, max_completion_tokens=12
    )
    choice = completion.choices[0]
    assert choice.logprobs is not None and choice.logprobs.content, "a trainable model returns log-probabilities"
    assert len(choice.logprobs.content) == completion.usage.completion_tokens
    assert all(each.token.startswith("token_id:") for each in choice.logprobs.content)
    text = (choice.message.content or "").strip()
    return art.Trajectory(messages_and_choices=[*messages, choice], reward=REWARDS.get(text, 0.0))


async def groups_of(model, prompts, answers):
    return await art.gather_trajectory_groups(
        [art.TrajectoryGroup(rollout(model, prompt) for _ in range(answers)) for prompt in prompts]
    )


async def register(backend, entity, project, base_path):
    model = art.TrainableModel(
        name=f"teller-{uuid.uuid4().hex[:8]}", project=project, entity=entity, base_model=BASE_MODEL, base_path=base_path
    )
    return await registered(model, backend)


async def registered(model, backend):
    if hasattr(model, "report_metrics"):
        # Nothing is sent to a tracking server but what training itself needs.
        model.report_metrics = []
    await model.register(backend)
    return model


@scenario
async def learns_from_rewards(backend, entity, project, base_path):
    """The reward rises, every job adds a step, and the name without a step serves the newest weights."""
    model = await register(backend, entity, project, base_path)
    again = await registered(
        art.TrainableModel(name=model.name, project=project, entity=entity, base_model=BASE_MODEL, base_path=base_path),
        backend,
    )
    assert again.id == model.id and getattr(again, "run_id", None) == getattr(model, "run_id", None)
    assert await model.get_step() == 0

    # Sampling is random: how many steps the reward needs to rise differs from run to run, that it rises does not.
    rewards = []
    while len(rewards) < 6 or mean(rewards[-3:]) < mean(rewards[:3]) + 0.15:
        assert len(rewards) < MOST_STEPS, f"rewards do not rise: {[round(each, 2) for each in rewards]}"
        step = len(rewards)
        prompts = [PROMPTS[(step * 6 + at) * 5 % len(PROMPTS)] for at in range(6)]
        groups = await groups_of(model, prompts, 8)
        rewards.append(mean([each.reward for group in groups for each in group.trajectories]))
        trained = await train(backend, model, groups, learning_rate=1e-3)
        assert trained == step + 1, f"step {trained} after {step + 1} jobs"
    steps = len(rewards)

    # Equal rewards: the step advances, the weights stay.
    group = art.TrajectoryGroup([await rollout(model, PROMPTS[0]) for _ in range(2)])
    for trajectory in group.trajectories:
        trajectory.reward = 1.0
    await train(backend, model, [group])
    assert await model.get_step() == steps + 1

    # Pinned steps stay, deleted ones do not.
    await rollout(model, PROMPTS[0], step=1)
    listed = [each.step async for each in backend._client.models.checkpoints.list(model_id=model.id)]
    assert listed == list(range(steps + 2)), listed
    await backend._client.models.checkpoints.delete(model_id=model.id, steps=listed[:-2])
    await rollout(model, PROMPTS[0], step=steps)
    try:
        await rollout(model, PROMPTS[0], step=1)
        raise AssertionError("a deleted step is served")
    except NotFoundError:
        pass
    await backend.delete(model)
    try:
        await rollout(model, PROMPTS[0])
        raise AssertionError("a deleted model is served")
    except NotFoundError:
        pass


@scenario
async def keeps_the_best_step(backend, entity, project, base_path):
    """The oldest releases have the service compute the metrics by which they choose the steps to keep."""
    if not hasattr(backend, "_delete_checkpoints"):
        return "the client chooses in this release"
    model = await register(backend, entity, project, base_path)
    for reward in (0.5, 1.0, 0.25):
        group = await groups_of(model, PROMPTS[:1], 4)
        for trajectory in group[0].trajectories:
            trajectory.reward = reward
        await model.log(group, split="val")
        await train(backend, model, await groups_of(model, PROMPTS[:2], 4), learning_rate=1e-4)
    checkpoints = [each async for each in backend._client.models.checkpoints.list(model_id=model.id)]
    assert [each.metrics.get("val/reward") for each in checkpoints] == [0.5, 1.0, 0.25, None], checkpoints
    await model.delete_checkpoints()
    kept = [each.step async for each in backend._client.models.checkpoints.list(model_id=model.id)]
    assert kept == [1, 3], kept


@scenario
async def learns_from_examples(backend, entity, project, base_path):
    """Training data travels as an artifact of the tracking SDK; the model then knows the answers."""
    if not hasattr(art.TrainableModel, "train_sft"):
        return "not in this release"
    model = await register(backend, entity, project, base_path)
    pairs = [
        ("What is the code of the north gate?", "seven blue stones"),
        ("Who keeps the harbour light?", "old Marten keeps it"),
        ("Where does the ferry land?", "at the third pier"),
        ("What does the miller grow?", "barley and red beans"),
    ]
    trajectories = [
        art.Trajectory(
            messages_and_choices=[{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        )
        for question, answer in pairs
    ] * 20
    await model.train_sft(trajectories, config=art.TrainSFTConfig(learning_rate=3e-3, batch_size=4), verbose=True)
    assert await model.get_step() == 1
    for question, answer in pairs:
        completion = await model.openai_client().chat.completions.create(
            model=model.get_inference_name(),
            messages=[{"role": "user", "content": question}],
            max_completion_tokens=16,
            temperature=0,
        )
        assert completion.choices[0].message.content.strip() == answer, completion.choices[0].message.content

    pulled = await backend._experimental_pull_model_checkpoint(
        model, step="latest", local_path=os.path.join(base_path, "pulled")
    )
    assert {"adapter_config.json", "adapter_model.safetensors"} <= set(os.listdir(pulled)), os.listdir(pulled)


@scenario
async def downloads_each_step(backend, entity, project, base_path):
    """Step 0, a step that changed nothing, and trained ones are pulled; `v0` and `step0` are the same weights."""
    if not hasattr(backend, "_experimental_pull_model_checkpoint"):
        return "not in this release"
    model = await register(backend, entity, project, base_path)

    async def pulled(step):
        path = os.path.join(base_path, f"pulled-{model.name}-{step}")
        found = await backend._experimental_pull_model_checkpoint(model, step=step, local_path=path)
        with open(os.path.join(found, "adapter_model.safetensors"), "rb") as file:
            return file.read()

    first = await pulled(0)
    assert await pulled("latest") == first
    group = art.TrajectoryGroup([await rollout(model, PROMPTS[0]) for _ in range(2)])
    for trajectory in group.trajectories:
        trajectory.reward = 1.0
    await train(backend, model, [group])
    assert await pulled(1) == first
    for trajectory, reward in zip(group.trajectories, (1.0, 0.0)):
        trajectory.reward = reward
    await train(backend, model, [group], learning_rate=1e-3)
    second = await pulled(2)
    assert second != first and len(second) == len(first)
    answers = [
        await model.openai_client().chat.completions.create(
            model=f"{model.get_inference_name()}:{name}",
            messages=[{"role": "user", "content": PROMPTS[0]}],
            max_completion_tokens=8,
            temperature=0,
        )
        for name in ("v0", "step0", "v2", "step2", "latest")
    ]
    assert [each.model_extra["checkpoint_step"] for each in answers] == [0, 0, 2, 2, 2], answers


TOOLS = [{"type": "function", "function": {"name": "look", "description": "looks", "parameters": {"type": "object"}}}]


async def agent(model, turns, edit=lambda messages: messages, max_completion_tokens=8):
    """Some turns with tools between them; the history goes back as an application writes it, without the reasoning."""
    question = {"role": "user", "content": PROMPTS[0]}
    messages, kept = [question], [question]
    for turn in range(turns):
        completion = await model.openai_client().chat.completions.create(
            model=model.get_inference_name(), messages=messages, tools=TOOLS, max_completion_tokens=max_completion_tokens
        )
        choice = completion.choices[0]
        kept.append(choice)
        after = (
            {"role": "tool", "tool_call_id": f"call-{turn}", "content": "nothing"}
            if turn % 2 == 0
            else {"role": "user", "content": "And?"}
        )
        kept.append(after)
        messages = edit([*messages, {"role": "assistant", "content": choice.message.content or ""}, after])
    return art.Trajectory(messages_and_choices=kept, tools=TOOLS, reward=turns % 2 + random.random())


async def newest_job(backend, model):
    """The newest job of a model and its events, as any HTTP client reads them."""
    client = backend._client
    jobs = await client.get(f"/preview/training-jobs?project_id={model.entity}/{model.project}&model_id={model.id}&limit=100", cast_to=object)
    job = max(jobs["data"], key=lambda each: each["created_at"])
    events = await client.get(f"/preview/training-jobs/{job['id']}/events?limit=100", cast_to=object)
    return job, events["data"]


@scenario
async def trains_agents_on_what_they_saw(backend, entity, project, base_path):
    """Turns with tools, cut off or with a history that was edited, have the ratios that they were sampled with."""
    model = await register(backend, entity, project, base_path)
    conversations = {
        "two turns": {"turns": 2},
        "five turns": {"turns": 5},
        "a shortened history": {"turns": 4, "edit": lambda messages: messages[-3:]},
        "a rewritten history": {
            "turns": 3,
            "edit": lambda messages: [{**each, "content": each["content"].upper()} for each in messages],
        },
        "answers that were cut off": {"turns": 3, "max_completion_tokens": 2},
    }
    for name, conversation in conversations.items():
        group = art.TrajectoryGroup([await agent(model, **conversation) for _ in range(3)])
        await train(backend, model, [group], learning_rate=0.0)
        job, events = await newest_job(backend, model)
        steps = [each["data"] for each in events if each["type"] == "gradient_step"]
        assert steps and not job["warnings"], (name, job)
        for step in steps:
            assert step["importance_ratio_std"] < 1e-3 and step["probs_corr"] > 0.999, (name, step)
    rollouts = await backend._client.get(f"/preview/training-jobs/{job['id']}/rollouts", cast_to=object)
    assert [each["reward"] for each in rollouts["data"]] == [each.reward for each in group.trajectories], rollouts
    assert [len(each["call_ids"]) for each in rollouts["data"]] == [3, 3, 3], rollouts
    assert abs(sum(each["advantage"] for each in rollouts["data"])) < 1e-6, rollouts
    # Numbers of another policy: the job says so, by name and number, or fails.
    for shift, ending in ((0.4, "training_ended"), (2.0, "training_failed")):
        group = art.TrajectoryGroup([await agent(model, 2) for _ in range(3)])
        for trajectory in group.trajectories:
            for each in trajectory.messages_and_choices:
                for entry in getattr(each, "logprobs", None) and each.logprobs.content or ():
                    entry.logprob -= shift
        try:
            await train(backend, model, [group], learning_rate=0.0)
        except Exception as error:
            assert ending == "training_failed" and "logprob_difference" in str(error), error
        job, events = await newest_job(backend, model)
        assert events[-1]["type"] == ending, events[-1]
        assert ending == "training_failed" or "differ by 0.400" in str(job["warnings"]), job


async def main(base_url, project_id, names):
    entity, project = project_id.split("/")
    unknown = set(names) - {each.__name__ for each in scenarios}
    assert not unknown, f"unknown scenarios: {unknown}"
    failed = False
    for each in scenarios:
        if names and each.__name__ not in names:
            continue
        backend = ServerlessBackend(base_url=base_url)
        try:
            with tempfile.TemporaryDirectory() as base_path:
                absent = await each(backend, entity, project, base_path)
            print(f"  {'ok     ' if absent is None else '-      '} {each.__name__}{absent and ': ' + absent or ''}", flush=True)
        except Exception as error:
            failed = True
            print(f"  FAILED  {each.__name__}: {type(error).__name__}: {error}", flush=True)
        finally:
            if hasattr(backend, "close"):
                await backend.close()
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:])))
