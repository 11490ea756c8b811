"""Traces a function and the one that it calls with the Python package `weave`, then evaluates it on a dataset.

WANDB_BASE_URL=http://127.0.0.1:4680 WANDB_API_KEY=<key> python trace_with_weave.py
"""

import asyncio

import weave

client = weave.init("local/examples")


@weave.op
def look_up(term):
    return {"heddle": "lifts a thread of the warp"}.get(term, "not in the glossary")


@weave.op
def explain(term):
    return f"A {term}: {look_up(term)}"


@weave.op
def contains(output, expected):
    return expected in output


rows = [{"term": "heddle", "expected": "warp"}, {"term": "shuttle", "expected": "weft"}]
evaluation = weave.Evaluation(
    name="terms-known", dataset=weave.Dataset(name="terms", rows=rows), scorers=[contains]
)
print(asyncio.run(evaluation.evaluate(explain)))

client.flush()
found = next(call for call in client.get_calls() if "/op/look_up:" in call.op_name)
print(found.inputs["term"], "->", found.output)
