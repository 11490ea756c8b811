"""Answers questions with the OpenAI client, traced by weave."""

import json

import weave
from openai import OpenAI

weave.init("local/weave-python")
client = OpenAI()
model = "gpt-4o-mini"
city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "get_weather", "parameters": city}}]


@weave.op
def get_weather(city: str) -> str:
    return f"18 °C in {city}"


@weave.op
def answer(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    message = client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message
    messages.append(message)
    for call in message.tool_calls:
        weather = get_weather(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": weather})
    return client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message.content


@weave.op
def advise(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    chunks = client.chat.completions.create(
        model=model, messages=messages, stream=True, stream_options={"include_usage": True}
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


with weave.thread("support-4711"):
    print(answer("What is the weather in Paris?"))
    print(advise("What should I wear?"))
