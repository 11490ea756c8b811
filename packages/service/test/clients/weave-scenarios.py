"""What users of the Python package `weave` write. `weave-python.ts` runs it, unmodified SDK and all, against a service.

    python weave-scenarios.py <entity/project>

Prints one line per scenario and ends with status 1 when one failed. A scenario is a function of the client, and an
entry of SCENARIOS.
"""

import asyncio
import datetime
import json
import os
import sys
import traceback
import urllib.parse
import urllib.request
import uuid

import weave


def same(actual, expected, what):
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


def status_of(call):
    return call.summary["weave"]["status"]


@weave.op
def shout(text):
    return text.upper()


@weave.op
def greet(name):
    return f"hello {shout(name)}"


@weave.op
def fail():
    raise ValueError("nothing works")


@weave.op
def exact(output, expected):
    return output == expected


def calls(client):
    """A trace of two calls, a failure, a rename, a filter and a deletion."""
    with weave.attributes({"stage": "test"}):
        _, call = greet.call("café")
    try:
        fail()
    except ValueError:
        pass
    client.flush()

    read = client.get_call(call.id)
    same(read.output, "hello CAFÉ", "output")
    same(read.inputs["name"], "café", "inputs")
    same(read.attributes["stage"], "test", "attributes")
    same(status_of(read), "success", "status")
    [child] = list(read.children())
    same((child.output, child.trace_id), ("CAFÉ", call.trace_id), "child")

    failed = [one for one in client.get_calls() if "/op/fail:" in one.op_name]
    same([status_of(one) for one in failed], ["error"], "status of the failure")
    if "nothing works" not in failed[0].exception:
        raise AssertionError(f"exception: {failed[0].exception}")

    query = {"$expr": {"$eq": [{"$getField": "inputs.name"}, {"$literal": "café"}]}}
    same([one.id for one in client.get_calls(query=query)], [call.id], "a query of inputs")
    call.set_display_name("renamed")
    # The client sends it in the background.
    client.flush()
    same(client.get_call(call.id).display_name, "renamed", "display name")
    client.delete_call(call)
    same([one.id for one in client.get_calls(filter={"trace_ids": [call.trace_id]})], [], "deleted trace")


def threads(client):
    """Two turns in a thread, each with a call below it, and a call outside."""
    name = f"talk-{uuid.uuid4()}"
    turns = []
    with weave.thread(name):
        for who in ("ann", "bob"):
            _, turn = greet.call(who)
            turns.append(turn.id)
    greet("nobody")
    client.flush()

    def listed(**more):
        return list(client.server.threads_query_stream({"project_id": client.project_id, **more}))

    [found] = listed(filter={"thread_ids": [name]})
    same((found.thread_id, found.turn_count), (name, 2), "thread")
    same([found.first_turn_id, found.last_turn_id], turns, "turns")
    if not 0 <= found.p50_turn_duration_ms <= found.p99_turn_duration_ms:
        raise AssertionError(f"durations: {found}")
    same(found.start_time <= found.last_updated, True, "times in order")
    by_count = [{"field": "turn_count", "direction": "desc"}]
    same(listed(sort_by=by_count, limit=1)[0].thread_id, name, "thread with the most turns")
    future = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    same(listed(filter={"after_datetime": future}), [], "threads of the future")
    in_thread = list(client.get_calls(filter={"thread_ids": [name]}))
    same(sorted({one.turn_id for one in in_thread}), sorted(turns), "turn of every call")
    same(len(in_thread), 4, "calls of the thread")


def eager_calls(client):
    """An eager op is seen while it runs."""
    seen = []

    @weave.op(eager_call_start=True)
    def long_work():
        client.flush()
        seen.append(client.get_call(weave.require_current_call().id))
        return "done"

    _, call = long_work.call()
    client.flush()
    same([status_of(one) for one in seen], ["running"], "status while it runs")
    after = client.get_call(call.id)
    same((status_of(after), after.output), ("success", "done"), "status afterwards")
    same(len(list(client.get_calls(filter={"call_ids": [call.id]}))), 1, "number of its calls")


class Settings(weave.Object):
    temperature: float
    stop: list[str]


def objects(client):
    """Versions of an object, a prompt and an op, by ref, by label and after a deletion."""
    name = f"settings-{uuid.uuid4().hex[:8]}"
    first = weave.publish(Settings(temperature=1.0, stop=["é"]), name)
    second = weave.publish(Settings(temperature=0.5, stop=[]), name)
    same(weave.publish(Settings(temperature=1.0, stop=["é"]), name).digest, first.digest, "digest of equal content")
    read = weave.ref(first.uri).get()
    same((read.temperature, list(read.stop)), (1.0, ["é"]), "object by ref")
    same(weave.ref(f"{name}:v1").get().temperature, 0.5, "object by version")
    same(second.digest != first.digest, True, "digests of versions")
    prompt = weave.publish(weave.StringPrompt("Answer {question}"), f"prompt-{name}")
    same(prompt.get().format(question="2+2?"), "Answer 2+2?", "prompt")
    op_ref = weave.publish(shout)
    client.flush()  # The SDK uploads the source in the background.
    same(weave.ref(op_ref.uri).get()("op"), "OP", "op by ref")
    client.delete_object_version(second)
    try:
        weave.ref(second.uri).get()
    except ValueError as error:
        same("was deleted" in str(error), True, f"reason in: {error}")
    else:
        raise AssertionError("a deleted version could be read")


def datasets(client):
    """A dataset with equal rows, and one that is uploaded in parts."""
    rows = [{"question": "2+2?", "expected": "4"}, {"question": "3+3?", "expected": "6"}] * 2
    ref = weave.publish(weave.Dataset(name="sums", rows=rows))
    read = weave.ref(ref.uri).get()
    same([dict(row) for row in read.rows], rows, "rows")
    same(read.rows[1]["expected"], "6", "row by index")
    many = [{"n": n} for n in range(2500)]
    large = weave.publish(weave.Dataset(name="many", rows=many))
    same([row["n"] for row in weave.ref(large.uri).get().rows], list(range(2500)), "rows of a large table")


def evaluations(client):
    """An evaluation of a function over a dataset."""

    @weave.op
    def predict(question):
        return "4" if question.startswith("2") else "5"

    dataset = weave.Dataset(
        name="asked", rows=[{"question": "2+2?", "expected": "4"}, {"question": "3+3?", "expected": "6"}]
    )
    evaluation = weave.Evaluation(name="asked-sums", dataset=dataset, scorers=[exact])
    summary = asyncio.run(evaluation.evaluate(predict))
    same(summary["exact"], {"true_count": 1, "true_fraction": 0.5}, "summary")
    client.flush()
    [run] = [one for one in client.get_calls() if "/op/Evaluation.evaluate:" in one.op_name]
    same(status_of(run), "success", "status of the run")
    same(len([one for one in run.children() if "predict_and_score" in one.op_name]), 2, "predictions")


def costs(client):
    """A price, its choice for a call, and its removal."""
    model = f"model-{uuid.uuid4().hex[:8]}"
    added = client.add_cost(llm_id=model, prompt_token_cost=0.5, completion_token_cost=2)
    [cost] = client.query_costs(llm_ids=[model])
    same((cost.llm_id, cost.prompt_token_cost, cost.completion_token_cost), (model, 0.5, 2), "price")
    same(cost.id, added.ids[0][0], "id of the price")

    @weave.op
    def complete():
        return {"model": model, "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}}

    _, call = complete.call()
    client.flush()
    shown = client.get_call(call.id, include_costs=True).summary["weave"]["costs"][model]
    same(shown["prompt_tokens_total_cost"], 5.0, "cost of the prompt")
    same(shown["completion_tokens_total_cost"], 6.0, "cost of the completion")
    client.purge_costs(cost.id)
    same(client.query_costs(llm_ids=[model]), [], "prices after the purge")


def feedback(client):
    """Reactions, notes and payloads of one's own on a call."""
    _, call = greet.call("feedback")
    client.flush()
    call.feedback.add_reaction("👍")
    call.feedback.add_note("a fine answer")
    own = call.feedback.add("correctness", {"value": 0.5})
    client.flush()
    found = {one.feedback_type: one for one in client.get_call(call.id).feedback.refresh()}
    same(found["wandb.reaction.1"].payload["emoji"], "👍", "reaction")
    same(found["wandb.note.1"].payload["note"], "a fine answer", "note")
    same(found["correctness"].payload["value"], 0.5, "payload")
    call.feedback.purge(own)
    left = sorted(one.feedback_type for one in call.feedback.refresh())
    same(left, ["wandb.note.1", "wandb.reaction.1"], "feedback after the purge")


def evaluation_logger(client):
    """An evaluation that the program drives itself."""
    logger = weave.EvaluationLogger(name="by hand", model="some-model", dataset="some-rows")
    for question, answer, expected in (("2+2?", "4", "4"), ("3+3?", "5", "6")):
        prediction = logger.log_prediction(inputs={"question": question}, output=answer)
        prediction.log_score("exact", answer == expected)
        prediction.finish()
    logger.log_summary({"note": "half right"})
    client.flush()
    [run] = [one for one in client.get_calls(filter={"trace_roots_only": True}) if one.display_name == "by hand"]
    same(status_of(run), "success", "status of the run")
    same(run.output["exact"], {"true_count": 1, "true_fraction": 0.5}, "summary of the scores")


class Calculator(weave.Model):
    size: int = 3

    @weave.op
    def predict(self, question):
        return "4"


class Strict(weave.Scorer):
    @weave.op
    def score(self, output, expected):
        return output == expected


def kinds(client):
    """What the SDK publishes, read by the operations of its kind, and a dataset that was stored by one."""

    def send(path, body=None):
        url = f"{os.environ['WANDB_BASE_URL']}/v2/{sys.argv[1]}/{path}"
        headers = {"authorization": f"Bearer {os.environ['WANDB_API_KEY']}"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as response:
            return json.loads(response.read())

    def read(kind, ref):
        return send(f"{kind}/{ref.name}/versions/{ref.digest}")

    dataset = weave.publish(weave.Dataset(name="read-back", rows=[{"question": "2+2?", "expected": "4"}]))
    model = weave.publish(Calculator(name="calculator"))
    scorer = weave.publish(Strict(name="strict"))
    evaluation = weave.publish(
        weave.Evaluation(name="all-of-it", dataset=dataset.get(), scorers=[exact, Strict(name="strict")], trials=2)
    )
    same(read("datasets", dataset)["name"], "read-back", "name")
    shown = read("models", model)
    same(("def predict" in shown["source_code"], shown["attributes"]["size"]), (True, 3), "model")
    same("/op/Strict.score:" in read("scorers", scorer)["score_op"], True, "op of the scorer")
    shown = read("evaluations", evaluation)
    same((shown["dataset"], shown["trials"], len(shown["scorers"])), (dataset.uri, 2, 2), "evaluation")
    same("/op/Evaluation.evaluate:" in shown["evaluate_op"], True, "op of the evaluation")

    made = send("datasets", {"name": "Made There", "rows": [{"a": 1}, {"a": 2}]})
    found = weave.ref(f"weave:///{sys.argv[1]}/object/{made['object_id']}:{made['digest']}").get()
    same([dict(row) for row in found.rows], [{"a": 1}, {"a": 2}], "rows")


@weave.op
def 计算(número):
    return número + 1


@weave.op
def résumé(text):
    return len(text)


def names(client):
    """Ops and objects with names of any script are stored, read and filtered."""
    _, computed = 计算.call(41)
    _, summed = résumé.call("abc")
    client.flush()
    for call, name, output in ((computed, "计算", 42), (summed, "résumé", 3)):
        read = client.get_call(call.id)
        same((read.output, read.func_name), (output, name), "call")
        same(f"/op/{name}:" in read.op_name, True, f"op name {read.op_name}")
        for op in (read.op_name, read.op_name.rsplit(":", 1)[0] + ":*"):
            found = [one.id for one in client.get_calls(filter={"op_names": [op]})]
            same(call.id in found and not {computed.id, summed.id} - {call.id} & set(found), True, f"calls of {op}")
    same(dict(client.get_call(computed.id).inputs), {"número": 41}, "inputs")
    same(weave.ref(client.get_call(computed.id).op_name).get()(1), 2, "op by ref")

    for name in ("café", "深度學習", "оценка", "日本語"):
        published = weave.publish({"of": name}, name)
        same(weave.ref(published.uri).get()["of"], name, "object by ref")
        encoded = published.uri.replace(name, urllib.parse.quote(name))
        same(weave.ref(encoded).get()["of"], name, "object by percent-encoded ref")
        same(weave.ref(f"{name}:latest").get()["of"], name, "object by name")
    dataset = weave.publish(weave.Dataset(name="données", rows=[{"número": 1}]))
    same([row["número"] for row in weave.ref(dataset.uri).get().rows], [1], "rows of a dataset")


SCENARIOS = [names, calls, threads, eager_calls, objects, datasets, evaluations, costs, feedback, evaluation_logger, kinds]


def main():
    client = weave.init(sys.argv[1])
    chosen = [globals()[name] for name in sys.argv[2:]] or SCENARIOS
    failed = 0
    for scenario in chosen:
        try:
            scenario(client)
            print(f"ok {scenario.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {scenario.__name__}\n{traceback.format_exc()}", flush=True)
    weave.finish()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
